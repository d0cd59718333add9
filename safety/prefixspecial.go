package safety

import (
	"slices"
	"strings"
)

// special runs the check a row names: programs whose operands are a language of
// their own.
func (r *escapeRow) special(words []word, covered int, args *arguments) PrefixMatch {
	rest := words[min(covered, len(words)):]
	named := slices.ContainsFunc(args.opts, func(o option) bool { return o.has }) // python -m module
	input := len(args.operands) == 0 || args.operands[0].text == "-" || args.operands[0].text == "/dev/stdin"
	if r.Until && input && !named && !args.isQuery() && !args.has("-v", "-V") {
		return no(ReasonOption, args.name+": its input is a program")
	}
	var bad bool
	switch r.Special {
	case "sed":
		bad = sedEscapes(args)
	case "awk":
		bad = awkEscapes(args)
	case "tar":
		bad = tarEscapes(words, args)
	case "ssh":
		bad = len(args.operands) == 0
	case "ip":
		bad = ipEscapes(args)
	default:
		bad = slices.ContainsFunc(rest, func(w word) bool { return wordEscapes(r.Special, w.text) })
	}
	if bad {
		return no(ReasonOption, args.name)
	}
	return PrefixMatch{}
}

// wordEscapes runs the checks that look at one word.
func wordEscapes(check, text string) bool {
	switch check {
	case "make":
		return makeEscapes(text)
	case "go": // profiles of the tests themselves stay in the project
		return strings.HasPrefix(strings.TrimLeft(text, "-"), "coverprofile=/")
	case "sql":
		return sqlEscapes(text)
	case "curl":
		return curlEscapes(strings.ToLower(text))
	case "date":
		return text != "" && text[0] != '+' && text[0] != '-'
	case "builtin":
		// The shell evaluates array subscripts in these, substitutions
		// included, even when they were quoted.
		return strings.Contains(text, "`") || strings.Contains(text, "$(")
	}
	return false
}

// curlEscapes reports whether an argument in lower case has curl send a file,
// write one, or speak another protocol than that of the web.
func curlEscapes(text string) bool {
	if scheme, _, isURL := strings.Cut(text, "://"); isURL && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz") == "" {
		return scheme != "http" && scheme != "https"
	}
	return strings.Contains(text, "@") || strings.Contains(text, "=<") || strings.Contains(text, "%output{") || strings.HasPrefix(text, "file:")
}

// sedEscapes reports whether a sed command runs commands, writes files or reads
// its script from somewhere.
func sedEscapes(args *arguments) bool {
	if args.has("-i", "--in-place", "-f", "--file") {
		return true
	}
	scripts, _ := sedScripts(args)
	for _, w := range scripts {
		s := parseSed(w.text)
		if s.executes || len(s.commands) > 0 || len(s.writes) > 0 || s.unsure || w.dyn || !sedReadable(w.text) {
			return true
		}
	}
	return len(scripts) == 0
}

// sedReadable reports whether every sed reads a script as parseSed does. They
// differ where a label ends, in y, and on a delimiter inside brackets.
func sedReadable(script string) bool {
	p := sedParser{src: script}
	for p.pos < len(p.src) {
		start := p.pos
		p.address()
		if opensBracket(p.src[start:p.pos]) {
			return false
		}
		start = p.pos
		p.command()
		command := p.src[start:p.pos]
		if command == "" {
			continue
		}
		switch command[0] {
		case 'y':
			return false
		case ':', 'b', 't', 'T':
			if strings.ContainsAny(command, ";}") {
				return false
			}
		case 's':
			part := sedParser{src: command, pos: 1}
			part.delimited(false)
			if opensBracket(command[:part.pos]) {
				return false
			}
		}
	}
	return true
}

// opensBracket reports whether a bracket expression of a regular expression is
// still open at the end.
func opensBracket(text string) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			n := bracketLen(text[i:])
			if n == 0 {
				return true
			}
			i += n - 1
		}
	}
	return false
}

// bracketLen is the length of the bracket expression that text starts with, 0
// if it does not end.
func bracketLen(text string) int {
	i := 1
	if strings.HasPrefix(text[i:], "^") {
		i++
	}
	if strings.HasPrefix(text[i:], "]") { // stands for itself here
		i++
	}
	for i < len(text) {
		switch {
		case text[i] == ']':
			return i + 1
		case text[i] == '[' && i+1 < len(text) && strings.IndexByte(":.=", text[i+1]) >= 0: // [:alpha:]
			end := strings.Index(text[i+2:], text[i+1:i+2]+"]")
			if end < 0 {
				return 0
			}
			i += 2 + end + 2
		default:
			i++
		}
	}
	return 0
}

