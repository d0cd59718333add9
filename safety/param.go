package safety

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxTrim bounds the values to which pattern removal and replacement are
// applied; they take quadratic time.
const maxTrim = 512

// param expands a parameter. The result has one element, or one per field for
// arrays and positional parameters; none if the parameter is known to be empty.
func (a *analysis) param(p *syntax.ParamExp, f frame, sc *scope) []word {
	name := paramName(p)
	v, known := a.paramValue(p, name, sc)
	switch {
	case p.Length || p.Width || p.IsSet || p.Names != 0 || name == "":
		return []word{{text: "$" + name, dyn: true}}
	case p.Excl:
		if v, known = sc.lookup(v.text()); !known {
			return []word{{text: "$" + name, dyn: true}}
		}
	case p.Exp != nil:
		return a.paramExpansion(p, v, known, f, sc)
	}
	if !known {
		return []word{{text: "$" + name, dyn: true}}
	}
	a.spend(v, f)
	switch {
	case p.Slice != nil:
		return sliceParam(p, v)
	case p.Repl != nil:
		return a.replaceParam(p, v, f, sc)
	}
	return v.fields
}

// delimited keeps the braces of an unresolved parameter, the first of parts, if
// what follows would otherwise read as more of its name, as in ${X}gcc.
func delimited(ws []word, parts []syntax.WordPart) []word {
	if len(parts) < 2 || len(ws) != 1 || !ws[0].dyn {
		return ws
	}
	p, isParam := parts[0].(*syntax.ParamExp)
	next, isText := parts[1].(*syntax.Lit)
	if !isParam || !isText || ws[0].text != "$"+paramName(p) || !syntax.ValidName(paramName(p)+next.Value[:min(1, len(next.Value))]) || next.Value == "" {
		return ws
	}
	braced := ws[0]
	braced.text = "${" + paramName(p) + "}"
	return []word{braced}
}

// spend counts what an expansion produces: doubling a variable a few times
// would otherwise make work without bound.
func (a *analysis) spend(v value, f frame) {
	for _, w := range v.fields {
		a.expanded += len(w.text)
	}
	if a.expanded > a.budget() && !a.stopped {
		a.giveUp(f)
	}
}

// paramName is the name of the parameter, empty for forms of other shells.
func paramName(p *syntax.ParamExp) string {
	if p.Param == nil {
		return ""
	}
	return p.Param.Value
}

// paramValue looks a parameter up, array element included.
func (a *analysis) paramValue(p *syntax.ParamExp, name string, sc *scope) (value, bool) {
	v, ok := sc.lookup(name)
	if !ok || p.Index == nil {
		return v, ok
	}
	i, literal := literalNumber(p.Index)
	if !literal { // [@], [*], or an expression: all of it is the safe reading
		return v, ok
	}
	if i < 0 {
		i += len(v.fields)
	}
	if i < 0 || i >= len(v.fields) {
		return value{}, true
	}
	return value{fields: v.fields[i : i+1]}, true
}

// paramExpansion handles the operators of ${x…}.
func (a *analysis) paramExpansion(p *syntax.ParamExp, v value, known bool, f frame, sc *scope) []word {
	name := paramName(p)
	arg := a.joined(p.Exp.Word, f, sc)
	switch op := p.Exp.Op; {
	case op == syntax.AlternateUnset, op == syntax.AlternateUnsetOrNull:
		// Whether the variable is set is not known; the text may appear.
		return []word{arg}
	case isDefaultOp(op) && (!known || v.text() == ""):
		if op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull {
			sc.set(name, value{fields: []word{arg}})
		}
		return []word{arg}
	case !known:
		return []word{{text: "$" + name, dyn: true}}
	case op == syntax.OtherParamOps:
		if arg.text == "E" {
			return mapFields(v, func(s string) string { return decodeEscapes(s, escapesANSI) })
		}
	default:
		return mapFields(v, func(s string) string { return changeParam(s, arg.text, op) })
	}
	return v.fields
}

// isDefaultOp recognises the operators that give a value to an unset variable.
func isDefaultOp(op syntax.ParExpOperator) bool {
	return op == syntax.DefaultUnset || op == syntax.DefaultUnsetOrNull || op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull
}

// changeParam applies the operators that trim a value or change its case. Others
// leave it as it is.
func changeParam(s, arg string, op syntax.ParExpOperator) string {
	switch {
	case s == "":
		return s
	case op == syntax.UpperAll:
		return strings.ToUpper(s)
	case op == syntax.LowerAll:
		return strings.ToLower(s)
	case op == syntax.UpperFirst:
		return strings.ToUpper(s[:1]) + s[1:]
	case op == syntax.LowerFirst:
		return strings.ToLower(s[:1]) + s[1:]
	case op == syntax.RemSmallPrefix, op == syntax.RemLargePrefix, op == syntax.RemSmallSuffix, op == syntax.RemLargeSuffix:
		return trimParam(s, arg, op)
	}
	return s
}

