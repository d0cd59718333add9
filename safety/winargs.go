package safety

import (
	_ "embed" // the tables
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed tables/windows.json
var windowsJSON []byte

// winTables are the tables of the Windows reading.
type winTables struct {
	aliases   map[string]string
	params    map[string][]string
	values    map[string]bool
	variables map[string]string
	system    map[string]bool
	silent    map[string]bool
	// marks are other words that only Windows lines hold; shared are commands
	// that mean the same to a POSIX shell.
	marks, shared []string
	handlers      map[string]winHandler
	// wrappers are those handlers that need only the words, posix the shells
	// that read a line by other rules.
	wrappers, posix map[string]bool
}

// newWinTables reads the embedded table.
func newWinTables() *winTables {
	var table struct {
		Aliases   map[string]string   `json:"aliases"`
		Params    map[string][]string `json:"params"`
		Values    []string            `json:"values"`
		Variables map[string]string   `json:"variables"`
		System    []string            `json:"system"`
		Silent    []string            `json:"silent"`
		Marks     []string            `json:"marks"`
		Shared    []string            `json:"shared"`
	}
	if err := json.Unmarshal(windowsJSON, &table); err != nil {
		panic(fmt.Sprintf("bug: windows table: %v", err))
	}
	t := &winTables{
		aliases: table.Aliases, params: table.Params, variables: table.Variables,
		marks: table.Marks, shared: table.Shared,
		values: setOf(table.Values), system: setOf(table.System), silent: setOf(table.Silent),
		handlers: newWinHandlers(),
		wrappers: setOf([]string{"call", "else", "nohup", "env", "command", "nice", "time", "conhost", "if", "for"}),
		posix:    setOf([]string{"bash", "sh", "zsh", "dash", "ksh", "git-bash"}),
	}
	t.params["pwsh"] = t.params["powershell"]
	t.params["start"] = t.params["start-process"] // the name is both a builtin and an alias
	return t
}

// winName reduces the first word of a command to the name that rules use.
func (t *winTables) winName(text string) string {
	name := strings.ToLower(strings.TrimLeft(text, "@"))
	if i := max(strings.LastIndexByte(name, '\\'), strings.LastIndexByte(name, '/')); i > 0 && name[i-1] != ' ' {
		if at := strings.IndexByte(name, '/'); at > 0 && isCmdBuiltin(name[:at]) {
			name = name[:at] // del/f/s/q
		} else {
			name = name[i+1:]
		}
	}
	if strings.IndexByte(name, '.') >= 0 {
		for _, ext := range []string{".exe", ".com", ".cmd", ".bat", ".ps1"} {
			name = strings.TrimSuffix(name, ext)
		}
	}
	if alias, ok := t.aliases[name]; ok {
		return alias
	}
	return name
}

// isCmdBuiltin recognises commands whose switches may be glued to their name.
func isCmdBuiltin(name string) bool {
	switch name {
	case "del", "erase", "rd", "rmdir", "format", "dir", "cmd", "copy", "move", "shutdown", "reg", "net":
		return true
	}
	return false
}

// isCmdlet recognises Verb-Noun names, whose parameters start with a dash only.
func isCmdlet(name string) bool {
	verb, noun, ok := strings.Cut(name, "-")
	return ok && verb != "" && noun != "" && strings.IndexByte(name, '/') < 0
}

// winArguments takes a Windows command apart.
func (a *analysis) winArguments(name string, words []word) *arguments {
	t := a.e.win
	g := a.mem.args.one(arguments{
		name: name, prog: a.e.unlisted,
		opts: a.mem.options.take(countSwitches(words))[:0], operands: a.mem.words.take(len(words) - 1)[:0],
	})
	if first, glued, ok := strings.Cut(strings.ToLower(words[0].text), "/"); ok && isCmdBuiltin(first) {
		t.switches(g, glued)
	}
	for i := 1; i < len(words); i++ {
		text := strings.ToLower(words[i].text)
		switch {
		case len(text) > 1 && text[0] == '-' && (isCmdlet(name) || t.params[name] != nil):
			i = t.param(g, words, i)
		case len(text) > 1 && text[0] == '-':
			g.opts = append(g.opts, option{name: text})
		case len(text) > 1 && text[0] == '/' && !isCmdlet(name):
			t.switches(g, text)
		case isCmdlet(name):
			g.operands = appendList(g.operands, words[i])
		default:
			t.operand(g, words[i])
		}
	}
	return g
}

// countSwitches guesses how many options words hold.
func countSwitches(words []word) int {
	n := 0
	for _, w := range words {
		if strings.HasPrefix(w.text, "-") {
			n++
		} else {
			n += min(strings.Count(w.text, "/"), 4)
		}
	}
	return n
}

// appendList appends the elements of a comma-separated list.
func appendList(list []word, w word) []word {
	for part := range strings.SplitSeq(w.text, ",") {
		if part != "" {
			p := w
			p.text = part
			list = append(list, p)
		}
	}
	return list
}

// switches splits /s/q into switches. A value after a colon stays.
func (t *winTables) switches(g *arguments, text string) {
	for part := range strings.SplitSeq(strings.TrimPrefix(text, "/"), "/") {
		if part != "" {
			g.opts = append(g.opts, option{name: "/" + part})
		}
	}
}

// operand adds an operand; switches may be glued to a drive, as in "c:/q".
func (t *winTables) operand(g *arguments, w word) {
	if len(w.text) > 3 && w.text[1] == ':' && w.text[2] == '/' && len(w.text) < 8 && g.name == "format" {
		t.switches(g, strings.ToLower(w.text[2:]))
		w.text = w.text[:2]
	}
	g.operands = append(g.operands, w)
}

// param consumes a PowerShell parameter at i and returns the index of its last
// word. Parameters may be abbreviated to what is unambiguous.
func (t *winTables) param(g *arguments, words []word, i int) int {
	key, val, has := strings.Cut(strings.ToLower(words[i].text)[1:], ":")
	if g.name == "remove-item" && (key == "rf" || key == "fr") { // a POSIX habit; the intent is plain
		g.opts = append(g.opts, option{name: "-recurse"}, option{name: "-force"})
		return i
	}
	key = completeParam(t.params[g.name], key)
	value := word{text: val}
	if !has && t.values[key] && i+1 < len(words) && !strings.HasPrefix(words[i+1].text, "-") {
		i++
		value, has = words[i], true
	}
	switch {
	case has && (key == "path" || key == "literalpath"):
		g.operands = appendList(g.operands, value)
	case has && value.text == "$false":
	default:
		g.opts = append(g.opts, option{name: "-" + key, value: value, has: has && value.text != "$true"})
	}
	return i
}

// completeParam resolves an abbreviated parameter. The dangerous reading of an
// ambiguous one is taken.
func completeParam(params []string, key string) string {
	best := ""
	for _, p := range params {
		if p == key {
			return key
		}
		if strings.HasPrefix(p, key) && (best == "" || p == "force" || p == "recurse") {
			best = p
		}
	}
	switch {
	case key == "ea":
		return "erroraction"
	case key == "ep":
		return "executionpolicy"
	case best != "":
		return best
	case len(params) > 0 && params[0] == "command" && (key == "ec" || key == "e"):
		return "encodedcommand"
	}
	return key
}

// winCanonical renders the canonical line of a Windows command.
func (a *analysis) winCanonical(g *arguments, cwd string) string {
	b := a.mem.text.start(g.size())
	b.WriteString(g.name)
	for _, o := range g.opts {
		writeWord(b, o.name)
		if o.has {
			b.WriteByte('=')
			writeEscaped(b, strings.ToLower(o.value.text))
		}
	}
	b.WriteString(" --")
	for _, w := range g.operands {
		b.WriteByte(' ')
		a.e.writeWindowsOperand(b, strings.ToLower(w.text), cwd)
	}
	return a.mem.text.end()
}

// writeWindowsOperand renders an operand with the class of the path it names.
func (e *engine) writeWindowsOperand(b *strings.Builder, text, cwd string) {
	if text != "" && len(text) < 4096 && !strings.Contains(text, "://") {
		if class, clean := e.classifyWindows(text, cwd); class != classNone {
			b.WriteString("<" + string(class) + ">")
			text = clean
		}
	}
	writeEscaped(b, text)
}
