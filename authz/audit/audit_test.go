package audit_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/steerable-go/sidecar/authz/audit"
)

func TestVectors(t *testing.T) {
	for i, r := range rows(t) {
		t.Run(fmt.Sprintf("%02d %s", i, r.Why), func(t *testing.T) {
			if r.Input.Op == "hash" {
				rec, err := audit.ParseRecord(r.Input.Record)
				if err != nil {
					t.Fatal(err)
				}
				if got := string(rec.AppendCanonical(nil)); got != r.Want.Canonical {
					t.Errorf("canonical\n got %s\nwant %s", got, r.Want.Canonical)
				}
				if got := rec.Hash().String(); got != r.Want.EventHash {
					t.Errorf("hash %s, want %s", got, r.Want.EventHash)
				}
				return
			}
			var opts audit.Options
			if a := r.Input.Anchor; a != nil {
				h, err := audit.ParseHash(a.Head)
				if err != nil {
					t.Fatal(err)
				}
				opts.Anchor = &audit.Anchor{Owner: a.Owner, Head: audit.Head{Count: a.Count, Hash: h}}
			}
			entries := audit.Lines(strings.NewReader(r.Input.Text))
			if r.Input.Op == "verify" {
				entries = parsed(r.Input.Lines)
			}
			res := audit.Verify(entries, opts)
			if res.OK != r.Want.OK || string(res.Code) != r.Want.Code {
				t.Errorf("ok %v code %q (%v), want %v %q", res.OK, res.Code, res.Err, r.Want.OK, r.Want.Code)
			}
			if w := r.Want.At; w != nil && *w != res.At {
				t.Errorf("at %d, want %d", res.At, *w)
			}
			if w := r.Want.Records; w != nil && *w != res.Records {
				t.Errorf("records %d, want %d", res.Records, *w)
			}
			if w := r.Want.TailPinned; w != nil && *w != res.TailPinned {
				t.Errorf("tailPinned %v, want %v", res.TailPinned, *w)
			}
		})
	}
}

