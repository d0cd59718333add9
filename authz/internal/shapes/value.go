package shapes

import (
	"math"
	"strings"

	"github.com/steerable-go/sidecar/authz/internal/match"
)

// Secret reports whether the value of an assignment can be a secret: anything
// but a placeholder or a reference to where the secret really is.
func Secret(m match.Match) bool {
	// Some values end before a bracket, so that the call is seen only here.
	called := m.To < len(m.Text) && m.Text[m.To] == '('
	return !Placeholder(m.Value()) && (!called || !call(m.Value()+"("))
}

// Placeholder reports whether v stands for a value instead of being one. A
// value that only starts like a reference, such as a password hash that starts
// with "$", is none.
func Placeholder(v string) bool {
	switch strings.ToLower(v) {
	case "", "null", "none", "true", "false", "undefined", "required", "optional", "changeme", "redacted":
		return true
	}
	return strings.Contains(v, "…") || onlyOne(v, "*") || onlyOne(v, "xX") || onlyOne(v, ".") ||
		reference(v) || call(v)
}

// onlyOne reports whether v consists of the given characters only.
func onlyOne(v, chars string) bool { return strings.Trim(v, chars) == "" }

// reference reports whether v is, as a whole, something to be filled in from
// elsewhere. The value of a match ends at a blank or quote, so the closing
// bracket may be missing; but if it is there, the reference ends with it.
func reference(v string) bool {
	for _, r := range []struct{ open, shut string }{{"${", "}"}, {"$(", ")"}, {"{{", "}}"}, {"<", ">"}} {
		rest, ok := strings.CutPrefix(v, r.open)
		if !ok {
			continue
		}
		i := strings.LastIndex(rest, r.shut)
		return i < 0 || strings.Trim(rest[i:], ")]}>.") == ""
	}
	const env = "$env:"
	if len(v) > len(env) && strings.EqualFold(v[:len(env)], env) {
		return strings.TrimLeft(strings.ToLower(v[len(env):]), identifier) == ""
	}
	return false
}

const identifier = "abcdefghijklmnopqrstuvwxyz0123456789_"

// call reports whether v begins as a call in source code does: a name, with or
// without a path of names before it, and an opening bracket.
func call(v string) bool {
	name, _, ok := strings.Cut(v, "(")
	return ok && name != "" && !isDigit(name[0]) && strings.Trim(strings.ToLower(name), identifier+".") == ""
}

// minEntropy is what a random token of sixteen characters clearly exceeds and
// most words do not reach, in bits per byte.
const minEntropy = 2.5

// Token reports whether the value looks generated: a digit, a letter and
// enough entropy, and no placeholder.
func Token(m match.Match) bool {
	v := m.Value()
	return strings.ContainsAny(v, "0123456789") && hasLetter(v) && Entropy(v) >= minEntropy && Secret(m)
}

// Entropy returns the Shannon entropy of the bytes of v, in bits per byte.
func Entropy(v string) float64 {
	var counts [256]int
	for i := range len(v) {
		counts[v[i]]++
	}
	var sum float64
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(v))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

// OpenAIKey tells a key from a CSS class or a slug with the same prefix: a key
// has a digit, and a capital letter or a long run without hyphens.
func OpenAIKey(m match.Match) bool {
	const longRun = 16
	digit, upper, run, longest := false, false, 0, 0
	v := m.Value()
	for i := len("sk-"); i < len(v); i++ {
		c := v[i]
		digit = digit || isDigit(c)
		upper = upper || 'A' <= c && c <= 'Z'
		if run++; !isDigit(c) && !isLetter(c) {
			run = 0
		}
		longest = max(longest, run)
	}
	return digit && (upper || longest >= longRun)
}

// AWSSecret tells an AWS secret key from the digest of a commit, which has the
// same length but only hexadecimal digits.
func AWSSecret(m match.Match) bool {
	v := m.Value()
	return strings.Trim(v, "0123456789abcdefABCDEF") != "" && Secret(m)
}

func hasLetter(v string) bool {
	for i := range len(v) {
		if isLetter(v[i]) {
			return true
		}
	}
	return false
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isWord(c byte) bool   { return isDigit(c) || isLetter(c) || c == '_' }
