package safety

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Set names one of the built-in rule sets.
type Set string

// The built-in rule sets.
const (
	// SetDefault reads commands as a shell would and follows the severity
	// table of the protocol: remote code piped into a shell, force pushes and
	// hard resets are critical.
	SetDefault Set = "default"
	// SetReference is the reference implementation's rule list with its
	// semantics: every rule on every platform, in the raw line only. It is
	// what conformance transcripts replay.
	SetReference Set = "reference"
)

// Rule ids that no pattern stands behind. They cannot be disabled and no
// custom rule may take them.
const (
	// RuleTooComplex marks a line past a limit of the analysis; critical.
	RuleTooComplex = "too_complex"
	// RuleUnparsed marks a line that is not valid shell syntax; warning, beside
	// whatever its naive readings match.
	RuleUnparsed = "unparsed"
)

// Result is the grade of one command.
type Result struct {
	// Severity is the highest severity among the matched rules, or [Safe].
	Severity Severity `json:"severity"`
	// MatchedRules are the ids of the matched rules in rule order, never nil.
	MatchedRules []string `json:"matchedRules"`
}

// Classifier grades commands by a fixed list of rules. It is immutable: With
// and Without return new ones. Safe for concurrent use. The zero value and nil
// grade everything critical.
type Classifier struct {
	set   Set
	rules []*rule
	byID  map[string]int
	// raw and views are built on first use.
	raw   func() *rawIndex
	views func() *viewIndex
	gate  func() *winGate
	// engine holds the tables of the shell analysis; nil in the reference set.
	engine func() *engine
	// gradings holds idle ones, whose memory is used again.
	gradings *sync.Pool
	// fallback holds the reference rules, which are searched in text that does
	// not parse; disabled are the ids that were switched off.
	fallback func() *rawIndex
	disabled map[string]bool
}

// New returns the classifier of a built-in set.
func New(set Set) (*Classifier, error) {
	patterns, err := Builtins(set)
	if err != nil {
		return nil, err
	}
	rules := make([]*rule, len(patterns))
	for i, p := range patterns {
		rules[i] = newRule(p, set == SetDefault)
	}
	c := &Classifier{set: set, gradings: &sync.Pool{}}
	if set == SetDefault {
		c.engine = sync.OnceValue(newEngine)
		c.fallback = sync.OnceValue(newFallback)
	}
	return c.index(rules), nil
}

// newFallback indexes the reference rules.
func newFallback() *rawIndex {
	patterns, err := Builtins(SetReference)
	if err != nil {
		panic(fmt.Sprintf("bug: %v", err))
	}
	rules := make([]*rule, len(patterns))
	for i, p := range patterns {
		rules[i] = newRule(p, false)
	}
	return newRawIndex(rules)
}

// index returns a classifier like c with other rules.
func (c *Classifier) index(rules []*rule) *Classifier {
	out := &Classifier{
		set: c.set, engine: c.engine, fallback: c.fallback, disabled: c.disabled, gradings: c.gradings,
		rules: rules, byID: make(map[string]int, len(rules)),
	}
	for i, r := range rules {
		out.byID[r.ID] = i
	}
	out.raw = sync.OnceValue(func() *rawIndex { return newRawIndex(rules) })
	out.views = sync.OnceValue(func() *viewIndex { return newViewIndex(rules) })
	if c.engine != nil {
		out.gate = sync.OnceValue(func() *winGate { return newWinGate(c.engine(), rules, out.views()) })
	}
	return out
}

// Set returns the name of the built-in set that c started from; hosts report
// it, since the two sets grade some commands differently.
func (c *Classifier) Set() Set { return c.set }

// Patterns returns a copy of the rules in evaluation order.
func (c *Classifier) Patterns() []Pattern {
	out := make([]Pattern, len(c.rules))
	for i, r := range c.rules {
		out[i] = r.Pattern
	}
	return out
}

// With returns a classifier that also evaluates patterns, after the rules of
// c. It is all or nothing: the first invalid pattern, duplicate id or reserved
// id is returned as a [*PatternError] and nothing is registered.
func (c *Classifier) With(patterns ...Pattern) (*Classifier, error) {
	rules := slices.Clone(c.rules)
	seen := map[string]bool{RuleTooComplex: true, RuleUnparsed: true}
	for _, r := range rules {
		seen[r.ID] = true
	}
	for _, p := range patterns {
		if err := p.Validate(); err != nil {
			return nil, err
		}
		if seen[p.ID] {
			return nil, &PatternError{ID: p.ID, Field: "id", Err: ErrPatternDuplicate}
		}
		if len(rules) == MaxRules {
			return nil, &PatternError{ID: p.ID, Field: "rule", Err: ErrTooManyRules, Hint: fmt.Sprintf("at most %d", MaxRules)}
		}
		seen[p.ID] = true
		rules = append(rules, newRule(p, false))
	}
	return c.index(rules), nil
}

// Without returns a classifier that lacks the rules with these ids
// (disabledPatternIds). An id that c does not hold is a [*PatternError]: a
// misspelt id would otherwise look like a rule switched off.
func (c *Classifier) Without(ids ...string) (*Classifier, error) {
	drop := map[string]bool{}
	for _, id := range ids {
		if _, ok := c.byID[id]; !ok {
			return nil, &PatternError{ID: id, Field: "id", Err: ErrPatternUnknown}
		}
		drop[id] = true
	}
	rules := slices.DeleteFunc(slices.Clone(c.rules), func(r *rule) bool { return drop[r.ID] })
	out := c.index(rules)
	maps.Copy(drop, c.disabled)
	out.disabled = drop
	return out, nil
}

