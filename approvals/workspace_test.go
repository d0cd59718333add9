package approvals_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/steerable-go/sidecar/approvals"
)

// workspace is a project directory with everything that has fooled a check of
// paths before.
type workspace struct {
	root, outside string
}

func newWorkspace(t *testing.T) workspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := workspace{filepath.Join(dir, "project"), filepath.Join(dir, "outside")}
	for _, name := range []string{
		"main.go", ".env", "config/.env.production", "deploy/server.pem", "id_rsa", ".git/config", ".git/hooks/pre-commit",
		".vscode/tasks.json", "src/deep/file.go", "UPPER.ENV", "notes.md",
	} {
		write(t, filepath.Join(w.root, name), "x")
	}
	write(t, filepath.Join(w.outside, "passwd"), "x")
	write(t, filepath.Join(dir, "project-two", "main.go"), "x")
	for link, to := range map[string]string{
		"link-dir":      w.outside,
		"link-file":     filepath.Join(w.outside, "passwd"),
		"link-up":       "../outside/passwd",
		"link-inside":   "src/deep/file.go",
		"link-secret":   ".env",
		"link-hooks":    ".git/hooks",
		"link-tasks":    ".vscode",
		"link-dangling": filepath.Join(w.outside, "not-there-yet"),
		"link-loop":     "link-loop",
		"link-new":      "src/new.go",
	} {
		if err := os.Symlink(to, filepath.Join(w.root, link)); err != nil {
			t.Skip("this file system has no symbolic links:", err)
		}
	}
	if err := os.Link(filepath.Join(w.outside, "passwd"), filepath.Join(w.root, "hard-link")); err != nil {
		t.Skip("this file system has no hard links:", err)
	}
	return w
}

func (w workspace) posture() *approvals.Posture {
	return &approvals.Posture{Backend: "bwrap", Full: true, Roots: []string{w.root}, Dir: w.root}
}

// gate is a host-mode gate that lets the workspace pass.
func workspaceGate(t *testing.T) *approvals.Gate {
	t.Helper()
	f := newFixture(t)
	f.opts.WorkspaceAuto = true
	return f.gate()
}

func fileCall(tool, path string, p *approvals.Posture) approvals.Request {
	raw, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		panic(err)
	}
	return approvals.Request{Tool: tool, Arguments: raw, Posture: p}
}

func TestWorkspacePaths(t *testing.T) {
	w := newWorkspace(t)
	gate := workspaceGate(t)
	for _, tt := range []struct {
		path        string
		read, write bool // allowed without a question
	}{
		{"main.go", true, true},
		{"./main.go", true, true},
		{"src/deep/file.go", true, true},
		{w.root + "/main.go", true, true},
		{"new.go", false, true},
		{"new/dir/file.go", false, true},
		{"link-inside", true, true},
		// Out of the workspace.
		{"../outside/passwd", false, false},
		{"src/../../outside/passwd", false, false},
		{w.outside + "/passwd", false, false},
		{w.root + "-two/main.go", false, false},
		{"/etc/passwd", false, false},
		{"link-dir/passwd", false, false},
		{"link-dir/new", false, false},
		{"link-file", false, false},
		{"link-up", false, false},
		{"link-dangling", false, false},
		{"link-loop", false, false},
		{"link-new", false, false},
		{"hard-link", false, false},
		// Read differently by a tool.
		{"", false, false},
		{" main.go", false, false},
		{"main.go\n", false, false},
		{"~/main.go", false, false},
		{"$HOME/x", false, false},
		{"%USERPROFILE%/x", false, false},
		{"file:///etc/passwd", false, false},
		{"src/../main.go", false, false},
		{"main.go\x00.txt", false, false},
		// No file.
		{"src", false, false},
		{".", false, false},
		{"main.go/x", false, false},
		// Secrets.
		{".env", false, false},
		{"config/.env.production", false, false},
		{"deploy/server.pem", false, false},
		{"id_rsa", false, false},
		{"UPPER.ENV", false, false},
		{"link-secret", false, false},
		{".git/config", false, false},
		{"new/.env", false, false},
		// Files that make code run later.
		{".git/hooks/pre-commit", false, false},
		{"link-hooks/pre-commit", false, false},
		{".vscode/tasks.json", true, false},
		{"link-tasks/tasks.json", true, false},
		{".github/workflows/ci.yml", false, false},
	} {
		for tool, want := range map[string]bool{
			"local_read_file": tt.read, "view_image": tt.read, "local_write_file": tt.write, "local_edit_file": tt.write,
		} {
			v := gate.Check(fileCall(tool, tt.path, w.posture()))
			if got := v.Outcome == approvals.OutcomeAllow; got != want {
				t.Errorf("%s %q: %v, want allowed %v", tool, tt.path, v.Outcome, want)
			}
			if want && v.Message != "path is inside a writable project root" {
				t.Errorf("message %q", v.Message)
			}
		}
	}
}