// mapFields changes the text of every field.
func mapFields(v value, change func(string) string) []word {
	out := make([]word, len(v.fields))
	for i, w := range v.fields {
		w.text = change(w.text)
		out[i] = w
	}
	return out
}

// trimParam removes a prefix or suffix that matches a pattern.
func trimParam(s, pattern string, op syntax.ParExpOperator) string {
	if len(s) > maxTrim {
		return s
	}
	for i := 0; i <= len(s); i++ {
		n := i // bytes removed, growing
		if op == syntax.RemLargePrefix || op == syntax.RemLargeSuffix {
			n = len(s) - i
		}
		if op == syntax.RemSmallPrefix || op == syntax.RemLargePrefix {
			if globMatch(pattern, s[:n]) {
				return s[n:]
			}
		} else if globMatch(pattern, s[len(s)-n:]) {
			return s[:len(s)-n]
		}
	}
	return s
}

// sliceParam handles ${x:offset:length} with literal numbers.
func sliceParam(p *syntax.ParamExp, v value) []word {
	s := v.text()
	offset, okOffset := literalNumber(p.Slice.Offset)
	length, okLength := literalNumber(p.Slice.Length)
	if expansionIndex(p) != "" || !okOffset {
		return v.fields
	}
	if offset < 0 {
		offset += len(s)
	}
	offset = min(max(offset, 0), len(s))
	end := len(s)
	if okLength {
		if length < 0 {
			end += length
		} else {
			end = offset + length
		}
	}
	return []word{{text: s[offset:min(max(end, offset), len(s))]}}
}

// literalNumber reads a number from an arithmetic expression.
func literalNumber(x syntax.ArithmExpr) (int, bool) {
	switch x := x.(type) {
	case *syntax.Word:
		n, err := strconv.Atoi(x.Lit())
		return n, err == nil
	case *syntax.UnaryArithm:
		n, ok := literalNumber(x.X)
		if x.Op == syntax.Minus {
			n = -n
		}
		return n, ok
	case *syntax.ParenArithm:
		return literalNumber(x.X)
	default:
		return 0, false
	}
}

// replaceParam handles ${x/pattern/text}. Patterns with wildcards other than
// one that matches everything are left alone.
func (a *analysis) replaceParam(p *syntax.ParamExp, v value, f frame, sc *scope) []word {
	orig, with := a.joined(p.Repl.Orig, f, sc), a.joined(p.Repl.With, f, sc)
	n := 1
	if p.Repl.All {
		n = -1
	}
	return mapFields(v, func(s string) string {
		switch {
		case orig.text == "*":
			return with.text
		case orig.text == "" || len(s) > maxTrim:
			return s
		case strings.HasPrefix(orig.text, "#"):
			if rest, ok := strings.CutPrefix(s, orig.text[1:]); ok {
				return with.text + rest
			}
		case strings.HasPrefix(orig.text, "%"):
			if rest, ok := strings.CutSuffix(s, orig.text[1:]); ok {
				return rest + with.text
			}
		case len(with.text) <= maxTrim:
			return strings.Replace(s, orig.text, with.text, n)
		}
		return s
	})
}

// globMatch matches s against a shell pattern. It backtracks only to the last
// star, so it takes at most len(pattern)*len(s) steps.
func globMatch(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, i
			p++
			continue
		}
		if n := globOne(pattern[min(p, len(pattern)):], s[i]); n > 0 {
			p, i = p+n, i+1
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		p, i = star+1, mark
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// globOne matches one character and returns the bytes of the pattern it took,
// or 0.
func globOne(pattern string, c byte) int {
	if pattern == "" {
		return 0
	}
	if pattern[0] == '?' {
		return 1
	}
	if end := strings.IndexByte(pattern, ']'); pattern[0] == '[' && end > 1 {
		if globClass(pattern[1:end], c) {
			return end + 1
		}
		return 0
	}
	if pattern[0] == c {
		return 1
	}
	return 0
}

// globClass reports whether c is in a bracket expression.
func globClass(class string, c byte) bool {
	rest, negated := strings.CutPrefix(class, "!")
	if !negated {
		rest, negated = strings.CutPrefix(class, "^")
	}
	in := false
	for i := 0; i < len(rest); i++ {
		if i+2 < len(rest) && rest[i+1] == '-' {
			in = in || rest[i] <= c && c <= rest[i+2]
			i += 2
			continue
		}
		in = in || rest[i] == c
	}
	return in != negated
}
