package conformance

import (
	"fmt"
	"strings"
	"testing"
)

// frameNamed is a notification whose method is the name.
func frameNamed(t *testing.T, name string) *frame {
	t.Helper()
	params := "{}"
	if method, piece, ok := strings.Cut(name, "="); ok {
		name, params = method, fmt.Sprintf(`{"s":%q}`, piece)
	}
	f, err := parseFrame(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, name, params))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestBlock offers frames to runs of steps. A step is its prefix and the method
// it wants; with "=" the text that its pieces add up to. The first frame that
// must be refused is marked with "!".
func TestBlock(t *testing.T) {
	for _, tt := range []struct {
		name   string
		steps  string
		frames string
		done   bool
	}{
		{"in order", "< a, < b", "a b", true},
		{"missing", "< a, < b", "a", false},
		{"wrong order", "< a, < b", "!b", false},
		{"too many", "< a", "a !a", true},
		{"unordered", "<~ a, <~ b, <~ c", "c a b", true},
		{"unordered takes each once", "<~ a, <~ b", "a !a", false},
		{"lanes keep their order", "<~x a, <~y b, <~x c", "b a c", true},
		{"lanes refuse another order", "<~x a, <~y b, <~x c", "b !c", false},
		{"same frame in two lanes", "<~x a, <~x b, <~y a, <~y c", "a a c b", true},
		{"optional comes", "<? a, < b", "a b", true},
		{"optional stays away", "<? a, < b", "b", true},
		{"optional comes too late", "<? a, < b", "b !a", true},
		{"several optional", "<? a, <? b, < c", "b c", true},
		{"optional in a lane", "<~x? a, <~x b, <~y c", "c b", true},
		{"only optional is done", "<~x a, <~x? b, <~x c", "a c", true},
		{"pieces", "<+ a=xyz, < b", "a=x a=yz b", true},
		{"one piece", "<+ a=xyz, < b", "a=xyz b", true},
		{"pieces too short", "<+ a=xyz, < b", "a=xy !b", false},
		{"pieces too long", "<+ a=xyz", "a=xy !a=zz", false},
		{"empty piece", "<+ a=xyz", "!a=", false},
		{"two texts after one another", "<+ a=xy, <+ a=xy", "a=xy a=x a=y", true},
		{"pieces in lanes", "<~x+ a=xy, <~y+ b=zz", "a=x b=z b=z a=y", true},
		{"optional pieces never start", "<~x? a, <~x+ b=xy", "b=x b=y", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var steps []*expectation
			for i, step := range strings.Split(tt.steps, ", ") {
				prefix, name, _ := strings.Cut(step, " ")
				text := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{}}`, name)
				if method, whole, ok := strings.Cut(name, "="); ok {
					text = fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"s":"<join:%s>"}}`, method, whole)
				}
				e, err := parseExpectation(i, prefix, text)
				if err != nil {
					t.Fatal(err)
				}
				steps = append(steps, e)
			}
			b, s := newBlock(steps), &scope{ids: map[string]string{}}
			for name := range strings.FieldsSeq(tt.frames) {
				name, refused := strings.CutPrefix(name, "!")
				if r := b.offer(s, frameNamed(t, name)); (r != nil) != refused {
					t.Fatalf("frame %s: want refused %v, got %+v", name, refused, r)
				}
			}
			if b.done() != tt.done {
				t.Errorf("want done %v, got %v; next %+v", tt.done, b.done(), b.next())
			}
		})
	}
}

// TestRefusal shows that a failure speaks of the step that came closest.
func TestRefusal(t *testing.T) {
	parse := func(line int, text string) *expectation {
		e, err := parseExpectation(line, "<~", text)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	other := parse(1, `{"jsonrpc":"2.0","method":"other"}`)
	same := parse(2, `{"jsonrpc":"2.0","method":"wanted","params":{"a":1,"b":2,"c":3}}`)
	f, err := parseFrame(`{"jsonrpc":"2.0","method":"wanted","params":{"a":9,"b":9,"c":9}}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range [][]*expectation{{other, same}, {same, other}} {
		r := newBlock(order).offer(&scope{ids: map[string]string{}}, f)
		if r == nil || r.step != same || len(r.problems) != 3 {
			t.Errorf("want three problems with the frame of the same method, got %+v", r)
		}
	}
	finished := newBlock([]*expectation{same})
	finished.lanes[0].pos = 1
	if r := finished.offer(&scope{}, f); r == nil || r.step != nil {
		t.Errorf("want a refusal without a step, got %+v", r)
	}
}

// TestRefusedFrameTeachesNothing shows that captures of a step that does not
// match are forgotten.
func TestRefusedFrameTeachesNothing(t *testing.T) {
	e, err := parseExpectation(1, "<", `{"jsonrpc":"2.0","id":"<id:call>","method":"a"}`)
	if err != nil {
		t.Fatal(err)
	}
	s := &scope{ids: map[string]string{}}
	f, err := parseFrame(`{"jsonrpc":"2.0","id":"srv_1","method":"b"}`)
	if err != nil {
		t.Fatal(err)
	}
	if r := newBlock([]*expectation{e}).offer(s, f); r == nil || len(s.ids) != 0 {
		t.Errorf("want a refusal and no capture, got %+v and %v", r, s.ids)
	}
}
