package auditlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/authz/audit"
)

// A chain that is damaged where it names its owner must not vanish from the
// list of all chains.
func TestOwnersMissNoChain(t *testing.T) {
	head := func(from, to string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			rewrite(t, filepath.Join(dir, headFile), func(d []byte) []byte { return bytes.Replace(d, []byte(from), []byte(to), 1) })
		}
	}
	record := func(t *testing.T, dir string) {
		rewrite(t, segmentPath(dir, 1), func(d []byte) []byte { return d[1:] })
	}
	remove := func(names ...string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			for _, name := range names {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, test := range map[string]struct {
		harm  []func(t *testing.T, dir string)
		want  string // owners, beside u2
		stray bool
	}{
		"whole":                      {want: "u1 u2"},
		"head of another":            {harm: []func(*testing.T, string){head("u1", "u2")}, want: "u1 u2"},
		"head is no JSON":            {harm: []func(*testing.T, string){head("{", "")}, want: "u1 u2"},
		"first record":               {harm: []func(*testing.T, string){record}, want: "u1 u2"},
		"head and first record":      {harm: []func(*testing.T, string){head("u1", "u2"), record}, want: "u2", stray: true},
		"no head, no first record":   {harm: []func(*testing.T, string){remove(headFile), record}, want: "u2", stray: true},
		"head is no JSON, no record": {harm: []func(*testing.T, string){head("{", ""), remove("000001.jsonl")}, want: "u2", stray: true},
		"never written":              {harm: []func(*testing.T, string){remove(headFile, "000001.jsonl")}, want: "u2"},
		"empty segment": {harm: []func(*testing.T, string){remove(headFile), func(t *testing.T, dir string) {
			rewrite(t, segmentPath(dir, 1), func([]byte) []byte { return nil })
		}}, want: "u2"},
		"another's directory": {harm: []func(*testing.T, string){func(t *testing.T, dir string) {
			if err := os.Rename(dir, OwnerDir(filepath.Dir(dir), "u3")); err != nil {
				t.Fatal(err)
			}
		}}, want: "u2", stray: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := newLog(t, Options{Dir: dir})
			mustAppend(t, l, "u1", "a")
			mustAppend(t, l, "u2", "a")
			for _, harm := range test.harm {
				harm(t, OwnerDir(dir, "u1"))
			}
			owners, err := Owners(dir)
			if strings.Join(owners, " ") != test.want || errors.Is(err, ErrBroken) != test.stray || (err != nil) != test.stray {
				t.Errorf("owners %q, %v; want %q, an error %v", owners, err, test.want, test.stray)
			}
		})
	}
}

// Whoever asks for signatures is not told that a chain without any is whole: it
// may have been written anew.
func TestSignatureMustStandAtTheEnd(t *testing.T) {
	s, _ := newSigner(t)
	other, _ := newSigner(t)
	dir := t.TempDir()
	code := func() audit.Code {
		rep, err := Verify(VerifyOptions{Dir: dir, Owner: "u1", Verifier: s.Verifier()})
		if err != nil || rep.OK != (rep.Code == "") {
			t.Fatalf("%+v, %v", rep, err)
		}
		return rep.Code
	}
	if c := code(); c != "" {
		t.Errorf("nothing to sign: %s", c)
	}
	unsigned, signed := newLog(t, Options{Dir: dir}), newLog(t, Options{Dir: dir, Signer: s})
	for _, step := range []struct {
		log  *Log
		want audit.Code
	}{{unsigned, audit.CodeSignature}, {signed, ""}, {unsigned, audit.CodeSignature}, {signed, ""}} {
		mustAppend(t, step.log, "u1", "a")
		if c := code(); c != step.want {
			t.Errorf("code %q, want %q", c, step.want)
		}
	}
	// The head beside the chain: another key's id, then no signature.
	path := filepath.Join(OwnerDir(dir, "u1"), headFile)
	good, err := readCheckpoint(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		change func(*Checkpoint)
		want   audit.Code
	}{
		{func(*Checkpoint) {}, ""},
		{func(c *Checkpoint) { c.KeyID = other.KeyID() }, audit.CodeSignature},
		{func(c *Checkpoint) { c.Signed, c.Signature, c.KeyID = false, "", "" }, ""}, // the last record is signed
	} {
		c := *good
		test.change(&c)
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		rewrite(t, path, func([]byte) []byte { return data })
		if got := code(); got != test.want {
			t.Errorf("%+v: code %q, want %q", c, got, test.want)
		}
	}
}

// A tombstone's signature is one of those that a verifier checks.
func TestTombstoneSignature(t *testing.T) {
	dir := t.TempDir()
	s, _ := newSigner(t)
	other, _ := newSigner(t)
	l := newLog(t, Options{Dir: dir, MaxSegment: 1200, Signer: s})
	for range 8 {
		mustAppend(t, l, "u1", "a")
	}
	if gone, err := l.Prune(t.Context(), "u1", 6); err != nil || gone == 0 {
		t.Fatalf("pruned %d, %v", gone, err)
	}
	path := filepath.Join(OwnerDir(dir, "u1"), prunedFile)
	tomb, err := readCheckpoint(path)
	if err != nil || !tomb.Signed {
		t.Fatalf("%+v, %v", tomb, err)
	}
	verify := func() audit.Code {
		rep, err := Verify(VerifyOptions{Dir: dir, Owner: "u1", Verifier: s.Verifier()})
		if err != nil {
			t.Fatal(err)
		}
		return rep.Code
	}
	if c := verify(); c != "" {
		t.Errorf("code %q", c)
	}
	tomb.KeyID = other.KeyID()
	if tomb.Signature, err = other.Sign(tomb.Head.String()); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(tomb)
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, path, func([]byte) []byte { return data })
	if c := verify(); c != audit.CodeSignature {
		t.Errorf("another key's tombstone: code %q", c)
	}
}

// The last record that is written is signed, also if requests behind it in the
// same commit are refused.
func TestRefusedRecordBehindTheLast(t *testing.T) {
	s, _ := newSigner(t)
	opts := Options{Dir: t.TempDir(), Signer: s}.withDefaults()
	c := newChain(opts, osDisk{}, "u1")
	requests := []*request{{record: record("u1", "a")}, {record: record("u1", "b")}, {record: record("u1", "\xff")}}
	if err := c.append(requests); err != nil {
		t.Fatal(err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(requests[2].err, audit.ErrShape) || requests[1].err != nil {
		t.Errorf("%v, %v", requests[1].err, requests[2].err)
	}
	rep, err := Verify(VerifyOptions{Dir: opts.Dir, Owner: "u1", Verifier: s.Verifier()})
	if err != nil || !rep.OK || rep.Records != 2 || rep.Signed != 1 || !rep.HeadSigned {
		t.Errorf("%+v, %v", rep, err)
	}
}
