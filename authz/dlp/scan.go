package dlp

import (
	"maps"
	"slices"
	"strings"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/internal/match"
)

// Options changes how a scanner redacts. The zero value is the published
// behaviour.
type Options struct {
	// StrictMask replaces every value of fewer than sixteen characters by
	// "***" instead of showing six of them.
	StrictMask bool
}

// Scanner holds the tables. It is immutable and safe for concurrent use.
// Building one takes a millisecond or two; expressions are compiled when a text
// first needs them.
type Scanner struct {
	light    *match.Set
	heavy    *match.Set
	alphabet *alphabet
	opts     Options
}

// New returns a scanner.
func New(opts Options) *Scanner {
	return &Scanner{light: match.New(lightweight()), heavy: match.New(heavy()), alphabet: newAlphabet(), opts: opts}
}

// Report is what a scan found. It is immutable. The zero value found nothing.
type Report struct {
	categories []string
}

// Blocked reports whether the payload must not leave.
func (r Report) Blocked() bool { return len(r.categories) > 0 }

// Categories returns the names of the shapes that were found, sorted, each
// once. It is never nil.
func (r Report) Categories() []string { return append([]string{}, r.categories...) }

// Scan looks for everything that must not leave in the given band. A band that
// is not one of the four is searched like a critical one.
func (s *Scanner) Scan(p Payload, band authz.Band) Report {
	found := map[string]bool{}
	note := func(name string) { found[name] = true }
	s.scanPayload(p.root, s.setsFor(band), note)
	return Report{categories: slices.Sorted(maps.Keys(found))}
}

// setsFor returns the tables of a band.
func (s *Scanner) setsFor(band authz.Band) []*match.Set {
	switch band {
	case authz.Low, authz.Medium:
		return []*match.Set{s.light}
	case authz.BandUnknown, authz.High, authz.Critical:
		return []*match.Set{s.light, s.heavy}
	default:
		return []*match.Set{s.light, s.heavy}
	}
}

func (s *Scanner) scanPayload(root *node, sets []*match.Set, note func(string)) {
	if root == nil {
		return
	}
	root.leaves("", func(name string, leaf *node) { s.scanText(label(name)+leaf.text, sets, note) })
	s.scanSiblings(root, note)
}

// scanText searches all readings of one text.
func (s *Scanner) scanText(text string, sets []*match.Set, note func(string)) {
	s.scanPlain(text, sets, note)
	s.scanEncoded(text, sets, note)
	if n := normalized(text); n != text {
		s.scanPlain(n, sets, note)
		s.scanEncoded(n, sets, note)
	}
}

func (s *Scanner) scanPlain(text string, sets []*match.Set, note func(string)) {
	for _, set := range sets {
		for _, h := range set.First(text) {
			note(set.Name(h.Pattern))
		}
	}
}

func (s *Scanner) scanEncoded(text string, sets []*match.Set, note func(string)) {
	for _, read := range []func(string) string{percentDecoded, formDecoded} {
		if d := read(text); d != text {
			s.scanPlain(d, sets, note)
		}
	}
	if lines := escapedLines(text); lines != "" {
		s.scanPlain(unescaped(lines), sets, note)
	}
	s.alphabet.encoded(text, func(_, _ int, hidden string) { s.scanPlain(hidden, sets, note) })
}

// scanSiblings searches what the strings of one object or array are together.
// Only shapes with a prefix of their own count: numbers and addresses arise by
// chance where two strings meet.
func (s *Scanner) scanSiblings(n *node, note func(string)) {
	together := 0
	var all strings.Builder
	for _, child := range n.nodes {
		if child.kind == aString && child.text != "" {
			all.WriteString(child.text)
			together++
		}
		s.scanSiblings(child, note)
	}
	if together < 2 {
		return
	}
	for _, h := range s.light.First(all.String()) {
		if name := s.light.Name(h.Pattern); prefixed(name) {
			note(name)
		}
	}
}

// prefixed reports whether a shape begins with a mark that nothing else has.
func prefixed(name string) bool {
	switch name {
	case "openai_key", "stripe_live_key", "stripe_test_key", "aws_access_key", "private_key", "github_token", "slack_token", "jwt":
		return true
	default:
		return false
	}
}
