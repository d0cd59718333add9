package dlp

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/steerable-go/sidecar/authz"
)

// What is done to eight or thirty-two bytes at a time equals what is said about
// single ones.
func TestBytesAtOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.ByteRange(0x20, 0x7e), rapid.SampledFrom([]byte("+.:*;-/9 "))), 8, 80).Draw(rt, "bytes")
		s := string(b)
		plain := true
		for i := range len(s) {
			plain = plain && s[i] < 0x80
		}
		if got := ascii(s); got != plain {
			rt.Errorf("ascii(%q) = %v", s, got)
		}
		stops := false
		for i := range 8 {
			stops = stops || s[i] < '+' || s[i] == '.' || s[i] == ':'
		}
		if got := interrupted(eight(s[:8])); got != stops {
			rt.Errorf("interrupted(%q) = %v", s[:8], got)
		}
	})
}

// Where a decoder of the standard library has no objection, ours agrees; where
// it has, ours leaves what is no escape.
func TestPercentDecoded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("%%%4aAfFgz é"))).Draw(rt, "text")
		want, err := url.PathUnescape(s)
		if got := percentDecoded(s); err == nil && got != want {
			rt.Errorf("%q becomes %q, want %q", s, got, want)
		}
	})
	for in, want := range map[string]string{"": "", "%": "%", "%4": "%4", "%41": "A", "%%41": "%A", "%zz%41": "%zzA", "100%": "100%", "%4g%G4": "%4g%G4", "%fF": "\xff"} {
		if got := percentDecoded(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// A printable text of the length of the shortest token is found in every
// encoding, wherever the run stands and whatever ends it.
func TestEncodedRunsAreFound(t *testing.T) {
	a := newAlphabet()
	rapid.Check(t, func(rt *rapid.T) {
		hidden := rapid.StringOfN(rapid.RuneFrom([]rune("abcXYZ0189_-+/ ")), 20, 60, -1).Draw(rt, "hidden")
		before := strings.Repeat(" ", rapid.IntRange(0, 40).Draw(rt, "before"))
		after := rapid.SampledFrom([]string{"", " ", ".", ":", "\"", "=", "é", "\n and more"}).Draw(rt, "after")
		for name, run := range map[string]string{
			"base64":     base64.RawStdEncoding.EncodeToString([]byte(hidden)),
			"base64 URL": base64.RawURLEncoding.EncodeToString([]byte(hidden)),
			"hex":        hex.EncodeToString([]byte(hidden)),
		} {
			found := false
			a.encoded(before+run+after, func(lo, hi int, got string) {
				found = found || got == hidden && lo == len(before) && hi == lo+len(run)
			})
			if !found {
				rt.Errorf("%s of %q is not found in %q", name, hidden, before+run+after)
			}
		}
	})
}

// A run with one digit too many is read without it.
func TestOddRunsAreRead(t *testing.T) {
	token := github
	run := base64.RawStdEncoding.EncodeToString([]byte(token + "xx")) // 42 bytes are 56 digits
	if got := New(Options{}).Scan(Text(run+"A"), authz.Low).Categories(); len(got) != 1 || got[0] != "github_token" {
		t.Errorf("%q", got)
	}
}

// ASCII has one reading; characters that show nothing go, an ellipsis stays.
func TestNormalized(t *testing.T) {
	for in, want := range map[string]string{
		"plain":               "plain",
		"s\u200bk":            "sk",
		"\uff53\uff4b":        "sk",
		"a…b":                 "a…b",
		"\u200ba…\uff42":      "a…b",
		"\ufb01":              "fi",
		"e\u0301":             "\u00e9",
		"x\ufe0f\u00ad\u2060": "x",
	} {
		if got := normalized(in); got != want {
			t.Errorf("%q reads %q, want %q", in, got, want)
		}
	}
}

func TestStrings(t *testing.T) {
	p, err := JSON([]byte(`{"url":"a","list":["b",{"href":"c","n":1}],"empty":[],"last":"d"}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for name, value := range p.Strings() {
		got = append(got, name+"="+value)
	}
	if want := "url=a list=b href=c empty= last=d"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	for name, value := range p.Strings() {
		if name != "url" || value != "a" {
			t.Errorf("went on to %s=%s after the first", name, value)
		}
		break
	}
	for range (Payload{}).Strings() {
		t.Error("an empty payload has a string")
	}
	for name, value := range Text("x").Strings() {
		if name != "" || value != "x" {
			t.Errorf("%q=%q", name, value)
		}
	}
}

func TestPayloadAsJSON(t *testing.T) {
	for want, p := range map[string]Payload{`""`: {}, `"a<b>\"\n"`: Text("a<b>\"\n")} {
		if got, err := p.MarshalJSON(); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	const text = `{"a":[1,-2.50,true,null,"x"],"a":{},"b":[]}`
	p, err := JSON([]byte(" " + text + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.MarshalJSON(); err != nil || string(got) != text {
		t.Errorf("%s, %v; want %s", got, err, text)
	}
}
