package schemas

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"
)

// checkText is text with a rule.
func (s *scanner) checkText(n *node, i int) int {
	if n.kinds&kindString == 0 {
		return s.reject(n.keyword, n.expected)
	}
	end, plain := s.text(i)
	if end < 0 || n.text == nil {
		return end
	}
	r, content := n.text, s.raw[i+1:end-1]
	count := len(content)
	if r.counts(count) {
		count = -1
	}
	if !plain && (count < 0 || r.values != nil || r.pattern != nil) {
		content = decode(s.raw[i:end])
	}
	if r.values != nil && !slices.ContainsFunc(r.values, func(v string) bool { return v == string(content) }) {
		return s.reject(r.keyword, n.expected)
	}
	if keyword, message := r.length(count, content); keyword != "" {
		return s.reject(keyword, message)
	}
	if r.pattern != nil && !r.pattern.Match(content) {
		return s.reject("pattern", "must match "+r.pattern.String())
	}
	return end
}

// counts reports whether the characters of a text of that many bytes must be
// counted. An escape is longer than the character it stands for, so the bytes
// are an upper limit and mostly decide already.
func (r *textRule) counts(bytes int) bool {
	return r.max >= 0 && bytes > r.max || r.min > 1
}

// length returns the keyword that a text does not satisfy, if there is one, and
// its demand. count is the number of characters, or -1 to have them counted.
func (r *textRule) length(count int, content []byte) (keyword, message string) {
	if count < 0 {
		count = utf8.RuneCount(content)
	}
	if count < r.min {
		return "minLength", "must have at least " + strconv.Itoa(r.min) + " characters"
	}
	if r.max >= 0 && count > r.max {
		return "maxLength", "must not have more than " + strconv.Itoa(r.max) + " characters"
	}
	return "", ""
}

// checkNumber is number with a rule.
func (s *scanner) checkNumber(n *node, i int) int {
	end, plain := s.number(i)
	if end < 0 {
		return end
	}
	if n.kinds&kindNumber == 0 {
		return s.reject(n.keyword, n.expected)
	}
	if n.kinds&kindNumber == kindNumber && n.number == nil || plain && n.number == nil {
		return end
	}
	text := s.raw[i:end]
	if plain && len(text) <= 18 { // below 2^63
		v := plainInt(text)
		for k := range n.number {
			if b := &n.number[k]; b.violated(cmp.Compare(v, b.limit)) {
				return s.reject(b.keyword, b.String())
			}
		}
		return end
	}
	return s.checkRational(n, string(text), end)
}

// checkRational is the rare part of checkNumber, with exact arithmetic.
func (s *scanner) checkRational(n *node, text string, end int) int {
	v := rational(text)
	if n.kinds&kindFraction == 0 && !v.IsInt() {
		return s.reject(n.keyword, n.expected)
	}
	for k := range n.number {
		b := &n.number[k]
		if b.violated(v.Cmp(new(big.Rat).SetInt64(b.limit))) {
			return s.reject(b.keyword, b.String())
		}
	}
	return end
}

// violated says whether a number that compares with the limit like order, which
// is negative, zero or positive, is out of bounds.
func (b *bound) violated(order int) bool {
	if order == 0 {
		return b.exclusive
	}
	return order > 0 == b.upper
}

// String words the demand.
func (b *bound) String() string {
	relation := "at least "
	switch {
	case b.upper && b.exclusive:
		relation = "less than "
	case b.upper:
		relation = "at most "
	case b.exclusive:
		relation = "greater than "
	}
	return "must be " + relation + strconv.FormatInt(b.limit, 10)
}

// plainInt returns the value of at most 18 characters of digits with or without
// a minus sign.
func plainInt(text []byte) int64 {
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	var v int64
	for _, c := range text {
		v = v*10 + int64(c-'0')
	}
	if negative {
		return -v
	}
	return v
}
