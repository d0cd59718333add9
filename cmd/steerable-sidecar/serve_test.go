package main

import (
	"strings"
	"testing"
)

// TestParseServe shows which flags start the service and that a value nobody
// can have meant does not.
func TestParseServe(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string // part of the error; empty when the flags are right
	}{
		{nil, ""},
		{[]string{"--sandbox-backend", "none"}, ""},
		{[]string{"--sandbox-backend=native", "--with-bash", "--log-level", "debug"}, ""},
		{[]string{"--sandbox-backend", "docker"}, "--sandbox-backend must be one of [auto none bwrap native landlock seatbelt]"},
		{[]string{"--sandbox-backend", ""}, "--sandbox-backend must be one of"},
		{[]string{"--sandbox-backend", "NONE"}, "--sandbox-backend must be one of"},
		{[]string{"--log-level", "loud"}, "--log-level must be one of"},
		{[]string{"--max-frame-bytes", "12"}, "--max-frame-bytes must be between"},
		{[]string{"more"}, `unexpected argument "more"`},
	} {
		_, err := parseServe(tt.args)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%q: %v", tt.args, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%q: want an error with %q, got %v", tt.args, tt.want, err)
		}
	}
	f, err := parseServe(nil)
	if err != nil || f.backend != "auto" {
		t.Errorf("without flags the strongest backend is chosen, got %q, %v", f.backend, err)
	}
}
