package safety

import "strings"

// Program text of other languages is read as a stream of names, string literals
// and punctuation. That is enough to see which functions are called with which
// literal arguments, in every language that is commonly given on a command line.

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	tokenName tokenKind = iota
	tokenString
	tokenPunct
)

// token is one token of program text.
type token struct {
	kind tokenKind
	text string
	// tick says that a string stood in backquotes or a command literal.
	tick bool
}

// maxTokens bounds the tokens of one program.
const maxTokens = 16 << 10

// lexCode splits program text. Comments are dropped by their usual markers.
func lexCode(src string) []token {
	l := codeLexer{src: src}
	for l.pos < len(src) && len(l.out) < maxTokens {
		l.next()
	}
	return l.out
}

// codeLexer is the state of lexCode.
type codeLexer struct {
	src string
	pos int
	out []token
}

// next consumes one token or one run of blanks.
func (l *codeLexer) next() {
	c := l.src[l.pos]
	switch {
	case c == ' ' || c == '\t' || c == '\r':
		l.pos++
	case c == '\'' || c == '"' || c == '`':
		l.quoted(c)
	case c == '#' && (l.pos == 0 || strings.IndexByte(" \t\n;", l.src[l.pos-1]) >= 0),
		strings.HasPrefix(l.src[l.pos:], "//") && (l.pos == 0 || l.src[l.pos-1] != ':'):
		l.comment()
	case isNameByte(c):
		l.name()
	default:
		l.emit(tokenPunct, l.src[l.pos:l.pos+1])
		l.pos++
	}
}

// emit appends a token. Strings joined by a concatenation operator are one.
func (l *codeLexer) emit(kind tokenKind, text string) {
	n := len(l.out)
	if kind == tokenString && n >= 2 && l.out[n-2].kind == tokenString && l.out[n-1].kind == tokenPunct && (l.out[n-1].text == "+" || l.out[n-1].text == ".") &&
		len(l.out[n-2].text) < maxValue {
		l.out[n-2].text += text
		l.out = l.out[:n-1]
		return
	}
	l.out = append(l.out, token{kind: kind, text: text})
}

// comment skips to the end of the line.
func (l *codeLexer) comment() {
	end := strings.IndexByte(l.src[l.pos:], '\n')
	if end < 0 {
		l.pos = len(l.src)
		return
	}
	l.pos += end
}

// isNameByte reports whether c belongs to a name. Dots and colons do: os.system
// and File::Path are one name each.
func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == ':' || c == '$' || c == '-' || c >= 0x80
}

// name consumes a name, or a quoting operator such as qx{…} and %x(…).
func (l *codeLexer) name() {
	start := l.pos
	for l.pos < len(l.src) && isNameByte(l.src[l.pos]) {
		l.pos++
	}
	text := l.src[start:l.pos]
	if l.pos < len(l.src) {
		literal, tick := quotingOperator(text, start > 0 && l.src[start-1] == '%', l.src[l.pos])
		if literal {
			l.delimited(l.src[l.pos])
			l.out[len(l.out)-1].tick = tick
			return
		}
	}
	l.emit(tokenName, text)
}

// quotingOperator reports whether a name followed by open starts a string
// literal of Perl or Ruby, and whether the string is a command. percent says
// that a percent sign stands before the name.
func quotingOperator(name string, percent bool, open byte) (literal, tick bool) {
	switch {
	case name == "qx" || name == "x" && percent:
		return strings.IndexByte("{([</!|", open) >= 0, true
	case name == "qw", name == "q", name == "qq", percent && (name == "w" || name == "W" || name == "Q"):
		return strings.IndexByte("{([<", open) >= 0, false
	}
	return false, false
}

// delimited consumes text up to the bracket that closes open.
func (l *codeLexer) delimited(open byte) {
	closing := open
	if i := strings.IndexByte("{([<", open); i >= 0 {
		closing = "})]>"[i]
	}
	body := l.src[l.pos+1:]
	end := strings.IndexByte(body, closing)
	if end < 0 {
		end = len(body)
	}
	l.pos += 1 + min(end+1, len(body))
	l.out = append(l.out, token{kind: tokenString, text: body[:end]})
}

