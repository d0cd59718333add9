package dlp

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/internal/match"
)

// covered is what replaces a value of which nothing may be shown.
const covered = "***"

// How many characters of a value a mask shows, and up to which length it shows
// none.
const (
	shownBefore = 4
	shownAfter  = 2
	coverUpTo   = 6
	strictUpTo  = 15
)

// Mask replaces a value: the first four characters, an ellipsis, the last two;
// or "***" if it has six characters or fewer. Characters are Unicode code
// points, so that no character is cut.
func Mask(value string) string { return mask(value, coverUpTo) }

func mask(value string, hidden int) string {
	if utf8.RuneCountInString(value) <= hidden {
		return covered
	}
	r := []rune(value)
	return string(r[:shownBefore]) + ellipsis + string(r[len(r)-shownAfter:])
}

// maxPasses bounds how often a text is masked before all of it is covered.
// Each pass after the first replaces at least six characters by three, and
// random adversarial texts need two.
const maxPasses = 16

// Redact returns a payload in which every finding of [Scanner.Scan] in the same
// band is masked. Scanning the result finds nothing.
func (s *Scanner) Redact(p Payload, band authz.Band) Payload {
	if p.root == nil {
		return p
	}
	sets := s.setsFor(band)
	root := p.root.clone()
	s.redactNode(root, "", sets)
	out := Payload{root: root}
	if s.Scan(out, band).Blocked() {
		// What is left arises between the parts. Nothing shows which part is
		// harmless, so none is shown.
		root.cover()
	}
	return out
}

// cover hides every value and name of a tree.
func (n *node) cover() {
	if n.name != "" {
		n.name = covered
	}
	if n.kind == aString || n.kind == aLiteral {
		n.kind, n.text = aString, covered
	}
	for _, child := range n.nodes {
		child.cover()
	}
}

func (s *Scanner) redactNode(n *node, name string, sets []*match.Set) {
	if n.name != "" {
		n.name = s.redactText("", n.name, sets)
		name = n.name
	}
	if n.kind == aString || n.kind == aLiteral {
		// First alone, then with its name, so that a name can only add.
		text := s.redactText("", n.text, sets)
		if text = s.redactText(label(name), text, sets); text != n.text {
			n.kind, n.text = aString, text
		}
		return
	}
	for _, child := range n.nodes {
		s.redactNode(child, name, sets)
	}
	var left bool
	s.scanSiblings(&node{nodes: n.nodes}, func(string) { left = true })
	for i := 0; left && i < len(n.nodes); i++ {
		if n.nodes[i].kind == aString {
			n.nodes[i].text = covered
		}
	}
}

// redactText masks what is found in text when it stands after a label. The
// label itself is not changed. In the end all readings of the text are clean,
// or it is covered whole.
func (s *Scanner) redactText(before, text string, sets []*match.Set) string {
	hidden := coverUpTo
	if s.opts.StrictMask {
		hidden = strictUpTo
	}
	for range maxPasses {
		next, did := s.pass(before, text, hidden, sets)
		text = next
		switch did {
		case clean:
			return text
		case masked:
			// Masks can make new word boundaries and so new findings; those
			// leave nothing to be shown.
			hidden = math.MaxInt
		case reread:
		}
	}
	return covered
}

// passed is what one pass over a text did.
type passed uint8

const (
	clean  passed = iota // nothing was found
	masked               // something was masked
	reread               // another reading has taken the text's place
)

// pass masks once: what is found in the text as it is, or else in what it
// hides, or else in another reading, which then takes its place.
func (s *Scanner) pass(before, text string, hidden int, sets []*match.Set) (string, passed) {
	whole := before + text
	if spans := s.spans(whole, sets); len(spans) > 0 {
		return replace(text, len(before), spans, func(v string) string { return mask(v, hidden) }), masked
	}
	var spans []span
	s.alphabet.encoded(whole, func(lo, hi int, decoded string) {
		if len(s.spans(decoded, sets)) > 0 {
			spans = append(spans, span{lo, hi})
		}
	})
	if len(spans) > 0 {
		return replace(text, len(before), spans, func(string) string { return covered }), masked
	}
	for _, r := range s.readings() {
		if other := r.read(text); other != text && r.found(before+other, sets) {
			return other, reread
		}
		if other := r.read(whole); other != whole && r.found(other, sets) {
			return covered, masked
		}
	}
	if s.plain(unescaped(escapedLines(whole)), sets) {
		if other := unescaped(text); other != text {
			return other, reread
		}
		return covered, masked
	}
	return text, clean
}

// reading is another way to read a text, and how a scan searches it.
type reading struct {
	read  func(text string) string
	found func(text string, sets []*match.Set) bool
}

func (s *Scanner) readings() []reading {
	return []reading{{percentDecoded, s.plain}, {formDecoded, s.plain}, {normalized, s.dirty}}
}

// plain reports whether anything is found in the text as it is.
func (s *Scanner) plain(text string, sets []*match.Set) bool {
	found := false
	s.scanPlain(text, sets, func(string) { found = true })
	return found
}

// dirty reports whether anything is found in the text as it is or hidden in it.
func (s *Scanner) dirty(text string, sets []*match.Set) bool {
	found := s.plain(text, sets)
	s.scanEncoded(text, sets, func(string) { found = true })
	return found
}

// span is a part of a text, in bytes.
type span struct{ lo, hi int }

// spans returns where the values of all findings are, sorted; parts that
// overlap become one, because masking them one after the other would leave the
// tail of the longer one.
func (s *Scanner) spans(text string, sets []*match.Set) []span {
	var all []span
	for _, set := range sets {
		for _, h := range set.All(text) {
			all = append(all, span{h.From, h.To})
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(a.lo-b.lo, a.hi-b.hi) })
	merged := all[:0]
	for _, sp := range all {
		if n := len(merged); n > 0 && sp.lo < merged[n-1].hi {
			merged[n-1].hi = max(merged[n-1].hi, sp.hi)
			continue
		}
		merged = append(merged, sp)
	}
	return merged
}

// replace rewrites the spans of a text that stands at an offset in what was
// searched. What lies before the text stays; if nothing of a finding lies in
// the text, all of the text is covered.
func replace(text string, offset int, spans []span, with func(string) string) string {
	var out strings.Builder
	done := 0
	for _, sp := range spans {
		lo, hi := max(sp.lo-offset, done), sp.hi-offset
		if hi <= lo {
			continue
		}
		out.WriteString(text[done:lo])
		out.WriteString(with(text[lo:hi]))
		done = hi
	}
	if done == 0 {
		return covered
	}
	out.WriteString(text[done:])
	return out.String()
}
