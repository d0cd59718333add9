package shapes

import (
	"strconv"
	"strings"

	"github.com/steerable-go/sidecar/authz/internal/match"
)

// SSN reports whether a number of the form of a US social security number can
// have been issued: area not 000, 666 or 9xx, group not 00, serial not 0000
// (Social Security Administration, POMS RM 10201.035).
func SSN(m match.Match) bool {
	d := digits(m.Value())
	if len(d) != 9 {
		return false
	}
	area, group, serial := d[:3], d[3:5], d[5:]
	return area != "000" && area != "666" && area[0] != '9' && group != "00" && serial != "0000"
}

// digits returns the ASCII digits of v.
func digits(v string) string {
	var out strings.Builder
	for i := range len(v) {
		if isDigit(v[i]) {
			out.WriteByte(v[i])
		}
	}
	return out.String()
}

// How a card number is written: in one group or in up to five, of which the
// first is not short.
const (
	minFirstGroup = 4
	maxGroups     = 5
	minCardLen    = 13
	maxCardLen    = 19
)

// Card reports whether some whole groups of the digits in m are a payment card
// number: prefix and length of an issuer, and the Luhn checksum. Trying every
// window of groups finds a card beside another number, with which the
// expression takes it together. A number after a full stop is the fraction of
// a longer one.
func Card(m match.Match) bool {
	text := m.Text[:m.End]
	for at := m.Start; at < m.End; {
		end := groupEnd(text, at)
		if end-at >= minFirstGroup && (at == 0 || text[at-1] != '.') && cardFrom(text, at) {
			return true
		}
		for at = end; at < m.End && !isDigit(text[at]); at++ {
			continue
		}
	}
	return false
}

// cardFrom reports whether a card number consists of the groups from at on.
func cardFrom(text string, at int) bool {
	var number []byte
	for range maxGroups {
		end := groupEnd(text, at)
		if number = append(number, text[at:end]...); len(number) > maxCardLen {
			return false
		}
		if len(number) >= minCardLen && issued(number) && luhn(number) {
			return true
		}
		for at = end; at < len(text) && !isDigit(text[at]); at++ {
			continue
		}
	}
	return false
}

func groupEnd(text string, at int) int {
	for at < len(text) && isDigit(text[at]) {
		at++
	}
	return at
}

// issued reports whether a network issues numbers with this prefix and length
// (ISO/IEC 7812 ranges as the networks publish them).
func issued(n []byte) bool {
	prefix := func(digits int) int {
		v := 0
		for _, d := range n[:digits] {
			v = 10*v + int(d-'0')
		}
		return v
	}
	for _, r := range []struct {
		digits, from, to int // of the prefix
		lengths          string
	}{
		{1, 4, 4, "13 16 19"},                    // Visa
		{2, 51, 55, "16"}, {4, 2221, 2720, "16"}, // Mastercard
		{2, 34, 34, "15"}, {2, 37, 37, "15"}, // American Express
		{4, 6011, 6011, from16}, {3, 644, 649, from16}, {2, 65, 65, from16}, // Discover
		{4, 3528, 3589, from16},                                                                // JCB
		{3, 300, 305, from14}, {3, 309, 309, from14}, {2, 36, 36, from14}, {2, 38, 39, from14}, // Diners Club
		{2, 62, 62, from16}, // UnionPay
	} {
		p := prefix(r.digits)
		if r.from <= p && p <= r.to && strings.Contains(r.lengths, strconv.Itoa(len(n))) {
			return true
		}
	}
	return false
}

// Lengths of card numbers, at most nineteen digits.
const (
	from14 = "14 15 16 17 18 19"
	from16 = "16 17 18 19"
)