func TestWorkspaceRoots(t *testing.T) {
	w := newWorkspace(t)
	alias := filepath.Join(filepath.Dir(w.root), "alias")
	if err := os.Symlink(w.root, alias); err != nil {
		t.Fatal(err)
	}
	gate := workspaceGate(t)
	for _, tt := range []struct {
		name string
		p    *approvals.Posture
		path string
		want bool
	}{
		{"no posture", nil, "main.go", false},
		{"no roots", &approvals.Posture{Backend: "bwrap", Full: true, Dir: w.root}, "main.go", false},
		{"no backend", &approvals.Posture{Full: true, Roots: []string{w.root}, Dir: w.root}, "main.go", false},
		{"backend none", &approvals.Posture{Backend: "none", Full: true, Roots: []string{w.root}, Dir: w.root}, "main.go", false},
		{"partial enforcement", &approvals.Posture{Backend: "landlock", Roots: []string{w.root}, Dir: w.root}, "main.go", false},
		{"the root directory", &approvals.Posture{Backend: "bwrap", Full: true, Roots: []string{"/"}, Dir: w.root}, "main.go", false},
		{"a link to the root directory", &approvals.Posture{Backend: "bwrap", Full: true, Roots: []string{"/proc/self/root"}, Dir: w.root}, "main.go", false},
		{"a relative root", &approvals.Posture{Backend: "bwrap", Full: true, Roots: []string{"."}, Dir: w.root}, "main.go", false},
		{"a missing root", &approvals.Posture{Backend: "bwrap", Full: true, Roots: []string{w.root + "/none"}, Dir: w.root}, "main.go", false},
		{"directory unknown", &approvals.Posture{Backend: "bwrap", Full: true, Roots: []string{w.root}}, "main.go", false},
		{"directory unknown, absolute path", &approvals.Posture{Backend: "bwrap", Full: true, Roots: []string{w.root}}, w.root + "/main.go", true},
		{"directory outside", &approvals.Posture{Backend: "bwrap", Full: true, Roots: []string{w.root}, Dir: w.outside}, "passwd", false},
		{"second root", &approvals.Posture{Backend: "bwrap", Full: true, Roots: []string{w.outside, w.root}, Dir: w.root}, "main.go", true},
		{"root that is a link", &approvals.Posture{Backend: "bwrap", Full: true, Roots: []string{alias}, Dir: alias}, "main.go", true},
		{"path as the link resolves", &approvals.Posture{Backend: "bwrap", Full: true, Roots: []string{alias}}, w.root + "/main.go", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := gate.Check(fileCall("local_read_file", tt.path, tt.p))
			if got := v.Outcome == approvals.OutcomeAllow; got != tt.want {
				t.Errorf("%v, want allowed %v", v.Outcome, tt.want)
			}
		})
	}
}

func TestWorkspaceNeedsToBeAskedFor(t *testing.T) {
	w := newWorkspace(t)
	req := fileCall("local_read_file", "main.go", w.posture())
	f := newFixture(t)
	if v := f.gate().Check(req); v.Outcome != approvals.OutcomeAsk {
		t.Errorf("not asked for: %v", v.Outcome)
	}
	f.opts.WorkspaceAuto, f.opts.Mode = true, approvals.GateAuto
	if v := f.gate().Check(req); v.Outcome != approvals.OutcomeDeny {
		t.Errorf("headless: %v, want deny", v.Outcome)
	}
	f.opts.Mode = approvals.GateHost
	write(t, f.policy, "{")
	if v := f.gate().Check(req); v.Outcome != approvals.OutcomeAsk {
		t.Errorf("while suspended: %v, want ask", v.Outcome)
	}
	req.MustAsk = true
	write(t, f.policy, rules())
	if v := f.gate().Check(req); v.Outcome != approvals.OutcomeAsk {
		t.Errorf("must ask: %v, want ask", v.Outcome)
	}
	write(t, f.policy, rules(`{"tool":"local_read_file","decision":"deny"}`))
	if v := f.gate().Check(req); v.Outcome != approvals.OutcomeDeny {
		t.Errorf("denied by a rule: %v, want deny", v.Outcome)
	}
}

func TestWorkspaceFileArguments(t *testing.T) {
	w := newWorkspace(t)
	gate := workspaceGate(t)
	for _, tt := range []struct {
		tool, args string
		want       bool
	}{
		{"present_files", `{"files":[{"path":"main.go"},{"path":"notes.md"}]}`, true},
		{"present_files", `{"files":[{"path":"main.go"},{"path":".env"}]}`, false},
		{"present_files", `{"files":[{"path":"main.go"},{"path":"../outside/passwd"}]}`, false},
		{"present_files", `{"files":[{"path":"main.go"},{"name":"x"}]}`, false},
		{"present_files", `{"files":[{"path":"main.go"},"/etc/passwd"]}`, false},
		{"present_files", `{"files":[]}`, false},
		{"present_files", `{"files":"main.go"}`, false},
		{"present_files", `{}`, false},
		{"local_read_file", `{"path":["main.go"]}`, false},
		{"local_read_file", `{"path":"main.go","path":"/etc/passwd"}`, false},
		{"local_read_file", `{"file":"main.go"}`, false},
		{"local_read_file", ``, false},
		{"local_delete_file", `{"path":"main.go"}`, false},
		{"read_file", `{"path":"main.go"}`, false},
	} {
		v := gate.Check(approvals.Request{Tool: tt.tool, Arguments: []byte(tt.args), Posture: w.posture()})
		if got := v.Outcome == approvals.OutcomeAllow; got != tt.want {
			t.Errorf("%s %s: %v, want allowed %v", tt.tool, tt.args, v.Outcome, tt.want)
		}
	}
}

