package approvals_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/steerable-go/sidecar/approvals"
)

const (
	allow = approvals.EffectAllow
	deny  = approvals.EffectDeny
)

func TestStoreReads(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []approvals.StoredAnswer
		problems   []approvals.Problem
	}{
		{name: "empty object", text: `{}`},
		{
			name: "both kinds", text: "{\n \"web_fetch\": \"allow_always\",\n \"bash\": \"deny_always\"\n}",
			want: []approvals.StoredAnswer{{"web_fetch", allow}, {"bash", deny}},
		},
		{
			name: "other values", text: `{"a":"allow_once","b":"deny_always","c":{"x":1},"d":["allow_always"],"e":null}`,
			want: []approvals.StoredAnswer{{"b", deny}},
			problems: []approvals.Problem{
				{0, "a", `unknown value "allow_once", want allow_always or deny_always`},
				{2, "c", "value is not a string, want allow_always or deny_always"},
				{3, "d", "value is not a string, want allow_always or deny_always"},
				{4, "e", "value is not a string, want allow_always or deny_always"},
			},
		},
		{name: "empty file", text: ``, problems: damaged("not JSON: unexpected end of JSON input")},
		{name: "byte order mark", text: "\ufeff{}", problems: damaged(`not JSON: invalid character 'ï' looking for beginning of value`)},
		{name: "half a file", text: `{"bash":"deny_`, problems: damaged("not JSON: unexpected end of JSON input")},
		{name: "list", text: `[]`, problems: damaged("not a JSON object")},
		{name: "null", text: `null`, problems: damaged("not a JSON object")},
		{name: "string", text: `"bash"`, problems: damaged("not a JSON object")},
		{name: "bad UTF-8", text: "{\"a\":\"\xff\"}", problems: damaged("not valid UTF-8")},
		{name: "two objects", text: `{}{}`, problems: damaged("not JSON: invalid character '{' after top-level value")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "approvals.json")
			write(t, path, tt.text)
			s := approvals.OpenStore(path, at)
			if diff := cmp.Diff(tt.want, s.List()); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.problems, s.Check()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// damaged is the one problem of a file that cannot be used at all.
func damaged(why string) []approvals.Problem {
	return []approvals.Problem{{Index: -1, Text: "damaged: " + why}}
}

// A link whose file is gone stands for denials that cannot be read. What is
// written beside it loses neither the link nor its meaning.
func TestLinkToNothingIsDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "approvals.json")
	if err := os.Symlink(filepath.Join(dir, "gone"), path); err != nil {
		t.Skip("this file system has no symbolic links:", err)
	}
	s := approvals.OpenStore(path, at)
	if diff := cmp.Diff(damaged("read approvals "+path+": a link to nothing"), s.Check()); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if err := s.Set(t.Context(), "edit", allow); err != nil {
		t.Fatal(err)
	}
	aside := path + ".corrupt-20260304T050607Z"
	if to, err := os.Readlink(aside); err != nil || to != filepath.Join(dir, "gone") {
		t.Errorf("set aside: %q, %v; want the link", to, err)
	}
	if diff := cmp.Diff([]approvals.Problem{{Index: -1, Text: "set aside as damaged: " + aside}}, s.Check()); diff != "" {
		t.Errorf("problems after a write (-want +got):\n%s", diff)
	}
}

func TestStoreOfOtherTypesOfFileIsDamaged(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large")
	write(t, large, `{"a":"`+strings.Repeat("x", 4<<20)+`"}`)
	write(t, filepath.Join(dir, "file"), "")
	for _, path := range []string{filepath.Join(dir, "d"), large, filepath.Join(dir, "file", "approvals.json")} {
		if p := approvals.OpenStore(path, at).Check(); len(p) == 0 {
			t.Errorf("%s has no problem", filepath.Base(path))
		}
	}
	if s := approvals.OpenStore(filepath.Join(dir, "none", "approvals.json"), at); len(s.Check()) > 0 || !s.Missing() {
		t.Errorf("a missing file has problems: %v", s.Check())
	}
}

func TestStoreWritesTheReferenceShape(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "dir", "approvals.json")
	s := approvals.OpenStore(path, at)
	for _, err := range []error{
		s.Set(t.Context(), "web_fetch", allow),
		s.Set(t.Context(), `a "quoted" <b> & c`, deny),
		s.Set(t.Context(), "web_fetch", allow),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := "{\n \"web_fetch\": \"allow_always\",\n \"a \\\"quoted\\\" <b> & c\": \"deny_always\"\n}"
	if got := read(t, path); got != want {
		t.Errorf("file is\n%s\nwant\n%s", got, want)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

func TestStoreKeepsWhatItCannotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "approvals.json")
	write(t, path, `{"x":"later_kind","y":{"deep":[1,2]},"bash":"allow_always"}`)
	s := approvals.OpenStore(path, at)
	if err := s.Set(t.Context(), "bash", deny); err != nil {
		t.Fatal(err)
	}
	want := "{\n \"x\": \"later_kind\",\n \"y\": {\n  \"deep\": [\n   1,\n   2\n  ]\n },\n \"bash\": \"deny_always\"\n}"
	if got := read(t, path); got != want {
		t.Errorf("file is\n%s\nwant\n%s", got, want)
	}
}

