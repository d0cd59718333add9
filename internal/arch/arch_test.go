package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// allowed lists, for every package, the packages of this module it may import.
// It is the dependency table of docs/architecture.md: change both, or neither.
var allowed = map[string][]string{
	// Leaves.
	"schemas":                        {},
	"egress":                         {},
	"llm":                            {},
	"sandbox/policy":                 {"egress"},
	"authz":                          {},
	"authz/audit":                    {},
	"authz/capabilities":             {"authz"},
	"authz/chain":                    {"authz"},
	"authz/dlp":                      {"authz", "authz/internal/match", "authz/internal/shapes"},
	"authz/egress":                   {"authz", "egress"},
	"authz/govern":                   {"authz", "authz/audit", "authz/capabilities", "authz/chain", "authz/dlp", "authz/egress", "authz/policy", "authz/risk"},
	"authz/internal/match":           {},
	"authz/internal/match/matchtest": {"authz/internal/match"},
	"authz/internal/shapes":          {"authz/internal/match"},
	"authz/policy":                   {"authz"},
	"authz/risk":                     {"authz", "authz/internal/match", "authz/internal/shapes"},
	"authz/signing":                  {},
	"auditlog":                       {"authz/audit", "authz/signing", "internal/atomicfile"},
	"internal/atomicfile":            {},
	"internal/arch":                  {},
	"internal/gostyle":               {},
	// Mechanisms.
	"protocol":                    {"schemas"},
	"safety":                      {"schemas"},
	"sandbox":                     {"egress", "sandbox/policy"},
	"sandbox/internal/mount":      {"sandbox/internal/spawn", "sandbox/policy"},
	"sandbox/internal/nofile":     {},
	"sandbox/internal/prefault":   {},
	"sandbox/internal/ruleset":    {},
	"sandbox/internal/seatbelt":   {"egress", "sandbox/policy"},
	"sandbox/internal/seccomp":    {},
	"sandbox/internal/signals":    {},
	"sandbox/internal/spawn":      {},
	"sandbox/internal/supervisor": {"sandbox/internal/seccomp", "sandbox/policy"},
	"sandbox/launcher": {
		"sandbox/internal/mount", "sandbox/internal/nofile", "sandbox/internal/prefault", "sandbox/internal/ruleset", "sandbox/internal/seatbelt", "sandbox/internal/seccomp",
		"sandbox/internal/signals", "sandbox/internal/spawn", "sandbox/internal/supervisor", "sandbox/policy",
	},
	"proxy":                  {"egress", "proxy/internal/chunked", "proxy/internal/head", "proxy/internal/hello", "proxy/internal/relay", "proxy/internal/resolve"},
	"proxy/internal/chunked": {},
	"proxy/internal/head":    {"egress"},
	"proxy/internal/hello":   {},
	"proxy/internal/relay":   {},
	"proxy/internal/resolve": {"egress"},
	"approvals":              {"internal/atomicfile", "protocol", "safety"},
	// Composition.
	"executors":   {"approvals", "auditlog", "authz", "authz/audit", "authz/capabilities", "authz/dlp", "authz/govern", "protocol", "safety", "sandbox", "sandbox/policy", "schemas"},
	"loop":        {"executors", "llm", "protocol"},
	"sidecar":     {"approvals", "auditlog", "authz", "authz/audit", "authz/capabilities", "authz/dlp", "authz/govern", "authz/signing", "egress", "executors", "llm", "loop", "protocol", "safety", "sandbox", "sandbox/policy", "schemas"},
	"conformance": {"protocol", "schemas"},
	// For tests only.
	"internal/testhost": {"protocol"},
	// Programs.
	"cmd/steerable-sidecar":      {"approvals", "auditlog", "authz", "authz/audit", "authz/capabilities", "authz/chain", "authz/dlp", "authz/egress", "authz/govern", "authz/policy", "authz/risk", "authz/signing", "executors", "llm", "protocol", "safety", "sandbox", "sandbox/launcher", "sandbox/policy", "schemas", "sidecar"},
	"cmd/steerable-egress-proxy": {"proxy"},
	"cmd/steerable-sandbox":      {"sandbox/launcher"},
	"cmd/steerable-conformance":  {"conformance"},
}

// pure packages compute: they may not reach the network, files or the clock.
var pure = []string{
	"authz", "authz/audit", "authz/capabilities", "authz/chain", "authz/dlp", "authz/egress", "authz/govern",
	"authz/internal/match", "authz/internal/shapes", "authz/policy", "authz/risk", "authz/signing", "egress", "safety",
}

// impure lists what pure packages may not import.
var impure = []string{"net", "net/http", "os", "os/exec", "syscall", "time", "math/rand", "math/rand/v2"}

// contents lists the only modules that may be linked into the two programs
// that guard others.
var contents = map[string][]string{
	"cmd/steerable-sandbox":      {"github.com/landlock-lsm/go-landlock", "golang.org/x/sys", "kernel.org/pub/linux/libs/security/libcap/psx"},
	"cmd/steerable-egress-proxy": {"github.com/rs/zerolog", "github.com/mattn/go-colorable", "github.com/mattn/go-isatty", "golang.org/x/sys"},
}

// source is what this package needs to know of one Go package.
type source struct {
	imports    []string // also those of other platforms' files
	documented bool
}

// sources parses every hand-written package of the module. Reading the files
// in this process also tells go test which files its cached result depends on.
func sources(t *testing.T) (module string, pkgs map[string]*source) {
	t.Helper()
	root := filepath.Join("..", "..")
	pkgs = map[string]*source{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || len(d.Name()) > 2 && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		p := pkgs[filepath.ToSlash(dir)]
		if p == nil {
			p = &source{}
			pkgs[filepath.ToSlash(dir)] = p
		}
		p.documented = p.documented || f.Doc != nil
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			p.imports = append(p.imports, imp)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(goList(t, "-m")), pkgs
}

func goList(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	return string(out)
}

func TestImports(t *testing.T) {
	module, pkgs := sources(t)
	for name, p := range pkgs {
		may, ok := allowed[name]
		if !ok {
			t.Errorf("%s: a new package needs a line in the table above", name)
		}
		for _, imp := range p.imports {
			if rel, ours := strings.CutPrefix(imp, module+"/"); ours && !slices.Contains(may, rel) {
				t.Errorf("%s may not import %s", name, rel)
			}
			if slices.Contains(pure, name) && slices.Contains(impure, imp) {
				t.Errorf("%s is pure and may not import %s", name, imp)
			}
		}
	}
}

func TestContents(t *testing.T) {
	module, _ := sources(t)
	for program, modules := range contents {
		list := goList(t, "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./"+program)
		for path := range strings.FieldsSeq(list) {
			if path != module && !slices.Contains(modules, path) {
				t.Errorf("%s may not contain module %s", program, path)
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	_, pkgs := sources(t)
	for name, p := range pkgs {
		if !p.documented {
			t.Errorf("%s has no package comment", name)
		}
	}
}
