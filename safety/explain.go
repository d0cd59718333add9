package safety

import "slices"

// ViewKind says which reading of a command a match was found in.
type ViewKind string

// The readings of a command.
const (
	// ViewRaw is the command line as given, trimmed.
	ViewRaw ViewKind = "raw"
	// ViewArgv is a simple command of the line itself.
	ViewArgv ViewKind = "argv"
	// ViewNested is a simple command of a script that the line hands to
	// another shell or interpreter.
	ViewNested ViewKind = "nested"
	// ViewPipe is a source whose output an interpreter executes.
	ViewPipe ViewKind = "pipe"
	// ViewRedirect is a file that is written.
	ViewRedirect ViewKind = "redirect"
	// ViewCode is program text for an interpreter or a database.
	ViewCode ViewKind = "code"
	// ViewNaive is a word-by-word reading of a line that does not parse.
	ViewNaive ViewKind = "naive"
)

// Match is one rule that matched, and where.
type Match struct {
	// Rule is the id of the rule.
	Rule string `json:"rule"`
	// Severity is the rule's grade.
	Severity Severity `json:"severity"`
	// View is the reading in which it matched.
	View ViewKind `json:"view"`
	// Depth counts the shells around the command: 0 for the line itself.
	Depth int `json:"depth"`
	// Line is what the rule's expression was matched against.
	Line string `json:"line"`
	// Start and End are byte offsets in the original command. For a nested
	// command they enclose the command that holds the script.
	Start int `json:"start"`
	End   int `json:"end"`
	// Wrappers are the programs that were peeled off, outermost first.
	Wrappers []string `json:"wrappers,omitempty"`
}

// Explanation is a [Result] with the matches behind it.
type Explanation struct {
	Result
	// Matches are in the order in which they were found; a rule occurs once
	// per place.
	Matches []Match `json:"matches"`
}

// Explain grades a command like [Classifier.Classify] and says why. It does
// more work than Classify and is meant for people, logs and tests.
func (c *Classifier) Explain(command string, platform Platform) Explanation {
	matches := []Match{}
	g := c.grade(command, platform, func(m Match) {
		same := func(o Match) bool {
			return o.Rule == m.Rule && o.Line == m.Line && o.Start == m.Start && o.End == m.End
		}
		if !slices.ContainsFunc(matches, same) {
			matches = append(matches, m)
		}
	})
	return Explanation{Result: g.result(), Matches: matches}
}