func TestStoreAllowReplacesNoDenial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "approvals.json")
	before := `{"bash":"deny_always","x":"later_kind","z":"allow_always","z":"deny_always"}`
	write(t, path, before)
	s := approvals.OpenStore(path, at)
	for _, category := range []string{"bash", "z"} {
		if err := s.Set(t.Context(), category, allow); !errors.Is(err, approvals.ErrDenialKept) {
			t.Errorf("allow of %s: %v, want %v", category, err, approvals.ErrDenialKept)
		}
	}
	if err := s.Set(t.Context(), "x", allow); err == nil {
		t.Error("an allow replaced an entry that cannot be read")
	}
	if got := read(t, path); got != before {
		t.Errorf("file is %s, want %s", got, before)
	}
}

func TestStoreRevoke(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "approvals.json")
	write(t, path, `{"bash":"deny_always","x":"later_kind","bash":"allow_always","e":"allow_always"}`)
	s := approvals.OpenStore(path, at)
	for category, want := range map[string]bool{"bash": true, "x": true, "nothing": false} {
		if got, err := s.Revoke(t.Context(), category); err != nil || got != want {
			t.Errorf("Revoke(%s) = %v, %v; want %v", category, got, err, want)
		}
	}
	if got, want := read(t, path), "{\n \"e\": \"allow_always\"\n}"; got != want {
		t.Errorf("file is %s, want %s", got, want)
	}
	missing := approvals.OpenStore(filepath.Join(dir, "none", "approvals.json"), at)
	if got, err := missing.Revoke(t.Context(), "bash"); got || err != nil {
		t.Errorf("Revoke in a missing file = %v, %v", got, err)
	}
	wantFiles(t, dir, "approvals.json", "approvals.json.lock")
	write(t, path, "{")
	if _, err := s.Revoke(t.Context(), "bash"); err == nil || read(t, path) != "{" {
		t.Errorf("Revoke in a damaged file: %v, file %q", err, read(t, path))
	}
}

func TestDamagedStoreIsSetAside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "approvals.json")
	s := approvals.OpenStore(path, at)
	for _, text := range []string{"{first", "{second"} {
		write(t, path, text)
		if err := s.Set(t.Context(), "bash", deny); err != nil {
			t.Fatal(err)
		}
	}
	const stamp = "20260304T050607Z"
	wantFiles(t, dir, "approvals.json", "approvals.json.corrupt-"+stamp, "approvals.json.corrupt-"+stamp+"-1", "approvals.json.lock")
	if got := read(t, path+".corrupt-"+stamp) + read(t, path+".corrupt-"+stamp+"-1"); got != "{first{second" {
		t.Errorf("the files set aside hold %q", got)
	}
	if got := len(s.Check()); got != 2 {
		t.Errorf("%d problems, want one for each file set aside", got)
	}
	kept, err := s.Accept(t.Context())
	if err != nil || len(kept) != 2 {
		t.Fatalf("Accept = %v, %v", kept, err)
	}
	if p := s.Check(); len(p) > 0 {
		t.Errorf("problems after Accept: %v", p)
	}
	if diff := cmp.Diff([]approvals.StoredAnswer{{"bash", deny}}, s.List()); diff != "" {
		t.Errorf("answers after Accept (-want +got):\n%s", diff)
	}
	if got := read(t, kept[0]) + read(t, kept[1]); got != "{first{second" {
		t.Errorf("the accepted files hold %q", got)
	}
	if kept, err := s.Accept(t.Context()); err != nil || kept != nil {
		t.Errorf("second Accept = %v, %v", kept, err)
	}
}

func TestAcceptOfADamagedFileInPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "policy.json")
	write(t, path, "[1")
	p := approvals.OpenPolicy(path, at)
	kept, err := p.Accept(t.Context())
	if err != nil || len(kept) != 1 || read(t, kept[0]) != "[1" {
		t.Fatalf("Accept = %v, %v", kept, err)
	}
	if !p.Missing() || len(p.Check()) > 0 {
		t.Errorf("after Accept: missing %v, problems %v", p.Missing(), p.Check())
	}
}

func TestStoreIsSafeForConcurrentUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "approvals.json")
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		s := approvals.OpenStore(path, at) // one for each turn, as in the product
		wg.Go(func() {
			for _, n := range []string{"1", "2", "3", "4", "5"} {
				if err := s.Set(t.Context(), name+n, allow); err != nil {
					t.Error(err)
				}
				s.List()
			}
		})
	}
	wg.Wait()
	if got := len(approvals.OpenStore(path, at).List()); got != 20 {
		t.Errorf("%d answers, want 20", got)
	}
}