// Classify grades one command line. platform is the language it is written
// in; [PlatformAll] (or an unknown value) tries both. Leading and trailing
// white space is ignored and an empty line is safe, as in the reference.
func (c *Classifier) Classify(command string, platform Platform) Result {
	g := c.grade(command, platform, nil)
	out := g.result()
	if c != nil && c.gradings != nil {
		*g = grading{} // lets go of the line
		c.gradings.Put(g)
	}
	return out
}

// grading collects what one command line matched.
type grading struct {
	c       *Classifier
	matched bitset
	any     bool
	// extra are the ids of reference rules found in text that does not parse.
	extra []string
	worst Severity
	// tooComplex and unparsed say that the analysis gave up, or fell back.
	tooComplex, unparsed bool
	// explain receives every match when set.
	explain func(Match)
	// views receives what the analysis finds.
	views grader
}

// grade runs all rules over one command line.
func (c *Classifier) grade(command string, platform Platform, explain func(Match)) *grading {
	g := c.newGrading()
	g.c, g.explain = c, explain
	if c == nil || c.raw == nil {
		g.complex(view{kind: ViewRaw})
		return g
	}
	line := strings.TrimSpace(command)
	if line == "" {
		return g
	}
	if c.set == SetReference {
		platform = PlatformAll
	}
	offset := 0
	if len(line) != len(command) {
		offset = strings.Index(command, line)
	}
	if len(line) > MaxLine {
		g.complex(view{kind: ViewRaw, start: offset, end: offset + len(line)})
		g.searchRaw(line[:MaxLine], offset, platform)
		g.searchRaw(line[len(line)-MaxLine:], offset+len(line)-MaxLine, platform)
		return g
	}
	g.searchRaw(line, offset, platform)
	if c.engine != nil {
		// Shells know fewer blanks than the reference trims.
		line = strings.Trim(command, " \t\r\n")
		g.views = grader{g: g, index: c.views(), offset: strings.Index(command, line), size: len(line)}
		c.engine().analyse(line, platform, &g.views, c.gate())
	}
	return g
}

// newGrading returns an empty grading.
func (c *Classifier) newGrading() *grading {
	if c != nil && c.gradings != nil {
		if g, ok := c.gradings.Get().(*grading); ok {
			return g
		}
	}
	return &grading{}
}

// searchRaw runs the raw rules over a line that starts at offset.
func (g *grading) searchRaw(line string, offset int, platform Platform) {
	index := g.c.raw()
	if index.count == 0 {
		return
	}
	index.match(line, platform, g.explain != nil, func(i, start, end int) {
		g.hit(i, view{kind: ViewRaw, line: line, start: offset + start, end: offset + end})
	})
}

// searchFallback searches the reference rules in text that does not parse. An id
// that the set knows too is still the same rule: it keeps its place in the
// result, but the higher of the two grades counts.
func (g *grading) searchFallback(v view) {
	index := g.c.fallback()
	index.match(v.line, v.dialect, false, func(i, _, _ int) {
		r := index.rules[i]
		if g.c.disabled[r.ID] {
			return
		}
		if r.Severity.AtLeast(Warning) && (g.worst == "" || r.Severity.AtLeast(g.worst)) {
			g.worst = r.Severity
		}
		if own, ok := g.c.byID[r.ID]; ok {
			g.matched.add(own)
			g.any = true
		} else if !slices.Contains(g.extra, r.ID) {
			g.extra = append(g.extra, r.ID)
		}
		if g.explain != nil {
			raw := v
			raw.kind = ViewRaw
			g.explain(raw.match(r.ID, r.Severity))
		}
	})
}

// hit records that rule i matched in v.
func (g *grading) hit(i int, v view) {
	g.matched.add(i)
	g.any = true
	if g.explain != nil {
		r := g.c.rules[i]
		g.explain(v.match(r.ID, r.Severity))
	}
}

// complex records that v lies past a limit.
func (g *grading) complex(v view) {
	if g.explain != nil && !g.tooComplex {
		g.explain(v.match(RuleTooComplex, Critical))
	}
	g.tooComplex = true
}

// notParsed records that v is not valid syntax.
func (g *grading) notParsed(v view) {
	if g.explain != nil && !g.unparsed {
		g.explain(v.match(RuleUnparsed, Warning))
	}
	g.unparsed = true
}

// result sums the matches up.
func (g *grading) result() Result {
	out := Result{Severity: Safe, MatchedRules: []string{}}
	if g.any {
		out.MatchedRules = make([]string, 0, g.matched.size()+len(g.extra)+2)
	}
	raise := func(s Severity, id string) {
		if s.AtLeast(out.Severity) {
			out.Severity = s
		}
		out.MatchedRules = append(out.MatchedRules, id)
	}
	if g.any {
		for i := range g.matched.members(len(g.c.rules)) {
			raise(g.c.rules[i].Severity, g.c.rules[i].ID)
		}
	}
	for _, id := range g.extra {
		raise(g.worst, id)
	}
	if g.worst != "" && g.worst.AtLeast(out.Severity) {
		out.Severity = g.worst
	}
	if g.unparsed {
		raise(Warning, RuleUnparsed)
	}
	if g.tooComplex {
		raise(Critical, RuleTooComplex)
	}
	return out
}
