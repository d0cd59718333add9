package schemas

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// respell returns the same value in another spelling: white space between the
// tokens, and characters of names and texts written as escapes.
func respell(t *rapid.T, raw []byte) []byte {
	var out strings.Builder
	spaces := rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "", " ", "\n", "\t", "\r\n  "}), 8, 8).Draw(t, "spaces")
	every := rapid.IntRange(1, 5).Draw(t, "every")
	inside, k := false, 0
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRune(raw[i:])
		switch {
		case inside && r == '\\':
			n := escape(raw[i:])
			out.Write(raw[i : i+n])
			size = n
		case r == '"':
			inside = !inside
			out.WriteRune(r)
		case inside && k%every == 0:
			writeEscape(&out, r)
		case !inside && strings.ContainsRune("{}[]:,", r):
			out.WriteString(spaces[k%8])
			out.WriteRune(r)
			out.WriteString(spaces[(k+3)%8])
		default:
			out.WriteRune(r)
		}
		i += size
		k++
	}
	return []byte(out.String())
}

// writeEscape writes a character as one escape or as a pair of them.
func writeEscape(out *strings.Builder, r rune) {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		fmt.Fprintf(out, `\u%04x\u%04X`, high, low)
		return
	}
	fmt.Fprintf(out, `\u%04X`, r)
}

// TestSpellingDoesNotMatter gives examples in other spellings to both engines:
// verdict, pointer and keyword stay the same.
func TestSpellingDoesNotMatter(t *testing.T) {
	set := New()
	for _, name := range allNames(t) {
		e := loadExamples(t, name)
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			instance := rapid.SampledFrom(e.Valid).Draw(t, "valid")
			other := respell(t, instance)
			if err := set.Check(name, other); err != nil {
				t.Fatalf("%.300s: %v", other, err)
			}
			bad := rapid.SampledFrom(e.Invalid).Draw(t, "invalid")
			other = respell(t, bad.Instance)
			var v *ValidationError
			if err := set.Check(name, other); !errors.As(err, &v) || v.Pointer != bad.Pointer || v.Keyword != bad.Keyword {
				t.Fatalf("%.300s: %+v, want %s at %q", other, err, bad.Keyword, bad.Pointer)
			}
		}))
	}
}

// TestDamage cuts frames at every byte, drops every byte and replaces every byte:
// whatever is no acceptable JSON any more is a syntax error, at or after the
// damage if the text before it was whole.
func TestDamage(t *testing.T) {
	set := New()
	for _, f := range turn() {
		raw := []byte(f.line)
		for k := range raw {
			damaged := [][]byte{
				raw[:k],
				append(append([]byte{}, raw[:k]...), raw[k+1:]...),
			}
			for _, c := range []byte{0, '"', '\\', '}', ',', '0', 'x', 0xff} {
				other := append([]byte{}, raw...)
				other[k] = c
				damaged = append(damaged, other)
			}
			for _, text := range damaged {
				err := set.Check(f.whole, text)
				s, broken := errors.AsType[*SyntaxError](err)
				if broken == acceptable(text) {
					t.Fatalf("%s: %q: %v", f.name, text, err)
				}
				if broken && s.Reason == ReasonSyntax && s.Offset < k-6 { // an escape is six bytes
					t.Fatalf("%s: %q: offset %d, but the damage is at %d", f.name, text, s.Offset, k)
				}
			}
		}
	}
}
