package executors

import (
	"cmp"
	"slices"
)

const (
	maxSuggestions = 3
	minSimilarity  = 0.4 // Python difflib's ratio, as the reference asks for
)

// closest returns up to three of names that resemble name, best first.
func closest(name string, names []string) []string {
	type match struct {
		name  string
		ratio float64
	}
	var found []match
	for _, n := range names {
		if r := similarity(name, n); r >= minSimilarity {
			found = append(found, match{n, r})
		}
	}
	slices.SortStableFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.ratio, a.ratio), cmp.Compare(b.name, a.name))
	})
	out := make([]string, 0, maxSuggestions)
	for _, m := range found[:min(len(found), maxSuggestions)] {
		out = append(out, m.name)
	}
	return out
}

// similarity is 2·M/T, where T counts the bytes of both and M those in matching
// blocks: the longest common run, and the same to its left and right
// (Ratcliff and Obershelp). Names are cut at 64 bytes to bound the work.
func similarity(a, b string) float64 {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	if len(a)+len(b) == 0 {
		return 1
	}
	return 2 * float64(matching(a, b)) / float64(len(a)+len(b))
}

func matching(a, b string) int {
	i, j, n := longestCommon(a, b)
	if n == 0 {
		return 0
	}
	return matching(a[:i], b[:j]) + n + matching(a[i+n:], b[j+n:])
}

// longestCommon finds the earliest longest run that a and b share.
func longestCommon(a, b string) (i, j, n int) {
	lengths := make([]int, len(b)+1)
	for x := range len(a) {
		for y := len(b) - 1; y >= 0; y-- {
			if a[x] != b[y] {
				lengths[y+1] = 0
				continue
			}
			lengths[y+1] = lengths[y] + 1
			if lengths[y+1] > n {
				n = lengths[y+1]
				i, j = x-n+1, y-n+1
			}
		}
	}
	return i, j, n
}
