package safety

import (
	"strings"
	"sync"
)

// Decision is what an approval rule does with the commands it covers.
type Decision string

// The decisions of an approval rule. Any other value is read as a deny.
const (
	// DecisionAllow runs the command without asking.
	DecisionAllow Decision = "allow"
	// DecisionDeny refuses it without asking.
	DecisionDeny Decision = "deny"
)

// PrefixMatch says whether an approval rule covers a command.
type PrefixMatch struct {
	// Matches is the answer.
	Matches bool
	// Reason is one of the Reason constants when Matches is false for an allow
	// or true for a deny; empty otherwise.
	Reason Reason
	// Detail names the word or construct behind the reason; may be empty.
	Detail string
}

// Reason is a stable code that says why a prefix does or does not match.
type Reason string

// The reasons of a [PrefixMatch].
const (
	// ReasonEmpty is a blank command line.
	ReasonEmpty Reason = "empty"
	// ReasonUnparsed is a line that is not valid shell syntax.
	ReasonUnparsed Reason = "unparsed"
	// ReasonTooComplex is a line past a limit of the analysis.
	ReasonTooComplex Reason = "too_complex"
	// ReasonNotCovered is a command in the line that starts otherwise.
	ReasonNotCovered Reason = "not_covered"
	// ReasonStructure is a background job, negation, group, loop, function or
	// the like: more than a list or pipe of simple commands.
	ReasonStructure Reason = "structure"
	// ReasonAssignment is a variable set for the command.
	ReasonAssignment Reason = "assignment"
	// ReasonExpansion is a substitution, or a variable whose value may be
	// anything.
	ReasonExpansion Reason = "expansion"
	// ReasonRedirect is a file that is written or read by redirection.
	ReasonRedirect Reason = "redirect"
	// ReasonOption is an option or operand that makes the program run or write
	// something else.
	ReasonOption Reason = "option"
	// ReasonWrapper is a program whose operand is another command.
	ReasonWrapper Reason = "wrapper"
	// ReasonDenied is a command in the line that a deny rule covers.
	ReasonDenied Reason = "denied"
	// ReasonUncertain is a command that a deny rule may cover: a word of it, or
	// what it runs, is not known. It must not be allowed automatically.
	ReasonUncertain Reason = "uncertain"
	// ReasonBroad is a prefix that amounts to any command.
	ReasonBroad Reason = "broad"
)

// Matcher compares command lines with the prefixes of approval rules.
//
// The two decisions are read differently on purpose. An allow must not be
// stretched: it covers a line only if every command in it starts with exactly
// the words of the prefix and nothing else can happen. A deny must not be
// dodged: it covers a line if any command in it, behind any wrapper, path or
// nested shell, starts with them.
//
// A Matcher is immutable and safe for concurrent use.
type Matcher struct {
	platform Platform
	engine   func() *engine
	options  func() map[string]*escapeRow
}

// NewMatcher returns a matcher for commands of one platform. PlatformAll and
// unknown values demand of an allow that it holds in both languages, and of a
// deny that it holds in either.
func NewMatcher(platform Platform) *Matcher {
	return &Matcher{
		platform: platform,
		engine:   sync.OnceValue(newEngine),
		options:  sync.OnceValue(newEscapeRows),
	}
}

// MatchPrefix is [Matcher.Match] of a new [Matcher]. A caller that matches more
// than once keeps a Matcher, whose tables are built once.
func MatchPrefix(prefix []string, cmd string, decision Decision, platform Platform) PrefixMatch {
	return NewMatcher(platform).Match(prefix, cmd, decision)
}

// BroadPrefix is [Matcher.Broad] of a new [Matcher].
func BroadPrefix(prefix []string) (reason string, broad bool) {
	return NewMatcher(PlatformAll).Broad(prefix)
}

// SuggestPrefix is [Matcher.Suggest] of a new [Matcher] for POSIX shells.
func SuggestPrefix(cmd string) (prefix []string, ok bool) {
	return NewMatcher(PlatformUnix).Suggest(cmd)
}

// Match reports whether a rule with this prefix and decision covers cmd. An
// empty prefix covers every command that can be taken apart, and as a deny every
// command.
func (m *Matcher) Match(prefix []string, cmd string, decision Decision) PrefixMatch {
	if decision != DecisionAllow {
		return m.matchDeny(prefix, cmd)
	}
	if m.platform.unix() {
		if r := m.allowUnix(prefix, cmd); !r.Matches {
			return r
		}
	}
	if m.platform.windows() {
		if r := m.allowWindows(prefix, cmd); !r.Matches {
			return r
		}
	}
	return PrefixMatch{Matches: true}
}

// Parses reports whether cmd can be taken apart with certainty. What cannot
// must be asked about, since no allow covers it.
func (m *Matcher) Parses(cmd string) bool {
	line := strings.TrimSpace(cmd)
	if line == "" || len(line) > MaxLine || nestedTooDeep(line) {
		return false
	}
	if m.platform == PlatformWindows {
		return windowsQuotesClosed(line)
	}
	_, err := m.engine().parse(line)
	return err == nil
}

// no is the answer of an allow that does not hold.
func no(reason Reason, detail string) PrefixMatch {
	return PrefixMatch{Reason: reason, Detail: detail}
}
