package shapes

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/authz/internal/match"
	"github.com/steerable-go/sidecar/authz/internal/match/matchtest"
)

// The finder by hand finds what the expression finds.
func TestJWTFinderEqualsItsExpression(t *testing.T) {
	re := regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`)
	parts := []string{"eyJ", "abcdefgh", ".", "-", "_", " ", "é", ".eyJabcdefgh", "eyJabcdefgh", "x"}
	for seed := range 60_000 {
		var b strings.Builder
		for n := seed; n > 0; n /= len(parts) {
			b.WriteString(parts[n%len(parts)])
		}
		text := b.String()
		var got [][]int
		find := JWTFinder(text)
		for at := 0; at < len(text); {
			i := strings.Index(text[at:], "eyJ")
			if i < 0 {
				break
			}
			at += i
			if at > 0 && isWord(text[at-1]) {
				at++
				continue
			}
			m, next := find(at)
			if m.End > m.Start {
				got = append(got, []int{m.Start, m.End})
			}
			at = max(next, at+1)
		}
		if want := re.FindAllStringIndex(text, -1); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestEmail(t *testing.T) {
	for text, want := range map[string]bool{
		"jane@example.com": true, "git@example.com": true, "git@example.com ": true, "git@example.com:a/b": false, "git@example.com/a": false,
		"agit@example.com:a": true, "Git@example.com:a": true,
	} {
		end := strings.Index(text, ".com") + len(".com")
		if got := Email(match.Match{Text: text, End: end}); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestIPv4(t *testing.T) {
	for text, want := range map[string]bool{
		"1.2.3.4": true, "at 1.2.3.4": true, "1.2.3.4.": true, "1.2.3.4:80": true, "dev 1.2.3.4": true, "conversion 1.2.3.4": true,
		"v 1.2.3.4": false, "V=1.2.3.4": false, "version 1.2.3.4": false, "Version: 1.2.3.4": false, "1.2.3.4.5": false, "0.1.2.3.4": false,
	} {
		at := strings.Index(text, "1.2.3.4")
		if got := IPv4(match.Match{Text: text, Start: at, End: at + 7}); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestTokens(t *testing.T) {
	for v, want := range map[string]bool{
		"a1b2c3d4e5f6g7h8": true, "aaaaaaaaaaaaaaa1": false, "1234567890123456": false, "only-letters-here": false, "${A1B2C3D4E5F6G7}": false,
	} {
		if got := Token(whole(v)); got != want {
			t.Errorf("token %q: %v, want %v", v, got, want)
		}
	}
	for v, want := range map[string]bool{
		"sk-abcdefghijklmnop1": true, "sk-Ab-1-cd-ef-gh-ij-kl": true, "sk-ab-1-cd-ef-gh-ij-kl": false, "sk-abcdefghijklmnopq": false, "sk-": false,
	} {
		if got := OpenAIKey(whole(v)); got != want {
			t.Errorf("key %q: %v, want %v", v, got, want)
		}
	}
	for v, want := range map[string]bool{
		strings.Repeat("abcd/EFGH+", 4): true, strings.Repeat("0a1b2c3d4e", 4): false, strings.Repeat("0A1B2C3D4E", 4): false, strings.Repeat("x", 40): false,
	} {
		if got := AWSSecret(whole(v)); got != want {
			t.Errorf("AWS secret %q: %v, want %v", v, got, want)
		}
	}
	// A value that ends where a call's bracket stands is the name of a function.
	if Secret(match.Match{Text: "token=makeToken2(x)", Start: 0, End: 16, From: 6, To: 16}) {
		t.Error("a call is taken for a secret")
	}
}

// A cheap test that comes first never rejects what its expression matches:
// for texts made from the expression, at every place where a keyword ends.
func TestLikelyIsNecessary(t *testing.T) {
	for _, tt := range []struct {
		name, keyword, expr string
		likely              func(text string, at, end int) bool
	}{
		{"password", "password", `(?i)\Apassword["']?\s{0,4}(?::=|=>|=|:)\s{0,4}["']?([^\s"',;…]{6,})`, LikelyValue(6, PasswordByte)},
		{"token", "token", `(?i)\Atoken["']?\s{0,4}(?::=|=>|=|:)\s{0,4}["']?([A-Za-z0-9_./+=~-]{16,})`, LikelyValue(16, TokenByte)},
		{"aws", "aws", `(?i)\Aaws[a-z0-9_. -]{0,24}key["']?\s{0,4}(?::=|=>|=|:)\s{0,4}["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)`, LikelyAWSSecret},
		{"login", "://", `\A://[^\s/:@"'<>]*:([^\s/@"'<>…]+)@[^\s"'<>]+`, LikelyLogin},
	} {
		t.Run(tt.name, func(t *testing.T) {
			re := regexp.MustCompile(tt.expr)
			g := matchtest.NewGenerator(5, []string{tt.expr})
			matches := 0
			for range 6_000 {
				text := g.Text()
				if strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 }) {
					continue // tables fold within ASCII, these expressions do not
				}
				for at := 0; ; at++ {
					i := strings.Index(strings.ToLower(text[at:]), tt.keyword)
					if i < 0 {
						break
					}
					at += i
					if !re.MatchString(text[at:]) {
						continue
					}
					matches++
					if !tt.likely(text, at, at+len(tt.keyword)) {
						t.Fatalf("%q is rejected at %d", text, at)
					}
				}
			}
			if matches < 100 {
				t.Errorf("only %d matches; the test shows little", matches)
			}
		})
	}
}