// quoted consumes a string literal in any quotes, tripled ones included.
func (l *codeLexer) quoted(quote byte) {
	mark := l.src[l.pos : l.pos+1]
	if triple := strings.Repeat(mark, 3); quote != '`' && strings.HasPrefix(l.src[l.pos:], triple) {
		mark = triple
	}
	l.pos += len(mark)
	var b strings.Builder
	for l.pos < len(l.src) && !strings.HasPrefix(l.src[l.pos:], mark) {
		if l.src[l.pos] == '\\' && l.pos+1 < len(l.src) {
			n, _ := writeEscape(&b, l.src[l.pos+1:], escapesANSI)
			l.pos += 1 + n
			continue
		}
		b.WriteByte(l.src[l.pos])
		l.pos++
	}
	l.pos = min(l.pos+len(mark), len(l.src))
	l.emit(tokenString, b.String())
	l.out[len(l.out)-1].tick = quote == '`'
}

// codeCall is a call in program text.
type codeCall struct {
	// name is the called name in lower case, short its last component.
	name, short string
	// literals are the string arguments, in order, with home directories
	// spelled "~".
	literals []string
	// indirect says that an argument is a name.
	indirect bool
	// before is a string literal the call is a method of.
	before string
	// tick says that the call is a command literal.
	tick bool
}

// codeCalls lists the calls in program text.
func codeCalls(tokens []token) []codeCall {
	var out []codeCall
	for i, t := range tokens {
		if t.kind == tokenString && t.tick {
			out = append(out, codeCall{tick: true, literals: []string{t.text}})
			continue
		}
		if t.kind != tokenName || i+1 >= len(tokens) {
			continue
		}
		next := tokens[i+1]
		// `unlink glob "…"` calls one function with the result of another.
		nested := next.kind == tokenName && (next.text == "glob" || next.text == "join" || next.text == "sprintf")
		if next.text != "(" && next.kind != tokenString && next.text != "[" && !nested {
			continue
		}
		out = append(out, newCodeCall(tokens, i))
	}
	return out
}

// newCodeCall reads the arguments of the call whose name is tokens[i].
func newCodeCall(tokens []token, i int) codeCall {
	name := strings.ToLower(strings.Trim(tokens[i].text, ".:"))
	c := codeCall{name: name, short: name[strings.LastIndexAny(name, ".:")+1:]}
	if i > 0 && tokens[i-1].kind == tokenString {
		c.before = tokens[i-1].text
	}
	depth := 0
	for j := i + 1; j < len(tokens) && j < i+256; j++ {
		switch t := tokens[j]; t.kind {
		case tokenString:
			c.literals = append(c.literals, homeLiteral(t.text))
		case tokenName:
			c.argumentName(t.text)
		case tokenPunct:
			switch t.text {
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				depth--
			case ";", "\n":
				if depth <= 0 {
					return c
				}
			}
		}
		if depth < 0 || depth == 0 && tokens[j].text == ")" {
			break
		}
	}
	return c
}

// argumentName notes a name among the arguments.
func (c *codeCall) argumentName(text string) {
	lower := strings.ToLower(text)
	if strings.HasSuffix(lower, "homedir") || strings.HasSuffix(lower, "path.home") || strings.HasSuffix(lower, "env.home") || strings.HasSuffix(lower, "dir.home") {
		c.literals = append(c.literals, "~")
		return
	}
	switch lower[strings.LastIndexAny(lower, ".:")+1:] {
	case "glob", "join", "sprintf", "true", "false", "recursive", "force", "shell", "stdio", "cwd", "check", "text", "capture_output", "none", "null", "expanduser",
		"environ", "env", "getenv", "path", "secure", "ignore_errors", "stdout", "stderr", "pipe", "encoding":
	default:
		c.indirect = c.indirect || strings.Trim(lower, "0123456789.") != ""
	}
}

// homeLiteral is a string argument, with the name of the home variable replaced
// by what it stands for.
func homeLiteral(text string) string {
	switch text {
	case "HOME", "$HOME", "${HOME}":
		return "~"
	}
	return text
}
