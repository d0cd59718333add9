package safety

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// leftOut walks the substitutions of a script that nothing evaluated: those in
// arithmetic, in indices and slices, and in whatever else the walk passes over.
// A shell runs them wherever they stand.
func (a *analysis) leftOut(file *syntax.File, src string, f frame, sc *scope) {
	if a.stopped || !strings.ContainsAny(src, "`(") {
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if !a.walked[n] {
				a.substitution(n, f.at(int(n.Pos().Offset()), int(n.End().Offset())), sc)
			}
		case *syntax.ProcSubst:
			if !a.walked[n] {
				a.value(n, f.at(int(n.Pos().Offset()), int(n.End().Offset())), sc)
			}
		case *syntax.LetClause:
			a.quotedArithmetic(n, f, sc)
		}
		return !a.stopped
	})
}

// quotedArithmetic walks the substitutions in single quotes behind let: it
// expands an index again when it evaluates the text.
func (a *analysis) quotedArithmetic(c *syntax.LetClause, f frame, sc *scope) {
	syntax.Walk(c, func(n syntax.Node) bool {
		if q, ok := n.(*syntax.SglQuoted); ok && strings.ContainsAny(q.Value, "`(") {
			a.script(`: "`+strings.ReplaceAll(q.Value, `"`, "")+`"`, f.inner(), sc)
		}
		return !a.stopped
	})
}

// walk notes that a substitution is evaluated.
func (a *analysis) walk(n syntax.Node) {
	if !a.noting {
		return
	}
	if a.walked == nil {
		a.walked = map[syntax.Node]bool{}
	}
	a.walked[n] = true
}