func parsed(lines []json.RawMessage) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		for _, l := range lines {
			e, err := audit.ParseLine(l)
			if err != nil {
				err = &audit.LineError{Code: audit.CodeShape, Err: err}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// chain returns n entries of one owner and the head after them.
func chain(t testing.TB, n int) ([]audit.Entry, audit.Head) {
	t.Helper()
	var head audit.Head
	var out []audit.Entry
	for i := range n {
		f := audit.Fields{Owner: "u1", Action: fmt.Sprintf("tool:t%d", i), Capability: "file.read", Decision: "ALLOW", Risk: "low"}
		if i%2 == 1 {
			f.Meta = fmt.Appendf(nil, `{"call":"c%d","note":"a \"b\" {"}`, i)
		}
		e, next, err := head.Next(f)
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 2 {
			if e, err = e.WithSignature("c2ln", "a1b2"); err != nil {
				t.Fatal(err)
			}
		}
		out, head = append(out, e), next
	}
	return out, head
}

func file(entries []audit.Entry) []byte {
	var out []byte
	for _, e := range entries {
		out = e.AppendLine(out)
	}
	return out
}

func verify(data []byte, opts audit.Options) audit.Result {
	return audit.Verify(audit.Lines(bytes.NewReader(data)), opts)
}

func TestRoundTrip(t *testing.T) {
	entries, head := chain(t, 9)
	res := verify(file(entries), audit.Options{})
	if !res.OK || res.Records != 9 || res.Head != head || res.Owner != "u1" || res.TailPinned || res.Signed != 3 {
		t.Fatalf("verify: %+v", res)
	}
	i := 0
	for e, err := range audit.Lines(bytes.NewReader(file(entries))) {
		if err != nil {
			t.Fatal(err)
		}
		want := entries[i]
		if e.Record() != want.Record() || e.Hash() != want.Hash() || !bytes.Equal(e.Meta(), want.Meta()) {
			t.Errorf("entry %d: %+v, want %+v", i, e, want)
		}
		gotSig, gotKid := e.Signature()
		if wantSig, wantKid := want.Signature(); gotSig != wantSig || gotKid != wantKid {
			t.Errorf("entry %d: signature %q %q", i, gotSig, gotKid)
		}
		i++
	}
}

// Every byte of a chain file, changed to every kind of other byte, is found.
// The signatures' own bytes are the exception without a key: they guard the
// record, the record does not guard them.
func TestAnySingleByteChangeIsFound(t *testing.T) {
	entries, head := chain(t, 6)
	data := file(entries)
	signed := func(e audit.Entry) bool { sig, kid := e.Signature(); return sig == "c2ln" && kid == "a1b2" }
	opts := audit.Options{Signature: signed, Anchor: &audit.Anchor{Owner: "u1", Head: head}}
	if res := verify(data, opts); !res.OK || !res.TailPinned {
		t.Fatalf("untouched: %+v", res)
	}
	for i := range data {
		for _, c := range []byte{data[i] ^ 1, data[i] ^ 0x20, data[i] + 1, ' ', '\n', '"', '}', '0', 0, 0xff} {
			if c == data[i] {
				continue
			}
			bad := bytes.Clone(data)
			bad[i] = c
			if res := verify(bad, opts); res.OK {
				t.Fatalf("byte %d %q changed to %q: not found\n%s", i, data[i], c, bad)
			}
		}
	}
	for i := range data { // and every single byte removed
		bad := append(bytes.Clone(data[:i]), data[i+1:]...)
		if res := verify(bad, opts); res.OK {
			t.Fatalf("byte %d removed: not found", i)
		}
	}
}

func TestTampering(t *testing.T) {
	entries, head := chain(t, 5)
	anchor := &audit.Anchor{Owner: "u1", Head: head}
	other, _, err := entriesHead(entries, 4).Next(audit.Fields{Owner: "u1", Action: "forged"})
	if err != nil {
		t.Fatal(err)
	}
	pick := func(idx ...int) []audit.Entry {
		var out []audit.Entry
		for _, i := range idx {
			out = append(out, entries[i])
		}
		return out
	}
	mid := entriesHead(entries, 3)
	for _, tt := range []struct {
		name    string
		entries []audit.Entry
		opts    audit.Options
		code    audit.Code
		records uint64
		pinned  bool
	}{
		{"whole", entries, audit.Options{Anchor: anchor}, "", 5, true},
		{"no anchor", entries, audit.Options{}, "", 5, false},
		{"dropped", pick(0, 2, 3, 4), audit.Options{}, audit.CodeSequence, 1, false},
		{"swapped", pick(0, 2, 1, 3, 4), audit.Options{}, audit.CodeSequence, 1, false},
		{"replayed", pick(0, 1, 1, 2), audit.Options{}, audit.CodeSequence, 2, false},
		{"first dropped", pick(1, 2), audit.Options{}, audit.CodeSequence, 0, false},
		{"tail dropped, unseen without an anchor", pick(0, 1, 2), audit.Options{}, "", 3, false},
		{"tail dropped", pick(0, 1, 2), audit.Options{Anchor: anchor}, audit.CodeTruncated, 3, false},
		{"everything dropped", nil, audit.Options{Anchor: anchor}, audit.CodeTruncated, 0, false},
		{"last forged", append(pick(0, 1, 2, 3), other), audit.Options{Anchor: anchor}, audit.CodeAnchorMismatch, 5, false},
		{"last forged, unseen without an anchor", append(pick(0, 1, 2, 3), other), audit.Options{}, "", 5, false},
		{"grown since the anchor", entries, audit.Options{Anchor: &audit.Anchor{Owner: "u1", Head: mid}}, "", 5, false},
		{"anchor of another owner", entries, audit.Options{Anchor: &audit.Anchor{Owner: "u2", Head: head}}, audit.CodeAnchorMismatch, 5, false},
		{"anchor of another chain", entries, audit.Options{Anchor: &audit.Anchor{Owner: "u1", Head: audit.Head{Count: 5}}}, audit.CodeAnchorMismatch, 5, false},
		{"empty and pinned as empty", nil, audit.Options{Anchor: &audit.Anchor{Owner: "u1"}}, "", 0, true},
		{"empty anchor of another owner", entries, audit.Options{Anchor: &audit.Anchor{Owner: "u2"}}, audit.CodeAnchorMismatch, 5, false},
		{"impossible empty anchor", nil, audit.Options{Anchor: &audit.Anchor{Owner: "u1", Head: audit.Head{Hash: audit.Hash{1}}}}, audit.CodeAnchorMismatch, 0, false},
		{"another owner is expected", entries, audit.Options{Owner: "u2"}, audit.CodeOwner, 0, false},
		{"pruned", pick(3, 4), audit.Options{Start: mid, Anchor: anchor}, "", 2, true},
		{"pruned, wrong start", pick(3, 4), audit.Options{Start: audit.Head{Count: 3}}, audit.CodePrevHash, 0, false},
		{"pruned past the anchor", pick(3, 4), audit.Options{Start: mid, Anchor: &audit.Anchor{Owner: "u1", Head: entriesHead(entries, 2)}}, audit.CodeAnchorMismatch, 2, false},
		{"bad signature", entries, audit.Options{Signature: func(audit.Entry) bool { return false }}, audit.CodeSignature, 2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := verify(file(tt.entries), tt.opts)
			if res.Code != tt.code || res.OK != (tt.code == "") || res.Records != tt.records || res.TailPinned != tt.pinned {
				t.Errorf("got %+v, want code %q after %d records, pinned %v", res, tt.code, tt.records, tt.pinned)
			}
			if !res.OK && res.At != tt.records {
				t.Errorf("at %d, want %d", res.At, tt.records)
			}
		})
	}
}

// entriesHead is the head after the first n entries.
func entriesHead(entries []audit.Entry, n int) audit.Head {
	return audit.Head{Count: uint64(n), Hash: entries[n-1].Hash()}
}

func TestEndsOfFiles(t *testing.T) {
	entries, _ := chain(t, 3)
	whole := string(file(entries))
	cut := strings.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for _, tt := range []struct {
		name    string
		text    string
		code    audit.Code
		records uint64
	}{
		{"whole", whole, "", 3},
		{"nothing", "", "", 0},
		{"no final newline", whole[:len(whole)-1], audit.CodeNoFinalNewline, 3},
		{"torn", whole[:cut+20], audit.CodeTornTail, 2},
		{"torn in the last byte", whole[:len(whole)-2], audit.CodeTornTail, 2},
		{"only a torn line", whole[:30], audit.CodeTornTail, 0},
		{"zeros after a crash", whole[:cut] + strings.Repeat("\x00", 40), audit.CodeTornTail, 2},
		{"empty line inside", whole[:cut] + "\n" + whole[cut:], audit.CodeShape, 2},
		{"empty line at the end", whole + "\n", audit.CodeShape, 3},
		{"two records on one line", strings.Replace(whole, "}\n", "}", 1), audit.CodeShape, 0},
		{"carriage returns are blanks", strings.ReplaceAll(whole, "\n", "\r\n"), "", 3},
		{"too long a line", whole + strings.Repeat(" ", audit.MaxLine+1) + "\n", audit.CodeShape, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := verify([]byte(tt.text), audit.Options{})
			if res.Code != tt.code || res.Records != tt.records {
				t.Errorf("%+v, want %q after %d", res, tt.code, tt.records)
			}
		})
	}
}

