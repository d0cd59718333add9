package schemas

import (
	"errors"
	"testing"
)

func TestEngines(t *testing.T) {
	names, err := Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, err := newJudge(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, err := build(name)
		var u *unsupportedError
		if err != nil && !errors.As(err, &u) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			t.Logf("%s: %v", name, err)
		}
	}
	for _, m := range Methods() {
		r := lookup(m)
		for _, n := range []string{r.params, r.result, r.notification, r.reverseParams, r.reverseResult} {
			if n != "" {
				if _, err := Source(n); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
