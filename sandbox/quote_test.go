package sandbox

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

func TestQuote(t *testing.T) {
	for want, argv := range map[string][]string{
		``:                   nil,
		`''`:                 {""},
		`'a' 'b c'`:          {"a", "b c"},
		`'it'\''s' '!$HOME'`: {"it's", "!$HOME"},
	} {
		if got := Quote(argv); got != want {
			t.Errorf("Quote(%q) = %s, want %s", argv, got, want)
		}
	}
}

// words is awkward text for shells.
func words() []string {
	return []string{
		"", " ", "a b", "'", "''", `"`, `\`, `\'`, "$(id)", "`id`", "!!", "*", "~", "#x", "a\nb", "a\r\nb", "é", "\xff", "-n", "{a,b}", "\t",
	}
}

// TestShellsReadBack runs each awkward word through every shell there is.
func TestShellsReadBack(t *testing.T) {
	for _, shell := range []string{"sh", "bash", "dash", "zsh", "busybox"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		args := []string{"-c"}
		if shell == "busybox" {
			args = []string{"sh", "-c"}
		}
		line := Quote(append([]string{"printf", `%s\0`}, words()...))
		out, err := exec.CommandContext(t.Context(), path, append(args, line)...).Output()
		if err != nil {
			t.Errorf("%s: %v", shell, err)
			continue
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if !slices.Equal(got, words()) {
			t.Errorf("%s read %q", shell, got)
		}
	}
}

// FuzzQuote reads the result with a shell parser.
func FuzzQuote(f *testing.F) {
	for _, w := range words() {
		f.Add(w, "x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.Contains(a+b, "\x00") || !utf8.ValidString(a) || !utf8.ValidString(b) || strings.Contains(a+b, "\r") {
			return // NUL is refused earlier; the parser below rewrites the others
		}
		file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(bytes.NewReader([]byte(Quote([]string{"c", a, b}))), "")
		if err != nil {
			t.Fatalf("%q %q: %v", a, b, err)
		}
		call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
		if !ok || len(file.Stmts) != 1 || len(call.Args) != 3 {
			t.Fatalf("%q %q is not one command of three words", a, b)
		}
		for i, want := range []string{"c", a, b} {
			var got strings.Builder
			for _, part := range call.Args[i].Parts {
				switch part := part.(type) {
				case *syntax.SglQuoted:
					got.WriteString(part.Value)
				case *syntax.Lit:
					got.WriteString(strings.TrimPrefix(part.Value, `\`))
				default:
					t.Fatalf("%q has an active part %T", want, part)
				}
			}
			if got.String() != want {
				t.Fatalf("%q reads back as %q", want, got.String())
			}
		}
	})
}