func TestLinesToCountsEntries(t *testing.T) {
	entries, _ := chain(t, 3)
	whole := file(entries)
	for cut, want := range map[int]int{
		len(whole):                 len(whole),
		len(whole) - 1:             len(whole) - 1, // whole entry, no newline
		len(whole) - 2:             len(file(entries[:2])),
		len(file(entries[:1])) + 1: len(file(entries[:1])),
		len(file(entries[:1])):     len(file(entries[:1])),
		len(file(entries[:1])) / 2: 0,
	} {
		var end int64
		for range audit.LinesTo(bytes.NewReader(whole[:cut]), &end) {
			continue
		}
		if int(end) != want {
			t.Errorf("cut at %d: entries end at %d, want %d", cut, end, want)
		}
	}
}

func TestReadErrorsAreNotVerified(t *testing.T) {
	broken := errors.New("disk on fire")
	entries, _ := chain(t, 2)
	res := audit.Verify(audit.Lines(io.MultiReader(bytes.NewReader(file(entries)), iotest.ErrReader(broken))), audit.Options{})
	if res.OK || res.Code != audit.CodeShape || !errors.Is(res.Err, broken) || res.Records != 2 {
		t.Errorf("%+v", res)
	}
}

func TestParseRefuses(t *testing.T) {
	entries, _ := chain(t, 2)
	good := strings.TrimSuffix(string(file(entries[:1])), "\n")
	if _, err := audit.ParseLine([]byte(good)); err != nil {
		t.Fatal(err)
	}
	swap := func(from, to string) string {
		out := strings.Replace(good, from, to, 1)
		if out == good {
			t.Fatalf("%q is not in %s", from, good)
		}
		return out
	}
	for name, line := range map[string]string{
		"float":                    swap(`"sequence":0`, `"sequence":0.0`),
		"exponent":                 swap(`"sequence":0`, `"sequence":0e0`),
		"minus zero":               swap(`"sequence":0`, `"sequence":-0`),
		"negative":                 swap(`"sequence":0`, `"sequence":-1`),
		"leading zero":             swap(`"sequence":0`, `"sequence":00`),
		"too large":                swap(`"sequence":0`, `"sequence":18446744073709551616`),
		"number as text":           swap(`"sequence":0`, `"sequence":"0"`),
		"null field":               swap(`"risk":"low"`, `"risk":null`),
		"missing field":            swap(`,"risk":"low"`, ``),
		"unknown field":            swap(`"risk":"low"`, `"risk":"low","extra":1`),
		"repeated field":           swap(`"risk":"low"`, `"risk":"low","risk":"high"`),
		"escaped key":              swap(`"risk"`, `"ris\u006b"`),
		"key in another case":      swap(`"risk"`, `"Risk"`),
		"trailing comma":           swap(`"v":1}`, `"v":1,}`),
		"leading comma":            `{,` + good[1:],
		"missing comma":            swap(`,"record"`, `"record"`),
		"upper-case hash":          swap(`"event_hash":"sha256:`, `"event_hash":"SHA256:`),
		"hash of another length":   swap(`"event_hash":"sha256:`, `"event_hash":"sha256:0`),
		"no record":                `{"event_hash":"` + entries[0].Hash().String() + `","v":1}`,
		"no hash":                  `{"record":` + string(entries[0].Record().AppendCanonical(nil)) + `}`,
		"version 2":                swap(`"v":1`, `"v":2`),
		"signature without key id": swap(`"v":1`, `"v":1,"sig":"YQ"`),
		"meta without a digest":    swap(`"v":1`, `"v":1,"meta":{}`),
		"meta that is no object":   swap(`"v":1`, `"v":1,"meta":[]`),
		"unfinished meta":          swap(`"v":1`, `"v":1,"meta":{"a":"}`),
		"bytes after the entry":    good + "x",
		"second entry":             good + good,
		"invalid UTF-8":            swap(`tool:t0`, "tool:\xff"),
		"lone surrogate":           swap(`tool:t0`, `tool:\ud800`),
		"reversed surrogates":      swap(`tool:t0`, `tool:\udc00\ud800`),
		"raw control character":    swap(`tool:t0`, "tool:\x01"),
		"raw newline":              swap(`tool:t0`, "tool:\n"),
		"unknown escape":           swap(`tool:t0`, `tool:\x41`),
		"short escape":             swap(`tool:t0`, `tool:\u41`),
		"signed escape":            swap(`tool:t0`, `tool:\u+041`),
		"array":                    `[` + good + `]`,
		"comment":                  good + "//",
		"byte order mark":          "\ufeff" + good,
		"empty":                    "",
	} {
		if _, err := audit.ParseLine([]byte(line)); !errors.Is(err, audit.ErrShape) {
			t.Errorf("%s: %v, want %v\n%s", name, err, audit.ErrShape, line)
		}
	}
}

