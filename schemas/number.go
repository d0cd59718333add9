package schemas

// number reads the number at i and reports whether it is written as a plain
// integer, without fraction and exponent.
func (s *scanner) number(i int) (end int, plain bool) {
	raw := s.raw
	if i < len(raw) && raw[i] == '-' {
		i++
	}
	start := i
	i = digits(raw, i)
	if i == start || raw[start] == '0' && i > start+1 {
		return s.fail(start, ReasonSyntax), false
	}
	plain = true
	if i < len(raw) && raw[i] == '.' {
		plain = false
		start = i + 1
		if i = digits(raw, start); i == start {
			return s.fail(i, ReasonSyntax), false
		}
	}
	if i < len(raw) && raw[i]|0x20 == 'e' {
		plain = false
		if i++; i < len(raw) && (raw[i] == '+' || raw[i] == '-') {
			i++
		}
		start = i
		if i = digits(raw, start); i == start {
			return s.fail(i, ReasonSyntax), false
		}
	}
	return i, plain
}

// digits returns the index of the first byte at or after i that is no digit.
func digits(raw []byte, i int) int {
	for i < len(raw) && raw[i] >= '0' && raw[i] <= '9' {
		i++
	}
	return i
}
