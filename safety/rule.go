package safety

import (
	"iter"
	"math/bits"
	"regexp"
	"regexp/syntax"
	"sync"
)

// rule is a pattern with what is derived from it. It is shared between
// classifiers and never changes after construction, except that its expression
// compiles on first use: compiling all of them costs about a millisecond, which
// a process that never classifies should not pay.
type rule struct {
	Pattern
	// builtin rules of the default set are tried against canonical lines,
	// all others against the raw line.
	builtin bool
	expr    func() *regexp.Regexp
	// literals are sets of alternatives, the strongest first; one of each set
	// must occur. There are none if nothing is known.
	literals func() [][]literal
}

// newRule prepares p, which must be valid.
func newRule(p Pattern, builtin bool) *rule {
	return &rule{
		Pattern: p, builtin: builtin,
		expr: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(p.expression()) }),
		literals: sync.OnceValue(func() [][]literal {
			re, err := syntax.Parse(p.expression(), syntax.Perl)
			if err != nil {
				return nil
			}
			return requiredSets(re)
		}),
	}
}

// rawIndex finds the rules that match a raw line.
type rawIndex struct {
	rules []*rule
	// count is how many of them are searched in raw lines.
	count int
	// always lists the rules without required literals. For the others, scan
	// finds the strongest set, and more, by rule, are the weaker ones.
	always []int32
	scan   *scanner
	more   [][][]literal
}

// newRawIndex indexes the raw rules of a list by position in that list.
func newRawIndex(rules []*rule) *rawIndex {
	x := &rawIndex{rules: rules, more: make([][][]literal, len(rules))}
	literals := make([][]literal, len(rules))
	for i, r := range rules {
		if r.builtin {
			continue
		}
		x.count++
		sets := r.literals()
		if len(sets) == 0 {
			x.always = append(x.always, offset32(i))
			continue
		}
		literals[i], x.more[i] = sets[0], sets[1:]
	}
	x.scan = newScanner(literals)
	return x
}

// match calls hit with the position and span of every rule found in line.
// Spans are computed only when spans is set.
func (x *rawIndex) match(line string, platform Platform, spans bool, hit func(i, start, end int)) {
	var seen bitset
	try := func(i int32) {
		if seen.has(int(i)) {
			return
		}
		seen.add(int(i))
		r := x.rules[i]
		if !r.Platform.covers(platform) || !containsAll(line, x.more[i]) {
			return
		}
		if !spans {
			if r.expr().MatchString(line) {
				hit(int(i), 0, 0)
			}
			return
		}
		if at := r.expr().FindStringIndex(line); at != nil {
			hit(int(i), at[0], at[1])
		}
	}
	for _, i := range x.always {
		try(i)
	}
	folded := foldText(line)
	x.scan.find(folded, len(folded) != len(line), try)
}

// bitset is a set of small numbers whose first 256 need no allocation.
type bitset struct {
	low  [4]uint64
	high map[int]struct{}
}

// has reports whether i is in the set.
func (b *bitset) has(i int) bool {
	if i < len(b.low)*64 {
		return b.low[i/64]&(1<<(i%64)) != 0
	}
	_, ok := b.high[i]
	return ok
}

// size counts the members.
func (b *bitset) size() int {
	n := len(b.high)
	for _, w := range b.low {
		n += bits.OnesCount64(w)
	}
	return n
}

// members yields the members below n in order.
func (b *bitset) members(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < n; i++ {
			if i < len(b.low)*64 && b.low[i/64]>>(i%64) == 0 {
				i |= 63 // no more in this word
				continue
			}
			if b.has(i) && !yield(i) {
				return
			}
		}
	}
}

// add puts i into the set.
func (b *bitset) add(i int) {
	if i < len(b.low)*64 {
		b.low[i/64] |= 1 << (i % 64)
		return
	}
	if b.high == nil {
		b.high = map[int]struct{}{}
	}
	b.high[i] = struct{}{}
}
