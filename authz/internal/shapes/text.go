package shapes

import (
	"regexp"
	"strings"
	"sync"

	"github.com/steerable-go/sidecar/authz/internal/match"
)

// Email tells a mailbox from the user of a Git remote, "git@host:path".
func Email(m match.Match) bool {
	local, _, _ := strings.Cut(m.Text[m.Start:m.End], "@")
	after := m.Text[m.End:]
	return local != "git" || after == "" || after[0] != ':' && after[0] != '/'
}

// LikelyEmail reports whether the at sign at text[at] has something that can
// be a local part before it and a label after it.
func LikelyEmail(text string, at, _ int) bool {
	return at > 0 && at+1 < len(text) && mailByte(text[at-1]) && (isWord(text[at+1]) || text[at+1] == '-')
}

func mailByte(c byte) bool { return isDigit(c) || isLetter(c) || strings.IndexByte("._%+-", c) >= 0 }

// AroundEmail is the run of characters of which addresses consist.
func AroundEmail(text string, at int) (lo, hi int) {
	return run(text, at, func(c byte) bool { return c == '@' || mailByte(c) })
}

// AroundRecipient is where "to <name@host" can stand around an at sign: the run
// without blanks on both sides, and before it what separates it from a "bcc".
func AroundRecipient(text string, at int) (lo, hi int) {
	inside := func(c byte) bool { return !space(c) && strings.IndexByte("@<>", c) < 0 }
	lo, hi = at, at+1
	for lo > 0 && inside(text[lo-1]) {
		lo--
	}
	for hi < len(text) && inside(text[hi]) {
		hi++
	}
	const longest = len("bcc") + 3 + len(":") + 3 + len("<")
	return max(0, lo-longest), hi
}

// space reports whether \s matches c.
func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

// AroundURL is the run of characters that no URL is left by.
func AroundURL(text string, at int) (lo, hi int) {
	return run(text, at, func(c byte) bool { return !space(c) && strings.IndexByte(`"'<>`, c) < 0 })
}

// LikelyLogin reports whether what follows the "://" that ends at end has a
// user, a password and an at sign.
func LikelyLogin(text string, _, end int) bool {
	colon := false
	for i := end; i < len(text); i++ {
		switch text[i] {
		case '@':
			return colon
		case ':':
			colon = true
		case '/', '"', '\'', '<', '>', ' ', '\t', '\n', '\r', '\f':
			return false
		}
	}
	return false
}

// LikelyValue returns a test for what an assignment to a keyword looks like: a
// quotation mark or blanks, an operator, again blanks or a quotation mark, and
// at least least bytes of the value.
func LikelyValue(least int, value func(c byte) bool) func(text string, at, end int) bool {
	return func(text string, _, end int) bool {
		const before, after = `"' ` + "\t\r\n\f", `=>"' ` + "\t\r\n\f"
		i := skip(text, end, before, 5)
		if i >= len(text) || text[i] != ':' && text[i] != '=' {
			return false
		}
		// The second byte of ":=" and "=>", four blanks and a quotation mark
		// may come before the value, and some of them may belong to it.
		for start := i + 1; start <= skip(text, i+1, after, 6); start++ {
			if run := text[start:min(start+least, len(text))]; len(run) == least && all(run, value) {
				return true
			}
		}
		return false
	}
}

// skip returns where text goes on after at most so many of the characters.
func skip(text string, at int, chars string, most int) int {
	for n := 0; n < most && at < len(text) && strings.IndexByte(chars, text[at]) >= 0; n++ {
		at++
	}
	return at
}

// all reports whether every byte is a member.
func all(s string, member func(c byte) bool) bool {
	for i := range len(s) {
		if !member(s[i]) {
			return false
		}
	}
	return true
}

// TokenByte reports whether c may stand in the value of a generic secret.
func TokenByte(c byte) bool {
	return isDigit(c) || isLetter(c) || strings.IndexByte("_./+=~-", c) >= 0
}

// AWSByte reports whether c may stand in an AWS secret key.
func AWSByte(c byte) bool { return isDigit(c) || isLetter(c) || c == '/' || c == '+' }

// PasswordByte reports whether c may stand in a password; bytes beyond ASCII
// may, the expression decides.
func PasswordByte(c byte) bool { return !space(c) && strings.IndexByte(`"',;`, c) < 0 }

// JWTFinder finds `\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`
// at a word boundary. If that fails, it fails from every other place in the first
// part too, which saves reading on again from each "eyJ" inside.
func JWTFinder(text string) match.Finder {
	part := func(at int) int {
		for at < len(text) && (isWord(text[at]) || text[at] == '-') {
			at++
		}
		return at
	}
	const prefix, least = "eyJ", len("eyJ") + 8
	return func(at int) (match.Match, int) {
		first := part(at)
		if !strings.HasPrefix(text[min(first+1, len(text)):], prefix) || text[first] != '.' {
			return match.Match{}, first
		}
		second := part(first + 1)
		if first-at < least || second-first-1 < least || second >= len(text) || text[second] != '.' {
			return match.Match{}, first
		}
		end := part(second + 1)
		return match.Match{Text: text, Start: at, End: end, From: at, To: end}, end
	}
}

// KeyBlock makes finders for private keys in PEM form: from the BEGIN line to
// the nearest END line, or, where the block is cut off, as far as it goes on.
// The zero value is ready and safe for concurrent use.
type KeyBlock struct {
	once       sync.Once
	begin, end *regexp.Regexp
}

// Finder returns a finder. It remembers the END line it has seen, because a
// text full of BEGIN lines would otherwise be searched to its end from each.
func (k *KeyBlock) Finder(text string) match.Finder {
	k.once.Do(func() {
		const kind = `(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----`
		k.begin = regexp.MustCompile(`\A-----BEGIN ` + kind)
		k.end = regexp.MustCompile(`-----END ` + kind)
	})
	last := []int{0, 0} // the END line that was found last, nil if there are no more
	return func(at int) (match.Match, int) {
		head := k.begin.FindReaderIndex(strings.NewReader(text[at:]))
		if head == nil {
			return match.Match{}, at
		}
		body := at + head[1]
		if last != nil && last[0] < body {
			if last = k.end.FindStringIndex(text[body:]); last != nil {
				last[0], last[1] = last[0]+body, last[1]+body
			}
		}
		end := body
		if last != nil {
			end = last[1]
		} else {
			for end < len(text) && keyByte(text[end]) {
				end++
			}
		}
		return match.Match{Text: text, Start: at, End: end, From: at, To: end}, end
	}
}

// keyByte reports whether c may stand in what is left of a key block, also
// when it is written with escapes.
func keyByte(c byte) bool {
	return isDigit(c) || isLetter(c) || space(c) || strings.IndexByte(`+/=\:,.-`, c) >= 0
}

// LikelyAWSSecret reports whether "key" follows the word text[at:end] closely,
// and an assignment of forty bytes follows that.
func LikelyAWSSecret(text string, at, end int) bool {
	const gap = 24 // bytes that may stand between the words
	between := func(c byte) bool { return isDigit(c) || isLetter(c) || strings.IndexByte("_. -", c) >= 0 }
	assigned := LikelyValue(40, AWSByte)
	for i := end; i <= end+gap && i+3 <= len(text); i++ {
		if strings.EqualFold(text[i:i+3], "key") && assigned(text, at, i+3) {
			return true
		}
		if !between(text[i]) {
			return false
		}
	}
	return false
}