// luhn checks the checksum of ISO/IEC 7812-1, annex B.
func luhn(n []byte) bool {
	sum := 0
	for i := range len(n) {
		d := int(n[len(n)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// CardFinder finds, around a group of digits, what `\b\d(?:[ -]?\d){12,}\b`
// matches: from the first to the last group of a row of groups that are one
// blank or hyphen apart, without groups that are part of a word.
func CardFinder(text string) match.Finder {
	return func(at int) (match.Match, int) {
		lo, hi := row(text, at)
		m := match.Match{Text: text, Start: lo, End: hi}
		if lo > 0 && isWord(text[lo-1]) {
			m.Start = nextGroup(text, lo, hi)
		}
		if hi < len(text) && isWord(text[hi]) {
			m.End = lastGroup(text, m.Start, hi)
		}
		if m.Start >= m.End || len(digits(text[m.Start:m.End])) < minCardLen {
			return match.Match{}, hi
		}
		m.From, m.To = m.Start, m.End
		return m, hi
	}
}

// row returns the row of groups around the digit at at.
func row(text string, at int) (lo, hi int) {
	digitAt := func(i int) bool { return i >= 0 && i < len(text) && isDigit(text[i]) }
	lo, hi = at, at
	for digitAt(lo-1) || digitAt(lo-2) && separator(text[lo-1]) {
		lo--
	}
	for digitAt(hi) || digitAt(hi+1) && separator(text[hi]) {
		hi++
	}
	return lo, hi
}

func separator(c byte) bool { return c == ' ' || c == '-' }

// nextGroup returns where the second group of text[lo:hi] begins.
func nextGroup(text string, lo, hi int) int {
	for lo < hi && isDigit(text[lo]) {
		lo++
	}
	return min(lo+1, hi)
}

// lastGroup returns where the group before the last one of text[lo:hi] ends.
func lastGroup(text string, lo, hi int) int {
	for hi > lo && isDigit(text[hi-1]) {
		hi--
	}
	return max(hi-1, lo)
}

// LikelyCard reports whether a card number can begin with the group of digits
// text[at:end]. The first group of an accepted window is one of these.
func LikelyCard(text string, at, end int) bool {
	if end-at < minFirstGroup {
		return false
	}
	n := end - at
	for g := 1; n < minCardLen && g < maxGroups; g++ {
		if end+1 >= len(text) || !separator(text[end]) || !isDigit(text[end+1]) {
			return false
		}
		for end++; end < len(text) && isDigit(text[end]); end++ {
			n++
		}
	}
	return n >= minCardLen
}

// LikelySSN reports whether text[at:end] is the first group of ddd-dd-dddd.
func LikelySSN(text string, at, end int) bool {
	return end-at == 3 && end+7 <= len(text) && text[end] == '-' && text[end+3] == '-' && isDigit(text[end+6])
}

// LikelyPhone reports whether text[at:end] is the middle of a US telephone
// number: three digits, a separator, and exactly four more.
func LikelyPhone(text string, at, end int) bool {
	return end-at == 3 && at > 0 && end+5 <= len(text) && strings.IndexByte(" .-", text[end]) >= 0 &&
		isDigit(text[end+1]) && isDigit(text[end+4]) && (end+5 == len(text) || !isWord(text[end+5]))
}

// AroundPhone is the run of characters of which telephone numbers consist.
func AroundPhone(text string, at int) (lo, hi int) {
	return run(text, at, func(c byte) bool { return isDigit(c) || strings.IndexByte("+() .-", c) >= 0 })
}

// LikelyIPv4 reports whether the full stop at text[at] can belong to a dotted
// quad.
func LikelyIPv4(text string, at, _ int) bool {
	return at > 0 && at+1 < len(text) && isDigit(text[at-1]) && isDigit(text[at+1])
}

// AroundIPv4 is the run of digits and full stops.
func AroundIPv4(text string, at int) (lo, hi int) {
	return run(text, at, func(c byte) bool { return isDigit(c) || c == '.' })
}

// IPv4 tells an address from a version number: it does not follow "v" or
// "version", and no longer dotted number continues it on either side.
func IPv4(m match.Match) bool {
	before, after := m.Text[:m.Start], m.Text[m.End:]
	if len(after) > 1 && after[0] == '.' && isDigit(after[1]) {
		return false
	}
	if n := len(before); n > 1 && before[n-1] == '.' && isDigit(before[n-2]) {
		return false
	}
	before = strings.TrimRight(before[max(0, len(before)-12):], " \t:=\"'")
	return !afterWord(before, "v") && !afterWord(before, "version")
}

// afterWord reports whether s ends with the word, in any case.
func afterWord(s, word string) bool {
	i := len(s) - len(word)
	return i >= 0 && strings.EqualFold(s[i:], word) && (i == 0 || !isLetter(s[i-1]))
}

// LikelyLooseCard reports whether enough digits for a card follow text[at:end]
// or stand before it, whatever is between them.
func LikelyLooseCard(text string, at, end int) bool {
	return end-at >= minFirstGroup && end+minCardLen-minFirstGroup <= len(text) || end-at >= minCardLen
}

// AroundLooseCard is the run of digits and of everything that
// payment_card_loose lets stand between digits.
func AroundLooseCard(text string, at int) (lo, hi int) {
	return run(text, at, func(c byte) bool {
		// Bytes beyond ASCII cover the wider blanks, and more; the expression
		// decides.
		return isDigit(c) || c >= 0x80 || strings.IndexByte(" ._/-", c) >= 0
	})
}

// run returns the longest part of text around at that consists of members.
func run(text string, at int, member func(c byte) bool) (lo, hi int) {
	lo, hi = at, at
	for lo > 0 && member(text[lo-1]) {
		lo--
	}
	for hi < len(text) && member(text[hi]) {
		hi++
	}
	return lo, hi
}
