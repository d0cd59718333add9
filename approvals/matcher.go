package approvals

// Matcher compares command lines with prefixes of words. The two effects are
// matched differently on purpose: an allow covers a line only if every command
// in it starts with the prefix and nothing else can happen, a denial already
// if any command in it does.
type Matcher interface {
	// Match reports whether a rule of that effect applies to the command. An
	// empty prefix is never passed.
	Match(effect Effect, prefix []string, command string) bool
	// Unknown says which word of the command keeps it unknown whether a denial
	// with the prefix applies; empty if that is known.
	Unknown(prefix []string, command string) string
	// Parses reports whether the command can be taken apart with certainty.
	Parses(command string) bool
	// Suggest returns the prefix to offer for a command, nil if there is no
	// honest one (several commands, or none that parses).
	Suggest(command string) []string
	// Broad says why allowing the prefix would allow almost anything; empty if
	// it would not.
	Broad(prefix []string) string
}

// noMatcher stands for an unset Matcher: nothing parses, so no allow matches,
// and every denial does.
type noMatcher struct{}

func (noMatcher) Match(effect Effect, _ []string, _ string) bool { return effect == EffectDeny }
func (noMatcher) Unknown([]string, string) string                { return "no command matcher" }
func (noMatcher) Parses(string) bool                             { return false }
func (noMatcher) Suggest(string) []string                        { return nil }
func (noMatcher) Broad([]string) string                          { return "no command matcher" }
