package safety

import (
	_ "embed" // the tables
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"sync"
)

//go:embed tables/programs.json
var programsJSON []byte

//go:embed tables/paths.json
var pathsJSON []byte

// engine holds the tables of the analysis. It is built once per classifier and
// read-only afterwards.
type engine struct {
	programs map[string]*program
	aliases  map[string]string
	handlers map[string]handler
	// names is what is known about each name, from all three.
	names map[string]nameRow

	pathRules   []pathRule
	systemDirs  map[string]bool
	varDirs     map[string]bool
	secretDirs  []string
	secretNames map[string]bool

	win *winTables
	// unlisted stands for the programs without a row.
	unlisted *program
	// letters holds the names of the one-letter options, two bytes each.
	letters string
	// unquoter removes quote characters.
	unquoter *strings.Replacer
	// parsers and analyses hold idle ones, whose memory is used again; those of
	// long lines have more of it.
	parsers, analyses, longAnalyses sync.Pool
}

// program describes the command line of one program or subcommand: enough to
// tell options, their values, subcommands and operands apart.
type program struct {
	Names []string `json:"names"`
	// Subs is how many leading operands are subcommands.
	Subs int `json:"subs"`
	// Values are options that take a value, NoArg those of them that take it
	// only with "=", Attached those of one letter that take it only glued on.
	Values   []string `json:"values"`
	NoArg    []string `json:"noarg"`
	Attached string   `json:"attached"`
	// Pairs are those of Values that take one word more.
	Pairs []string `json:"pairs"`
	// Long are the long options, for completing abbreviations.
	Long []string `json:"long"`
	// Single says that long options start with one dash.
	Single bool `json:"single"`
	// Wrap says that, after Skip operands, the rest is a command; WrapDash that
	// it is one only after "--". Shell says that it is a script.
	Wrap     bool `json:"wrap"`
	Skip     int  `json:"skip"`
	WrapDash bool `json:"wrapdash"`
	Shell    bool `json:"shell"`
	// Loose says that options of its own may follow the skipped operands.
	Loose bool `json:"loose"`
	// Signals says that a first option such as -9 is a signal.
	Signals bool `json:"signals"`
	// ShellOpts are options whose value is a script, RestOpts those after which
	// the rest is a command.
	ShellOpts []string `json:"shellopts"`
	RestOpts  []string `json:"restopts"`
	// Help are short options that only ask for help or the version.
	Help []string `json:"help"`
	// Preview are options (with their value, if it matters) that make the
	// command look without acting, except together with one of Unless.
	Preview []string `json:"preview"`
	Unless  []string `json:"unless"`

	values map[string]bool
	// letters holds, by character, the options of one letter that take a value,
	// those of the parents included.
	letters [2]uint64
	parent  *program
}

// takesValue reports whether the option is followed by a value.
func (p *program) takesValue(name string) bool {
	if c, ok := optionLetter(name); ok {
		return p.letters[c/64]>>(c%64)&1 != 0
	}
	for ; p != nil; p = p.parent {
		if p.values[name] {
			return true
		}
	}
	return false
}

// optionLetter is the letter of an option such as -x.
func optionLetter(name string) (c byte, ok bool) {
	if len(name) != 2 || name[0] != '-' || name[1] >= 128 {
		return 0, false
	}
	return name[1], true
}

// newEngine reads the embedded tables. They are part of the program, so an
// error in them is a bug.
func newEngine() *engine {
	e := &engine{programs: map[string]*program{}}
	if err := e.loadPrograms(); err != nil {
		panic(fmt.Sprintf("bug: program table: %v", err))
	}
	if err := e.loadPaths(); err != nil {
		panic(fmt.Sprintf("bug: path table: %v", err))
	}
	e.handlers = newHandlers()
	e.loadNames()
	e.win = newWinTables()
	e.unlisted = &program{}
	e.unquoter = strings.NewReplacer(`"`, "", "'", "")
	var letters strings.Builder
	for c := range 256 {
		letters.Write([]byte{'-', byte(c)})
	}
	e.letters = letters.String()
	return e
}

