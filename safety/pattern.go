package safety

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Pattern is one rule, the CommandSafetyPattern of the protocol. All seven
// fields are required.
type Pattern struct {
	// ID identifies the rule in results and configuration. Unique in a set.
	ID string `json:"id"`
	// Label is a short name for people.
	Label string `json:"label"`
	// Description says why the rule exists.
	Description string `json:"description"`
	// Pattern is a regular expression in the dialect of package regexp. It is
	// searched, not anchored, in the trimmed full command line. With platform
	// windows it ignores case.
	Pattern string `json:"pattern"`
	// Category is a free-form bucket.
	Category string `json:"category"`
	// Severity is [Critical] or [Warning].
	Severity Severity `json:"severity"`
	// Platform is [PlatformAll], [PlatformUnix] or [PlatformWindows].
	Platform Platform `json:"platform"`
}

// Errors that [PatternError] wraps, for callers that compare.
var (
	// ErrPatternField is a field that is missing, empty, unknown or out of
	// its value set.
	ErrPatternField = errors.New("invalid field")
	// ErrPatternSyntax is a regular expression that package regexp rejects, or
	// that means something else here than where it was probably written for.
	ErrPatternSyntax = errors.New("unsupported regular expression")
	// ErrPatternDuplicate is an id that the set already holds.
	ErrPatternDuplicate = errors.New("duplicate rule id")
	// ErrPatternUnknown is an id that the set does not hold.
	ErrPatternUnknown = errors.New("unknown rule id")
	// ErrTooManyRules is a set larger than MaxRules.
	ErrTooManyRules = errors.New("too many rules")
)

// PatternError says which rule was refused, and for what.
type PatternError struct {
	// ID is the rule's id; empty when the rule has none.
	ID string
	// Field is the field at fault, by its JSON name.
	Field string
	// Construct is the offending piece of the value, empty when all of it is.
	Construct string
	// Offset is where Construct starts, in bytes.
	Offset int
	// Hint says how to rewrite it; may be empty.
	Hint string
	// Err is one of the ErrPattern values.
	Err error
}

// Error names the rule, the field, the construct and its offset.
func (e *PatternError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "safety rule %q: %s: %v", e.ID, e.Field, e.Err)
	if e.Construct != "" {
		fmt.Fprintf(&b, ": %q at offset %d", e.Construct, e.Offset)
	}
	if e.Hint != "" {
		b.WriteString(": " + e.Hint)
	}
	return b.String()
}

// Unwrap returns the class of the error.
func (e *PatternError) Unwrap() error { return e.Err }

// UnmarshalJSON decodes strictly: an object with exactly the seven fields, all
// of them strings, as the schema demands (additionalProperties is false so that
// rules mean the same in every runtime). It does not compile the pattern;
// [Pattern.Validate] does.
func (p *Pattern) UnmarshalJSON(data []byte) error {
	fields, err := decodeFields(data)
	if err != nil {
		return err
	}
	id := fields["id"]
	targets := map[string]*string{
		"id": &p.ID, "label": &p.Label, "description": &p.Description, "pattern": &p.Pattern,
		"category": &p.Category, "severity": (*string)(&p.Severity), "platform": (*string)(&p.Platform),
	}
	for name := range fields {
		if targets[name] == nil {
			return &PatternError{ID: id, Field: name, Err: ErrPatternField, Hint: "not a field of a rule"}
		}
	}
	for _, name := range []string{"id", "label", "description", "pattern", "category", "severity", "platform"} {
		value, ok := fields[name]
		if !ok {
			return &PatternError{ID: id, Field: name, Err: ErrPatternField, Hint: "required"}
		}
		*targets[name] = value
	}
	return nil
}

// decodeFields reads a flat object of strings. encoding/json alone would
// accept a repeated key and letters in another case, and both let two runtimes
// read two different rules.
func decodeFields(data []byte) (map[string]string, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("read safety rule: %w", err)
	}
	if open != json.Delim('{') {
		return nil, &PatternError{Field: "rule", Err: ErrPatternField, Hint: "must be an object"}
	}
	fields := map[string]string{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read safety rule: %w", err)
		}
		name, _ := key.(string)
		if _, seen := fields[name]; seen {
			return nil, &PatternError{ID: fields["id"], Field: name, Err: ErrPatternField, Hint: "given twice"}
		}
		value, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read safety rule: %w", err)
		}
		text, ok := value.(string)
		if !ok {
			return nil, &PatternError{ID: fields["id"], Field: name, Err: ErrPatternField, Hint: "must be a string"}
		}
		fields[name] = text
	}
	return fields, nil
}

// DecodePatterns reads a JSON array of rules strictly and validates each. It
// returns the rules that hold together with the joined errors of those that do
// not, so that one bad rule of a file does not switch the others off; a caller
// that gets an error must treat its rule set as incomplete.
func DecodePatterns(data []byte) ([]Pattern, error) {
	var raw []json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&raw); err != nil {
		return nil, fmt.Errorf("read safety rules: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read safety rules: %w: data after the array", ErrPatternField)
	}
	if raw == nil {
		return nil, fmt.Errorf("read safety rules: %w: null is no array", ErrPatternField)
	}
	var patterns []Pattern
	var errs []error
	for _, item := range raw {
		var p Pattern
		if err := p.UnmarshalJSON(item); err != nil {
			errs = append(errs, err)
			continue
		}
		if err := p.Validate(); err != nil {
			errs = append(errs, err)
			continue
		}
		patterns = append(patterns, p)
	}
	return patterns, errors.Join(errs...)
}

// Validate checks p against the rules of its schema and compiles its regular
// expression. The error is a [*PatternError].
func (p Pattern) Validate() error {
	// The schema asks only for strings. An empty id cannot be reported and an
	// empty expression matches every command, so both are mistakes.
	for _, f := range []struct{ name, value string }{{"id", p.ID}, {"pattern", p.Pattern}} {
		if f.value == "" {
			return &PatternError{ID: p.ID, Field: f.name, Err: ErrPatternField, Hint: "must not be empty"}
		}
	}
	if p.Severity != Critical && p.Severity != Warning {
		return &PatternError{ID: p.ID, Field: "severity", Construct: string(p.Severity), Err: ErrPatternField, Hint: "critical or warning"}
	}
	switch p.Platform {
	case PlatformAll, PlatformUnix, PlatformWindows:
	default:
		return &PatternError{ID: p.ID, Field: "platform", Construct: string(p.Platform), Err: ErrPatternField, Hint: "all, unix or windows"}
	}
	if len(p.Pattern) > MaxPattern {
		return &PatternError{ID: p.ID, Field: "pattern", Err: ErrPatternField, Hint: fmt.Sprintf("longer than %d bytes", MaxPattern)}
	}
	return checkDialect(p)
}

// expression is the pattern as it is compiled: rules of Windows ignore case,
// as in the reference.
func (p Pattern) expression() string {
	if p.Platform == PlatformWindows {
		return "(?i)" + p.Pattern
	}
	return p.Pattern
}