func TestWorkspaceCommands(t *testing.T) {
	w := newWorkspace(t)
	gate := workspaceGate(t)
	full := w.posture()
	for _, tt := range []struct {
		name string
		p    *approvals.Posture
		args string
		want bool
	}{
		{"confined", full, `{"command":"go test ./..."}`, true},
		{"blank directory", full, `{"command":"ls","cwd":" "}`, true},
		{"null directory", full, `{"command":"ls","cwd":null}`, true},
		{"directory inside", full, `{"command":"ls","cwd":"src/deep"}`, true},
		{"absolute directory inside", full, `{"command":"ls","cwd":"` + filepath.ToSlash(w.root) + `/src"}`, true},
		{"directory outside", full, `{"command":"ls","cwd":"` + filepath.ToSlash(w.outside) + `"}`, false},
		{"directory above", full, `{"command":"ls","cwd":".."}`, false},
		{"directory through a link", full, `{"command":"ls","cwd":"link-dir"}`, false},
		{"directory that is a file", full, `{"command":"ls","cwd":"main.go"}`, false},
		{"directory that is missing", full, `{"command":"ls","cwd":"none"}`, false},
		{"directory not a string", full, `{"command":"ls","cwd":7}`, false},
		{"no posture", nil, `{"command":"ls"}`, false},
		{"no backend", &approvals.Posture{Full: true, Roots: full.Roots, Dir: w.root}, `{"command":"ls"}`, false},
		{"backend none", &approvals.Posture{Backend: "none", Full: true, Roots: full.Roots, Dir: w.root}, `{"command":"ls"}`, false},
		{"partial enforcement", &approvals.Posture{Backend: "landlock", Roots: full.Roots, Dir: w.root}, `{"command":"ls"}`, false},
		{"no roots", &approvals.Posture{Backend: "bwrap", Full: true, Dir: w.root}, `{"command":"ls"}`, false},
		{"own directory unknown", &approvals.Posture{Backend: "bwrap", Full: true, Roots: full.Roots}, `{"command":"ls"}`, false},
		{"own directory outside", &approvals.Posture{Backend: "bwrap", Full: true, Roots: full.Roots, Dir: w.outside}, `{"command":"ls"}`, false},
		{"unparseable", full, `{"command":"ls '"}`, false},
		{"names a secret", full, `{"command":"cat .env"}`, false},
		{"names a secret in quotes", full, `{"command":"cat '.env'"}`, false},
		{"names a secret in parts", full, `{"command":"cat .e''nv"}`, false},
		{"names a key below a directory", full, `{"command":"cp deploy/server.pem x"}`, false},
		{"redirects from a secret", full, `{"command":"base64 <.env"}`, false},
		{"a pattern that covers secrets", full, `{"command":"cat *"}`, false},
		{"a pattern that covers a secret", full, `{"command":"cat .e?v"}`, false},
		{"a broken pattern", full, `{"command":"cat [*"}`, false},
		{"a harmless pattern", full, `{"command":"wc -l src/*.go"}`, true},
		{"reads git's own files", full, `{"command":"cat .git/config"}`, false},
		{"not a shell command at all", full, `{"command":["ls"]}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := gate.Check(approvals.Request{Tool: "bash", Shell: true, Arguments: []byte(tt.args), Posture: tt.p})
			if got := v.Outcome == approvals.OutcomeAllow; got != tt.want {
				t.Errorf("%+v, want allowed %v", v, tt.want)
			}
		})
	}
}

func TestTrustedToolsAreConfiguration(t *testing.T) {
	f := newFixture(t)
	f.opts.WorkspaceAuto = true
	req := approvals.Request{Tool: "get_goal"}
	if v := f.gate().Check(req); v.Outcome != approvals.OutcomeAsk {
		t.Errorf("by its name alone: %v, want ask", v.Outcome)
	}
	f.opts.TrustedTools = []string{"get_goal"}
	if v := f.gate().Check(req); v.Outcome != approvals.OutcomeAllow || v.Message != "trusted host control tool" {
		t.Errorf("configured: %+v, want it allowed", v)
	}
	shell := approvals.Request{Tool: "get_goal", Shell: true, Arguments: []byte(`{"command":"ls"}`)}
	if v := f.gate().Check(shell); v.Outcome != approvals.OutcomeAsk {
		t.Errorf("a tool that runs commands: %v, want ask", v.Outcome)
	}
	f.opts.WorkspaceAuto = false
	if v := f.gate().Check(req); v.Outcome != approvals.OutcomeAsk {
		t.Errorf("without workspaceAuto: %v, want ask", v.Outcome)
	}
}
