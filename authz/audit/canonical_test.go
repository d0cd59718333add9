package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/steerable-go/sidecar/authz/audit"
)

// reference writes a string as RFC 8785 says, one byte at a time.
func reference(s string) string {
	short := map[byte]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`}
	const digits = "0123456789abcdef"
	var out strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case short[c] != "":
			out.WriteString(short[c])
		case c < ' ':
			out.WriteString(`\u00` + string(digits[c>>4]) + string(digits[c&15]))
		default:
			out.WriteByte(c)
		}
	}
	return `"` + out.String() + `"`
}

// Strings of every length around eight bytes, with what must be escaped at every
// place, come out as the rule says and read back as they were.
func TestCanonicalStrings(t *testing.T) {
	char := rapid.OneOf(rapid.SampledFrom([]rune("\"\\\b\t\n\f\r\x00\x1f /!#[]^\x7f")), rapid.RuneFrom([]rune("azé日😀")))
	rapid.Check(t, func(rt *rapid.T) {
		f := audit.Fields{
			Owner: rapid.StringOfN(char, 0, 20, -1).Draw(rt, "owner"), Action: rapid.StringOfN(char, 0, 20, -1).Draw(rt, "action"),
			Capability: rapid.StringOfN(char, 7, 9, -1).Draw(rt, "capability"), Decision: rapid.StringOfN(char, 0, 3, -1).Draw(rt, "decision"),
		}
		r, err := audit.NewRecord(f, rapid.Uint64().Draw(rt, "sequence"), audit.HashOf([]byte("before")))
		if err != nil {
			rt.Fatal(err)
		}
		got := string(r.AppendCanonical(nil))
		for name, value := range map[string]string{"owner": f.Owner, "action": f.Action, "capability": f.Capability, "decision": f.Decision, "risk": ""} {
			if want := `"` + name + `":` + reference(value); !strings.Contains(got, want) {
				rt.Errorf("%s has no %s", got, want)
			}
		}
		back, err := audit.ParseRecord([]byte(got))
		if err != nil || back != r || back.Hash() != r.Hash() {
			rt.Errorf("%s reads back as %+v, %v", got, back, err)
		}
		if !json.Valid([]byte(got)) {
			rt.Errorf("%s is not JSON", got)
		}
	})
}

func TestRecordTellsWhatItWasGiven(t *testing.T) {
	prev := audit.HashOf([]byte("x"))
	r, err := audit.NewRecord(audit.Fields{Owner: "o", Action: "a", Capability: "c", Decision: "d", Risk: "r", Meta: []byte(`{}`)}, 7, prev)
	if err != nil {
		t.Fatal(err)
	}
	detail, ok := r.Detail()
	if r.Owner() != "o" || r.Action() != "a" || r.Capability() != "c" || r.Decision() != "d" || r.Risk() != "r" ||
		r.Sequence() != 7 || r.PrevHash() != prev || !ok || detail != audit.HashOf([]byte(`{}`)) {
		t.Errorf("%+v", r)
	}
	if _, ok := (audit.Record{}).Detail(); ok {
		t.Error("an empty record has a detail")
	}
	if _, err := audit.NewRecord(audit.Fields{Risk: "\xff"}, 0, audit.Hash{}); !errors.Is(err, audit.ErrShape) {
		t.Errorf("invalid UTF-8: %v", err)
	}
}

// Records that do not fit into the buffer on the stack hash the same.
func TestLongRecords(t *testing.T) {
	for _, n := range []int{0, 50, 100, 150, 200, 1000, 100_000} {
		r, err := audit.NewRecord(audit.Fields{Action: strings.Repeat("x", n)}, 0, audit.Hash{})
		if err != nil || r.Hash() != audit.HashOf(r.AppendCanonical(nil)) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestEscapesThatAreNone(t *testing.T) {
	r, err := audit.NewRecord(audit.Fields{Action: "here"}, 0, audit.Hash{})
	if err != nil {
		t.Fatal(err)
	}
	good := string(r.AppendCanonical(nil))
	for _, bad := range []string{`\x`, `\u12`, `\u12g4`, `\ud800`, `\ud800\n`, `\ud800A`, `\udc00`, `\ufffd`, "\x01", "\\b\xff", `\`, `\u`} {
		if _, err := audit.ParseRecord([]byte(strings.Replace(good, "here", bad, 1))); !errors.Is(err, audit.ErrShape) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, cut := range []string{`{"action":"a\`, `{"action":"a\n`, `{"action":"a\u00`, `{"action":"`} {
		if _, err := audit.ParseRecord([]byte(cut)); !errors.Is(err, audit.ErrShape) {
			t.Errorf("%q: %v", cut, err)
		}
	}
}

func TestLineErrors(t *testing.T) {
	err := &audit.LineError{Code: audit.CodeShape, Err: audit.ErrShape}
	if !errors.Is(err, audit.ErrShape) || err.Error() != "SHAPE: "+audit.ErrShape.Error() {
		t.Errorf("%v", err)
	}
}

// A line that a reader would refuse for its length is never made: the chain
// would end there.
func TestNextRefusesLongFields(t *testing.T) {
	for _, f := range []audit.Fields{
		{Owner: strings.Repeat("o", audit.MaxLine)},
		{Owner: "u1", Capability: strings.Repeat("\x01", audit.MaxLine/12)}, // six bytes each
		{Owner: "u1", Meta: []byte(`{"a":"` + strings.Repeat("m", audit.MaxLine) + `"}`)},
	} {
		if _, _, err := (audit.Head{}).Next(f); !errors.Is(err, audit.ErrShape) {
			t.Errorf("%d bytes of owner, %d of capability, %d of meta: %v", len(f.Owner), len(f.Capability), len(f.Meta), err)
		}
	}
	f := audit.Fields{Owner: strings.Repeat("\x01", audit.MaxLine/13), Meta: []byte(`{"a":1}`)}
	e, _, err := (audit.Head{}).Next(f)
	if err != nil {
		t.Fatal(err)
	}
	for got, err := range audit.Lines(bytes.NewReader(e.AppendLine(nil))) {
		if err != nil || got.Hash() != e.Hash() {
			t.Errorf("the longest line: %v", err)
		}
	}
}
