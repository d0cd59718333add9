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

// arithmeticNames walks the substitutions in the values of the variables of an
// expression, which are expressions, too.
func (a *analysis) arithmeticNames(x syntax.ArithmExpr, f frame, sc *scope) {
	if len(sc.vars) == 0 || x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		if lit, ok := n.(*syntax.Lit); ok {
			v := sc.vars[lit.Value]
			a.subscript(v.text(), f, sc)
		}
		return !a.stopped
	})
}

// subscript walks the substitutions in the index of an array element named by a
// word: the shell expands it again, whatever quotes were around it.
func (a *analysis) subscript(name string, f frame, sc *scope) {
	if open := strings.IndexByte(name, '['); open > 0 && strings.ContainsAny(name[open:], "`(") {
		a.tryScript(`: "`+strings.ReplaceAll(name[open:], `"`, "")+`"`, f.inner(), sc)
	}
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