// Other spellings of the same values are the same entry.
func TestParseAccepts(t *testing.T) {
	entries, _ := chain(t, 1)
	want := entries[0]
	rec := string(want.Record().AppendCanonical(nil))
	for name, line := range map[string]string{
		"only what is needed": `{"event_hash":"` + want.Hash().String() + `","record":` + rec + `}`,
		"blanks":              " { \"record\" :\t" + rec + " , \"event_hash\" : \"" + want.Hash().String() + "\" } ",
		"escapes":             `{"event_hash":"` + want.Hash().String() + `","record":` + strings.Replace(rec, `tool:t0`, `\u0074ool\u003At0`, 1) + `}`,
	} {
		got, err := audit.ParseLine([]byte(line))
		if err != nil || got.Record() != want.Record() || got.Hash() != want.Hash() {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	got, err := audit.ParseRecord([]byte(strings.Replace(rec, `tool:t0`, `\ud83d\ude00\/\b\f\n\r\t\"\\`, 1)))
	if err != nil || got.Action() != "😀/\b\f\n\r\t\"\\" {
		t.Errorf("escapes: %q, %v", got.Action(), err)
	}
	if _, err := audit.ParseRecord([]byte(rec + "x")); !errors.Is(err, audit.ErrShape) {
		t.Errorf("bytes after the record: %v", err)
	}
}

func TestNextRefuses(t *testing.T) {
	for name, f := range map[string]audit.Fields{
		"invalid UTF-8":      {Owner: "u\xff"},
		"meta no object":     {Owner: "u", Meta: []byte(`1`)},
		"meta empty":         {Owner: "u", Meta: []byte{}},
		"meta no JSON":       {Owner: "u", Meta: []byte(`{`)},
		"meta of two lines":  {Owner: "u", Meta: []byte("{\n}")},
		"meta invalid UTF-8": {Owner: "u", Meta: []byte("{\"a\":\"\xff\"}")},
	} {
		start := audit.Head{Count: 3}
		if _, head, err := start.Next(f); !errors.Is(err, audit.ErrShape) || head != start {
			t.Errorf("%s: %v, head %+v", name, err, head)
		}
	}
	for _, bad := range []string{"a\"", "a\\", "a b", "a\n", "ä"} {
		if _, err := (audit.Entry{}).WithSignature(bad, "k"); !errors.Is(err, audit.ErrShape) {
			t.Errorf("signature %q: %v", bad, err)
		}
	}
}

func TestHashText(t *testing.T) {
	sum := sha256.Sum256([]byte("x"))
	text := "sha256:" + hex.EncodeToString(sum[:])
	h, err := audit.ParseHash(text)
	if err != nil || h != audit.HashOf([]byte("x")) || h.String() != text {
		t.Errorf("%v %v", h, err)
	}
	if got := (audit.Hash{}).String(); got != "sha256:"+strings.Repeat("0", 64) {
		t.Errorf("genesis is %s", got)
	}
	var back audit.Hash
	js, err := json.Marshal(h)
	if err != nil || json.Unmarshal(js, &back) != nil || back != h {
		t.Errorf("JSON %s: %v, %v", js, back, err)
	}
	for _, bad := range []string{"", text[1:], text + "0", strings.ToUpper(text), "sha512:" + text[7:], text[:len(text)-1] + "g"} {
		if _, err := audit.ParseHash(bad); !errors.Is(err, audit.ErrShape) {
			t.Errorf("ParseHash(%q): %v", bad, err)
		}
	}
}

// The canonical form is what encoding/json would print for sorted keys without
// its HTML escapes, for every string and number.
func TestCanonicalAgainstEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 30, 60)
		f := audit.Fields{Owner: text.Draw(t, "owner"), Action: text.Draw(t, "action"), Capability: text.Draw(t, "capability"), Decision: text.Draw(t, "decision"), Risk: text.Draw(t, "risk")}
		seq := rapid.Uint64Range(0, math.MaxUint64).Draw(t, "sequence")
		rec, err := audit.NewRecord(f, seq, audit.Hash{7})
		if err != nil {
			t.Fatal(err)
		}
		got := rec.AppendCanonical(nil)
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(map[string]any{
			"owner": f.Owner, "action": f.Action, "capability": f.Capability, "decision": f.Decision, "risk": f.Risk,
			"sequence": seq, "prev_hash": audit.Hash{7}.String(),
		}); err != nil {
			t.Fatal(err)
		}
		want := strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(strings.TrimSpace(buf.String()))
		if strings.Contains(f.Owner+f.Action+f.Capability+f.Decision+f.Risk, `\u202`) {
			return // the replacement above would be ambiguous
		}
		if string(got) != want {
			t.Fatalf("\n got %s\nwant %s", got, want)
		}
		back, err := audit.ParseRecord(got)
		if err != nil || back != rec {
			t.Fatalf("read back %+v, %v", back, err)
		}
	})
}