// awkEscapes reports whether an awk program could do more than print. The
// options are those that only say how input is read; of the others some load
// code, some write files, and long names may be shortened.
func awkEscapes(args *arguments) bool {
	for _, o := range args.opts {
		switch o.name {
		case "-F", "--field-separator", "-v", "--assign", "-e", "--source":
		default:
			return true
		}
	}
	texts := args.values("-e", "--source")
	if len(texts) == 0 {
		if len(args.operands) == 0 {
			return true
		}
		texts = args.operands[:1]
	}
	for _, w := range texts {
		for _, word := range []string{"system", "getline", "|", ">", "@", "close", "fflush", "ENVIRON[", "PROCINFO"} {
			if strings.Contains(w.text, word) && !isComparison(w.text, word) {
				return true
			}
		}
	}
	return false
}

// isComparison spares the operators that only look like a redirection or pipe.
func isComparison(text, word string) bool {
	switch word {
	case ">":
		// A comparison stands outside an action: before the first brace.
		action := strings.IndexByte(text, '{')
		return action < 0 || !strings.Contains(text[action:], ">")
	case "|":
		return !strings.Contains(strings.ReplaceAll(text, "||", ""), "|")
	}
	return false
}

// tarEscapes looks at the letters of an old-style first argument, and for what
// lets an archive write outside of the working directory.
func tarEscapes(words []word, args *arguments) bool {
	if len(words) < 2 {
		return false
	}
	first := words[1].text
	if first != "" && first[0] != '-' && strings.ContainsAny(first, "IFP") {
		return true
	}
	for _, dir := range args.values("-C", "--directory", "--one-top-level") {
		if strings.HasPrefix(dir.text, "/") || strings.HasPrefix(dir.text, "~") || strings.Contains(dir.text, "..") || strings.Contains(dir.text, "$") {
			return true
		}
	}
	return args.has("-P", "--absolute-names", "--absolute-paths", "--unlink-first", "--recursive-unlink")
}

// ipEscapes reports whether a command of ip, all of which can be shortened, may
// do anything but show.
func ipEscapes(args *arguments) bool {
	if len(args.operands) == 0 {
		return false
	}
	switch args.operands[0].text {
	case "show", "sho", "sh", "list", "lis", "li", "lst", "ls", "get", "help":
		return false
	}
	return true
}

// makeEscapes reports whether a word sets a make variable: any of them may name
// a program. A few only change what is shown.
func makeEscapes(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	if !ok || strings.HasPrefix(text, "-") {
		return false
	}
	switch strings.TrimRight(name, ":?+") {
	case "V", "VERBOSE", "DEBUG", "Q", "QUIET":
		return false
	}
	return true
}

// sqlEscapes reports whether an argument holds a client command, or a statement,
// that runs a program or reads or writes a file. Every command with a backslash
// counts: which of them do is different in each client.
func sqlEscapes(text string) bool {
	lower := strings.ToLower(text)
	if strings.Contains(lower, `\`) {
		return true
	}
	for statement := range strings.FieldsFuncSeq(lower, func(r rune) bool { return r == '\n' || r == ';' }) {
		first, _, _ := strings.Cut(strings.TrimSpace(statement), " ")
		switch first {
		case "system", "source", "pager", "tee", "edit", "export", "install", "load", "attach":
			return true
		case "copy":
			if !strings.HasSuffix(strings.TrimSpace(statement), " to stdout") {
				return true
			}
		}
		if strings.HasPrefix(first, ".") {
			return true
		}
	}
	return slices.ContainsFunc(sqlFunctions(), func(s string) bool { return strings.Contains(lower, s) })
}

// sqlFunctions are the clauses and functions that reach programs and files.
func sqlFunctions() []string {
	return []string{
		"to program", "from program", "into outfile", "into dumpfile", "load_extension", "writefile", "readfile", "sys_exec", "sys_eval", "xp_cmdshell",
		"edit(", "load_file", "load data", "lo_export", "lo_import", "pg_read_file", "pg_read_binary_file", "pg_ls_dir", "pg_write", "fts3_tokenizer",
		"dblink", "url(", "file(", "s3(", "remote(", "executable(",
	}
}
