package safety

// Limits of the analysis. All of them fail closed: what lies beyond is graded
// critical with [RuleTooComplex] instead of being left unread.
const (
	// MaxLine is the longest command line, in bytes, that is analysed
	// (64 KiB, twice the longest line cmd.exe accepts eight times over). Of a
	// longer one only the first and the last MaxLine bytes are searched.
	MaxLine = 64 << 10
	// MaxPattern is the longest regular expression of a rule, in bytes.
	MaxPattern = 2048
	// MaxRules is the largest number of rules in one classifier.
	MaxRules = 4096

	// maxDepth bounds how many shells may be nested in one another.
	maxDepth = 6
	// maxWrappers bounds a chain such as `env nice timeout 5 …`.
	maxWrappers = 16
	// maxNesting bounds brackets and compound commands, which the parser and
	// the walk descend into recursively.
	maxNesting = 64
	// maxSteps bounds the statements and simple commands looked at, loops and
	// nested shells included.
	maxSteps = 8192
	// A line of n bytes may cause parsedFactor*n+parsedBase bytes to be parsed,
	// nested scripts included, and as many to be produced by expansions.
	parsedFactor, parsedBase = 4, 16 << 10
	// maxWords bounds what brace expansion may make of one word.
	maxWords = 256
	// maxValue bounds the text a variable or a static pipeline may grow to.
	maxValue = MaxLine
	// maxPatterns bounds the patterns that may stand for programs: each is
	// compared with the name of every program.
	maxPatterns = 32
	// maxItems bounds the values of a loop variable that are tried one by one.
	maxItems = 8
)

// offset32 narrows an offset, index or count. All of them are bounded by the
// limits above, far below what an int32 holds.
func offset32(n int) int32 { return int32(n) } //nolint:gosec // bounded by the limits above
