// Package safety grades a shell command before anyone runs it, and says
// whether a stored approval covers it.
//
// # Grades
//
// A command is [Critical] (block by default), [Warning] (run, show a banner and
// log) or [Safe], which is not a rule but the absence of a match. Rules are
// [Pattern] values, the CommandSafetyPattern of the protocol:
//
//	c, err := safety.New(safety.SetDefault)
//	if err != nil {
//		return err
//	}
//	r := c.Classify("rm -rf /", safety.PlatformUnix)
//	// r.Severity == safety.Critical, r.MatchedRules == [rm rm_rf_root]
//
// Two sets are built in. [SetReference] holds the 61 rules of the reference
// implementation, searched in the raw command line exactly as it does. The
// rules of [SetDefault] are tried against views of the command instead: its
// simple commands after quotes, variables, wrappers and nested shells are
// resolved, written as one canonical line each.
//
// # Canonical lines
//
// A canonical line is `program subcommand options -- operands`. Grouped short
// options are split, abbreviated long ones completed, the program is reduced
// to its base name, blanks inside a word become "␣", and a path that matters
// is prefixed with its class:
//
//	sudo rm -fr "$HOME"/../..    gives    rm -f -r -- <root>/
//
// Everything that is not a simple command has a line with its own first word:
// "pipe:" (a source feeding an interpreter), "write:" (a file written),
// "run:", "code:", "sql:", "send:", "shell:", "dynamic:", "forkbomb:".
// All built-in default patterns are anchored at the start of such a line, so a
// dangerous word that is only an argument cannot match.
//
// # Custom rules
//
// [Classifier.With] adds rules. Their regular expressions are searched in the
// trimmed full command line, whatever it looks like parsed: a match of a
// registered rule is never argued away. Go's linear-time dialect is the only
// one; a construct it lacks is refused with its offset ([PatternError]).
//
// # Limits
//
// This is a hint for a gate, not a sandbox. A line that cannot be parsed is
// graded on every naive reading of it. A line past a limit ([MaxLine], the
// nesting, wrapper and work limits of limits.go) is critical with the rule id
// [RuleTooComplex]. Time is linear in the length of the line.
//
// The package is pure: no file, network, clock or environment is touched, and
// it holds no package state. A [Classifier] is immutable and safe for
// concurrent use.
package safety
