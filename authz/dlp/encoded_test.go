package dlp

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/steerable-go/sidecar/authz"
)

// An encoded token is found as a segment of a path, and behind whatever of the
// digits of base64 is punctuation elsewhere.
func TestEncodedPartsAreFound(t *testing.T) {
	s := New(Options{})
	encodings := []func([]byte) string{
		base64.StdEncoding.EncodeToString, base64.RawURLEncoding.EncodeToString, hex.EncodeToString,
		func(b []byte) string { return "0x" + hex.EncodeToString(b) },
	}
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("abcdefxyzABC019")), 0, 9, -1)
		separator := rapid.SampledFrom([]string{"/", "-", "_", "+"})
		before := rapid.SampledFrom([]string{"", "https://example.com/", "path: "}).Draw(rt, "before")
		for range rapid.IntRange(0, 6).Draw(rt, "words") {
			before += word.Draw(rt, "word") + separator.Draw(rt, "separator")
		}
		after := rapid.SampledFrom([]string{"", "/", "/x", "/rest/of/it", " ", "?a=b", "&c"}).Draw(rt, "after")
		encoded := rapid.SampledFrom(encodings).Draw(rt, "encoding")([]byte(github + " "))
		text := before + encoded + after
		if got := s.Scan(Text(text), authz.Low).Categories(); len(got) != 1 || got[0] != "github_token" {
			rt.Errorf("%q in %q", got, text)
		}
		checkTerminal(t, s, Text(text))
	})
}

// A token is found in a text that is JSON itself, and in the fields of a form.
func TestTextsInTexts(t *testing.T) {
	s := New(Options{})
	rapid.Check(t, func(rt *rapid.T) {
		before := rapid.StringOf(rapid.SampledFrom([]rune("a \n\t\"\\/é"))).Draw(rt, "before") + rapid.SampledFrom([]string{"\n", "\t", "\"", " ", "/"}).Draw(rt, "end")
		inner, err := json.Marshal(map[string]any{"q": before + github, "n": []int{1}})
		if err != nil {
			rt.Fatal(err)
		}
		outer, err := json.Marshal(map[string]string{"body": string(inner)})
		if err != nil {
			rt.Fatal(err)
		}
		p, err := JSON(outer)
		if err != nil {
			rt.Fatal(err)
		}
		for _, p := range []Payload{p, Text(string(inner))} {
			if !s.Scan(p, authz.Low).Blocked() {
				rt.Errorf("nothing in %q", p)
			}
			checkTerminal(t, s, p)
		}
	})
	for text, want := range map[string]string{
		`a\u0070i_key=a1b2c3d4e5f6g7h8`:              "generic_secret",
		`\x67hp_` + github[4:]:                       "github_token",
		`{"password":"hunter2\nhunter2"}`:            "password",
		"q=my+card+4111+1111+1111+1111":              "payment_card",
		"url: /?h=Authorization:+Bearer+" + github:   "bearer_token github_token",
		"a=1+1&k=password%3Dhunter2hunter2":          "password",
		"1 + 1 is 2, 4111+1111+1111+1111 is no card": "",
		`C:\new\table\users and \d+ \w{2} \`:         "",
	} {
		if got := strings.Join(s.Scan(Text(text), authz.Low).Categories(), " "); got != want {
			t.Errorf("%q in %q, want %q", got, text, want)
		}
		checkTerminal(t, s, Text(text))
	}
}

// Escapes are those of JSON, and what is none stays.
func TestUnescaped(t *testing.T) {
	for in, want := range map[string]string{
		``: ``, `a`: `a`, `\`: `\`, `a\`: `a\`, `\\`: `\`, `\\n`: `\n`, `\d\n`: `\d `, `\"\'\/`: `"'/`,
		`\u0041\u00e9`: "Aé", `\ud83d\udd11`: "🔑", `\ud83d`: "\ufffd", `\ud83d\u0041`: "\ufffdA",
		`\u00`: `\u00`, `\u00zz`: `\u00zz`, `\x41\x4`: `A\x4`, `é\té`: "é é",
	} {
		if got := unescaped(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("ab\"\\/é🔑\u2028<"))).Draw(rt, "text")
		quoted, err := json.Marshal(s)
		if err != nil {
			rt.Fatal(err)
		}
		if got := unescaped(string(quoted[1 : len(quoted)-1])); got != s {
			rt.Errorf("%s becomes %q, want %q", quoted, got, s)
		}
	})
}

// Lines without a backslash are left out, and the others do not touch.
func TestEscapedLines(t *testing.T) {
	far := "\n" + strings.Repeat("…", 8) + "\n"
	for in, want := range map[string]string{
		"": "", "a\nb": "", `\`: `\` + far, "a\\b\\c\nd": `a\b\c` + far, "a\n\\\nb\nc\\": `\` + far + `c\` + far, "\\\n\\": `\` + far + `\` + far,
	} {
		if got := escapedLines(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
