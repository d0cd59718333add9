package shapes

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/authz/internal/match"
)

// whole is a match of all of a text.
func whole(text string) match.Match {
	return match.Match{Text: text, End: len(text), To: len(text)}
}

func TestPlaceholder(t *testing.T) {
	for _, v := range []string{
		"", "***", "********", "xxxx", "XXXX", "xXxX", "...", "null", "NONE", "True", "false", "undefined", "required", "Optional", "changeme", "REDACTED",
		"${DB_PASS}", "${A:-b}", "${unfinished", "$(cat", "$(cat)", "{{pw}}", "{{", "<password>", "<your", "$env:PFX_PASSWORD", "$ENV:x",
		"getenv(", "os.getenv(x", "_f(", "a.b.c(d)", "hunt…er", "${PW})", "…",
	} {
		if !Placeholder(v) {
			t.Errorf("%q is taken for a value", v)
		}
	}
	for _, v := range []string{
		"hunter2", "$2b$10$abc", "/etc/secret", "~x", "$envy", "$env:", "$env:a-b", "xy", "*x", "nullable", "${A}x9y8z7", "$(a)bcd", "{{a}}b", "<a>b1c2", "1f(", "a-b(", "(", "trueish", "x.x.x.1",
	} {
		if Placeholder(v) {
			t.Errorf("%q is taken for a placeholder", v)
		}
	}
}

func TestEntropy(t *testing.T) {
	for v, want := range map[string]float64{"": 0, "aaaa": 0, "abab": 1, "abcd": 2, "abcdefgh": 3} {
		if got := Entropy(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("Entropy(%q) = %v, want %v", v, got, want)
		}
	}
}

// One number of every network, with the published test numbers, and what is
// near one.
func TestCards(t *testing.T) {
	for n := range strings.FieldsSeq("4111111111111111 4222222222222 5555555555554444 2223003122003222 378282246310005 341111111111111 6011111111111117 6510000000000034 6445644564456445 3530111333300000 30569309025904 36700102000000 38520000023237 6200000000000005 4000000000000000006 6240008631401148") {
		if !Card(whole(n)) {
			t.Errorf("%s is not taken for a card", n)
		}
	}
	for _, n := range []string{"4111111111111112", "411111111111111", "5655555555554444", "2121000000000000", "1234567812345670", "9999999999999995", "0000000000000000", "351811111111111", "41111111111111111111"} {
		if Card(whole(n)) {
			t.Errorf("%s is taken for a card", n)
		}
	}
	for text, want := range map[string]bool{
		"12 4111 1111 1111 1111":        true,
		"4111 1111 1111 1111 99":        true,
		"1 2 3 4111111111111111":        true,
		"3782 822463 10005":             true,
		"41 1111 1111 1111 11":          false, // first group too short
		"4111 11 11 11 11 11 11":        false, // too many groups
		"4111 1111 1111 1112 1111":      false,
		"4111 1111 4111 1111 1111 1111": true,
	} {
		if got := Card(whole(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if m := (match.Match{Text: "0.4111111111111111", Start: 2, End: 18}); Card(m) {
		t.Error("a fraction is taken for a card")
	}
}

// The finder by hand finds what the expression finds, in every row of short
// groups of digits.
func TestCardFinderEqualsItsExpression(t *testing.T) {
	re := regexp.MustCompile(`\b\d(?:[ -]?\d){12,}\b`)
	parts := []string{"12345678", "1234", "1", "12", " ", "-", "  ", ".", "x", "_", "é", "4111111111111111"}
	for seed := range 40_000 {
		var b strings.Builder
		for n := seed; n > 0; n /= len(parts) {
			b.WriteString(parts[n%len(parts)])
		}
		text := b.String() + fmt.Sprint(seed%1000)
		var got [][]int
		find := CardFinder(text)
		for at := 0; at < len(text); at++ {
			if !isDigit(text[at]) {
				continue
			}
			m, next := find(at)
			if m.End > m.Start {
				got = append(got, []int{m.Start, m.End})
			}
			at = next - 1
		}
		if want := re.FindAllStringIndex(text, -1); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestSSN(t *testing.T) {
	for n, want := range map[string]bool{
		"123-45-6789": true, "001-01-0001": true, "899-99-9999": true, "123456789": true, "123 45 6789": true,
		"000-12-3456": false, "666-12-3456": false, "900-12-3456": false, "999-99-9999": false, "123-00-4567": false, "123-45-0000": false, "12-345-678": false,
	} {
		if got := SSN(whole(n)); got != want {
			t.Errorf("%s: %v, want %v", n, got, want)
		}
	}
}

// A private key block by hand is what the expression takes.
func TestKeyBlockEqualsItsExpression(t *testing.T) {
	const kind = `(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----`
	re := regexp.MustCompile(`-----BEGIN ` + kind + `(?:[\s\S]*?-----END ` + kind + `|[A-Za-z0-9+/=\s\\:,.-]*)`)
	begin, end := "-----BEGIN "+"PRIVATE KEY-----", "-----END "+"PRIVATE KEY-----"
	parts := []string{begin, end, "abc\n", `"`, "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END X Y PRIVATE KEY BLOCK-----", "-----END PUBLIC KEY-----", "_", "é"}
	k := &KeyBlock{}
	for seed := range 30_000 {
		var b strings.Builder
		for n := seed; n > 0; n /= len(parts) {
			b.WriteString(parts[n%len(parts)])
		}
		text := b.String()
		var got [][]int
		find := k.Finder(text)
		for at := 0; ; {
			i := strings.Index(text[at:], "-----BEGIN ")
			if i < 0 {
				break
			}
			m, next := find(at + i)
			if m.End > m.Start {
				got = append(got, []int{m.Start, m.End})
			}
			at = max(next, at+i+1)
		}
		if want := re.FindAllStringIndex(text, -1); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
	}
}