// loadPrograms reads the program table. A later row for the same name replaces
// an earlier one.
func (e *engine) loadPrograms() error {
	var table struct {
		Aliases  map[string]string `json:"aliases"`
		Programs []*program        `json:"programs"`
	}
	if err := json.Unmarshal(programsJSON, &table); err != nil {
		return err //nolint:wrapcheck // named by the caller
	}
	e.aliases = table.Aliases
	for _, p := range table.Programs {
		p.values = map[string]bool{}
		for _, v := range p.Values {
			p.values[v] = true
		}
		for _, v := range p.NoArg {
			delete(p.values, v)
		}
		for _, name := range p.Names {
			row := *p
			row.Subs = max(row.Subs, strings.Count(name, " "))
			e.programs[name] = &row
		}
	}
	for name, p := range e.programs {
		if i := strings.LastIndexByte(name, ' '); i > 0 {
			p.parent = e.programs[name[:i]]
		}
	}
	for _, p := range e.programs {
		for q := p; q != nil; q = q.parent {
			for name := range q.values {
				if c, ok := optionLetter(name); ok {
					p.letters[c/64] |= 1 << (c % 64)
				}
			}
		}
	}
	return nil
}

// nameRow is what the tables hold about a name. Most commands need all of it, and to
// look it up once.
type nameRow struct {
	alias   string
	program *program
	handler handler
	// prints says that the handler only computes what the program prints.
	prints bool
}

// loadNames puts together what is known about each name.
func (e *engine) loadNames() {
	e.names = map[string]nameRow{}
	for key, alias := range e.aliases {
		e.names[key] = nameRow{alias: alias}
	}
	for key, p := range e.programs {
		n := e.names[key]
		n.program = p
		e.names[key] = n
	}
	printers := printHandlers()
	delete(printers, "sed") // runs commands, too
	delete(printers, "openssl")
	for key, h := range e.handlers {
		n := e.names[key]
		n.handler, n.prints = h, printers[key] != nil
		e.names[key] = n
	}
}

// loadPaths reads the path table.
func (e *engine) loadPaths() error {
	var table struct {
		Rules []struct {
			Exact bool      `json:"exact"`
			Glob  bool      `json:"glob"`
			Class pathClass `json:"class"`
			Paths []string  `json:"paths"`
		} `json:"rules"`
		System      []string `json:"system"`
		Var         []string `json:"var"`
		SecretDirs  []string `json:"secretDirs"`
		SecretNames []string `json:"secretNames"`
	}
	if err := json.Unmarshal(pathsJSON, &table); err != nil {
		return err //nolint:wrapcheck // named by the caller
	}
	for _, r := range table.Rules {
		for _, p := range r.Paths {
			e.pathRules = append(e.pathRules, pathRule{prefix: p, exact: r.Exact, glob: r.Glob, class: r.Class})
		}
	}
	e.systemDirs, e.varDirs, e.secretNames = setOf(table.System), setOf(table.Var), setOf(table.SecretNames)
	e.secretDirs = table.SecretDirs
	return nil
}

// setOf makes a set of a list.
func setOf(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, s := range list {
		out[s] = true
	}
	return out
}

// program returns the description of a program, by its canonical name and
// subcommands; nil if there is none.
func (e *engine) program(name string) *program { return e.programs[name] }

// subprogram is program for the name and subcommands in g.
func (e *engine) subprogram(g *arguments) *program {
	key := append(make([]byte, 0, 64), g.name...)
	for _, s := range g.subs {
		key = append(append(key, ' '), s...)
	}
	return e.programs[string(key)]
}

// canonicalName reduces the first word of a command to the name that rules
// use: no directory, no version suffix, one name per family.
func (e *engine) canonicalName(text string) string {
	name := text
	if strings.IndexByte(name, '/') >= 0 {
		name = path.Base(name)
	}
	if alias := e.names[name].alias; alias != "" {
		return alias
	}
	if strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") {
		return "ld-linux" // the loader runs the program it is given
	}
	if strings.HasPrefix(name, "mkfs.") || strings.HasPrefix(name, "newfs_") {
		return "mkfs"
	}
	if base := strings.TrimRight(name, "0123456789.-"); base != name && len(base) > 1 {
		switch base {
		case "python", "pypy", "pip", "ruby", "php", "perl", "lua", "node":
			if alias, ok := e.aliases[base]; ok {
				return alias
			}
			return base
		}
	}
	return name
}