func FuzzParseLine(f *testing.F) {
	entries, _ := chain(f, 3)
	for _, e := range entries {
		f.Add(e.AppendLine(nil))
	}
	f.Add([]byte(`{"event_hash":"","record":{"action":"\ud800\udc00"}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := audit.ParseLine(line)
		if err != nil {
			if !errors.Is(err, audit.ErrShape) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		if !json.Valid(line) {
			t.Fatalf("took what is no JSON: %q", line)
		}
		again, err := audit.ParseLine(e.AppendLine(nil))
		if err != nil || again.Record() != e.Record() || again.Hash() != e.Hash() || !bytes.Equal(again.Meta(), e.Meta()) {
			t.Fatalf("%q: read back %+v, %v", line, again, err)
		}
	})
}

func FuzzLines(f *testing.F) {
	entries, _ := chain(f, 3)
	data := file(entries)
	f.Add(data, 10, byte('x'))
	f.Fuzz(func(t *testing.T, data []byte, at int, c byte) {
		verify(data, audit.Options{}) // must not panic or hang on anything
		whole := file(entries)
		at = (at%len(whole) + len(whole)) % len(whole)
		if whole[at] == c {
			return
		}
		whole[at] = c
		opts := audit.Options{Signature: func(e audit.Entry) bool { sig, kid := e.Signature(); return sig == "c2ln" && kid == "a1b2" }}
		if res := verify(whole, opts); res.OK {
			t.Fatalf("byte %d set to %q: not found", at, c)
		}
	})
}
