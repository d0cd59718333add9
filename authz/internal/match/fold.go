package match

import (
	"fmt"
	"regexp/syntax"
	"slices"
)

// Letters outside ASCII that Go's simple folding ties to "s" and "k".
const (
	longS  = '\u017f'
	kelvin = '\u212a'
)

// foldASCII rewrites an expression so that (?i) folds within ASCII only.
func foldASCII(expr string) string {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		panic(fmt.Sprintf("bug: pattern %q: %v", expr, err))
	}
	return foldTree(re).String()
}

func foldTree(re *syntax.Regexp) *syntax.Regexp {
	for i, sub := range re.Sub {
		re.Sub[i] = foldTree(sub)
	}
	switch {
	case re.Op == syntax.OpCharClass:
		// Folding adds the two as ranges of their own; a negated class has
		// them inside a wider range, where they belong.
		for i := 0; i+1 < len(re.Rune); {
			if lo, hi := re.Rune[i], re.Rune[i+1]; lo == hi && (lo == longS || lo == kelvin) {
				re.Rune = slices.Delete(re.Rune, i, i+2)
				continue
			}
			i += 2
		}
	case re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase != 0:
		concat := &syntax.Regexp{Op: syntax.OpConcat}
		for _, r := range re.Rune {
			concat.Sub = append(concat.Sub, letter(r))
		}
		return concat
	}
	return re
}

// letter is an expression for r and its other case.
func letter(r rune) *syntax.Regexp {
	lower := r | 0x20
	if lower < 'a' || lower > 'z' {
		return &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{r}}
	}
	upper := lower &^ 0x20
	return &syntax.Regexp{Op: syntax.OpCharClass, Rune: []rune{upper, upper, lower, lower}}
}
