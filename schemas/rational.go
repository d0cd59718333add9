package schemas

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Limits of exact arithmetic. Within them a number takes microseconds; without
// them one line such as 1e999999999 could occupy the process for minutes.
const (
	maxDigits   = 128 // characters of a number
	maxExponent = 400
)

// rational returns the value of a JSON number. A number outside of the limits
// above is replaced by a float64 near it that is neither infinite nor, unless
// the number is, zero: it keeps its sign, its being a fraction if it is tiny, and
// its place beyond every bound that a schema can reasonably set.
func rational(text string) *big.Rat {
	if v, ok := new(big.Rat).SetString(bounded(text)); ok {
		return v
	}
	panic("bug: the scanner accepted a number that math/big refuses")
}

// bounded returns text unless it is outside of the limits.
func bounded(text string) string {
	if len(text) <= maxDigits {
		k := strings.IndexAny(text, "eE")
		if k < 0 {
			return text
		}
		if exponent, err := strconv.Atoi(text[k+1:]); err == nil && -maxExponent <= exponent && exponent <= maxExponent {
			return text
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil { // out of range: v is infinite
		v = math.Copysign(math.MaxFloat64, v)
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	if v == 0 && strings.ContainsAny(mantissa, "123456789") {
		v = math.Copysign(math.SmallestNonzeroFloat64, v)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
