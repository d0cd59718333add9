package safety

import (
	"slices"
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

// braces lists the part sequences that brace expansion makes of a word. A word
// that would expand to more than maxWords is past the work limit.
//
// The parser splits braces in place, after which the word may have no position,
// as for "{,a}"; so it is given a copy.
func (a *analysis) braces(w *syntax.Word, f frame) [][]syntax.WordPart {
	split := &syntax.Word{Parts: w.Parts}
	if !syntax.SplitBraces(split) {
		return [][]syntax.WordPart{w.Parts}
	}
	all, ok := expandBraces(split.Parts)
	if !ok {
		a.giveUp(f)
	}
	return all
}

// expandBraces multiplies the alternatives out; ok is false past the limit.
func expandBraces(parts []syntax.WordPart) (all [][]syntax.WordPart, ok bool) {
	all, ok = [][]syntax.WordPart{nil}, true
	for _, part := range parts {
		brace, isBrace := part.(*syntax.BraceExp)
		if !isBrace {
			for i := range all {
				all[i] = append(slices.Clip(all[i]), part)
			}
			continue
		}
		options, fits := braceOptions(brace)
		ok = ok && fits
		if len(all)*len(options) > maxWords {
			return all, false
		}
		var next [][]syntax.WordPart
		for _, head := range all {
			for _, tail := range options {
				next = append(next, append(slices.Clip(head), tail...))
			}
		}
		all = next
	}
	return all, ok
}

// braceOptions lists the alternatives of one brace expression. Of a sequence
// only the first values and the last are kept: its values are numbers or
// letters, which no rule tells apart.
func braceOptions(brace *syntax.BraceExp) (options [][]syntax.WordPart, ok bool) {
	ok = true
	if brace.Sequence {
		for _, text := range sequence(brace) {
			options = append(options, []syntax.WordPart{&syntax.Lit{Value: text}})
		}
		return options, true
	}
	for _, elem := range brace.Elems {
		sub, fits := expandBraces(elem.Parts)
		ok = ok && fits
		options = append(options, sub...)
		if len(options) > maxWords {
			return options, false
		}
	}
	return options, ok
}

// sequence lists values of {x..y}.
func sequence(brace *syntax.BraceExp) []string {
	from, to := brace.Elems[0].Lit(), brace.Elems[1].Lit()
	const kept = 30
	lo, errLo := strconv.Atoi(from)
	hi, errHi := strconv.Atoi(to)
	numeric := errLo == nil && errHi == nil
	if !numeric {
		if len(from) != 1 || len(to) != 1 {
			return []string{from, to}
		}
		lo, hi = int(from[0]), int(to[0])
	}
	step := 1
	if hi < lo {
		step = -1
	}
	var out []string
	for v := lo; v != hi && len(out) < kept; v += step {
		out = append(out, sequenceValue(v, numeric))
	}
	return append(out, sequenceValue(hi, numeric))
}

// sequenceValue renders one value of a sequence.
func sequenceValue(v int, numeric bool) string {
	if numeric {
		return strconv.Itoa(v)
	}
	return string([]byte{byte(v & 0xff)})
}