// The part around a candidate holds everything of its kind, and nothing that
// could belong to it stands beside it.
func TestAround(t *testing.T) {
	for _, tt := range []struct {
		name   string
		around func(string, int) (int, int)
		text   string
		at     string
		want   string
	}{
		{"email", AroundEmail, "to <a.b+c@x-y.org>, d", "@", "a.b+c@x-y.org"},
		{"two emails", AroundEmail, "a@b.coa@b.co é", "@", "a@b.coa@b.co"},
		{"URL", AroundURL, `x "https://u:p@h/?q=é" y`, "://", "https://u:p@h/?q=é"},
		{"IPv4", AroundIPv4, "v1.2.3.4:80", ".", "1.2.3.4"},
		{"phone", AroundPhone, "call +1 (555) 123-4567!", "123", " +1 (555) 123-4567"},
		{"loose card", AroundLooseCard, "x4111\u00a01111/1111_1111y", "1111", "4111\u00a01111/1111_1111"},
		{"recipient", AroundRecipient, "send it to: <jane@example.com> now", "@", "nd it to: <jane@example.com"},
		{"recipient at the start", AroundRecipient, "cc:a@b.co", "@", "cc:a@b.co"},
	} {
		lo, hi := tt.around(tt.text, strings.Index(tt.text, tt.at))
		if got := tt.text[lo:hi]; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestLikelyNumbers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		likely func(string, int, int) bool
		text   string
		group  string
		want   bool
	}{
		{"ssn", LikelySSN, "123-45-6789", "123", true},
		{"ssn of four digits", LikelySSN, "1234-45-6789", "1234", false},
		{"date", LikelySSN, "2026-11-30", "2026", false},
		{"cut ssn", LikelySSN, "123-45-67", "123", false},
		{"phone", LikelyPhone, "(555)123-4567", "123", true},
		{"phone area", LikelyPhone, "555-123-4567", "555", false},
		{"long phone", LikelyPhone, "555-123-45678", "123", false},
		{"card", LikelyCard, "4111 1111 1111 1111", "4111", true},
		{"card in one", LikelyCard, "4111111111111111", "4111111111111111", true},
		{"short", LikelyCard, "4111 1111 11", "4111", false},
		{"time stamp", LikelyCard, "2026-11-30T01:02:03", "2026", false},
		{"loose card", LikelyLooseCard, "4111.1111.1111.1111", "4111", true},
		{"end of text", LikelyLooseCard, "4111.111", "4111", false},
	} {
		at := strings.Index(tt.text, tt.group)
		if got := tt.likely(tt.text, at, at+len(tt.group)); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
