package govern

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/steerable-go/sidecar/authz/chain"
)

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig([]byte(`{"mode":"observe","owner":"u1","groups":["a","b"],"limits":{"calls":50},"replies":"redact",
		"tools":{"Mine":{"required":"file.read","kind":"read","outbound":false},"other":{"required":"x.y","kind":"send"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if c.Mode != Observe || c.Owner != "u1" || c.Limits != (chain.Limits{Calls: 50, Bytes: chain.MaxBytes}) || c.Replies != RedactReplies {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff([]string{"a", "b"}, c.Groups); diff != "" {
		t.Error(diff)
	}
	if s, ok := c.Tools.Lookup("Mine"); !ok || s.Outbound {
		t.Errorf("Mine: %+v %v", s, ok)
	}
	if s, ok := c.Tools.Lookup("other"); !ok || !s.Outbound {
		t.Errorf("a tool counts as outbound unless somebody says otherwise: %+v %v", s, ok)
	}
	c, err = ParseConfig([]byte(`{"mode":"enforce"}`))
	if err != nil || c.Mode != Enforce || c.Limits != chain.DefaultLimits() || c.Replies != IgnoreReplies || c.Owner != "" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestParseConfigRefuses(t *testing.T) {
	for _, bad := range []string{
		``, `null`, `true`, `"off"`, `[]`, `{}`, `{"mode":null}`, `{"mode":"Off"}`, `{"mode":"on"}`, `{"mode":1}`, `{"mode":"off"}x`, `{"mode":"off"`,
		`{"Mode":"off"}`, `{"mode":"enforce","mode":"off"}`, `{"mode":"enforce","MODE":"off"}`, `{"mode":"off","extra":1}`,
		`{"mode":"off","owner":""}`, `{"mode":"off","owner":1}`, `{"mode":"off","groups":"a"}`, `{"mode":"off","groups":[1]}`,
		`{"mode":"off","limits":{"calls":-1}}`, `{"mode":"off","limits":{"bytes":1.5}}`, `{"mode":"off","limits":{"calls":"1"}}`, `{"mode":"off","limits":{"time":1}}`, `{"mode":"off","limits":{"Calls":1}}`,
		`{"mode":"off","replies":"on"}`, `{"mode":"off","tools":[]}`, `{"mode":"off","tools":{"t":{}}}`, `{"mode":"off","tools":{"t":{"required":"x","kind":"Read"}}}`,
		`{"mode":"off","tools":{"t":{"required":"","kind":"read"}}}`, `{"mode":"off","tools":{"t":{"required":"x","kind":"read","outbound":"no"}}}`,
		`{"mode":"off","tools":{"t":{"required":"x","kind":"read","KIND":"send"}}}`,
	} {
		c, err := ParseConfig([]byte(bad))
		if !errors.Is(err, ErrConfig) || c.Mode != Enforce {
			t.Errorf("ParseConfig(%s) = %v, %v; want %v", bad, c.Mode, err, ErrConfig)
		}
	}
}

func TestModes(t *testing.T) {
	for _, m := range []Mode{Enforce, Observe, Off} {
		if got, err := ParseMode(m.String()); err != nil || got != m {
			t.Errorf("%v: %v, %v", m, got, err)
		}
		for _, other := range []Mode{Enforce, Observe, Off, 99} {
			got := m.Stricter(other)
			if got > m || other <= Off && got > other || got != other.Stricter(m) {
				t.Errorf("%v.Stricter(%v) = %v", m, other, got)
			}
		}
	}
	if got, err := ParseMode("OFF"); err == nil || got != Enforce || Mode(99).String() != "enforce" {
		t.Errorf("unknown mode: %v, %v", got, err)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(`{"mode":"observe","limits":{"calls":50},"tools":{"t":{"required":"x","kind":"read"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseConfig(data)
		if err != nil && (!errors.Is(err, ErrConfig) || c.Mode != Enforce) {
			t.Fatalf("%v, %v", c.Mode, err)
		}
	})
}
