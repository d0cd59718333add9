package main

import (
	"strings"
	"testing"
)

// Every command explains itself on standard output, and so does a verb of it.
func TestHelp(t *testing.T) {
	verbs := map[string][]string{
		"approvals": {"list", "revoke", "check", "accept", "match"},
		"schema":    {"dump"},
		"llm":       {"probe"},
		"authz":     {"eval", "explain"},
		"audit":     {"verify", "head", "show", "prune"},
		"sandbox":   {"describe"},
		"safety":    {"classify", "rules"},
	}
	ask := func(args ...string) {
		var out, errOut strings.Builder
		code := run(environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errOut, getenv: variables(nil)}, args)
		if code != exitOK || errOut.Len() > 0 || !strings.HasPrefix(out.String(), "usage:") || !strings.Contains(out.String(), "steerable-sidecar "+args[0]) {
			t.Errorf("%q: exit %d, stdout %.60q, stderr %q; want %d and the usage", args, code, &out, &errOut, exitOK)
		}
	}
	for _, c := range commands() {
		for _, flag := range []string{"--help", "-h"} {
			ask(c.name, flag)
			for _, verb := range verbs[c.name] {
				ask(c.name, verb, flag)
			}
		}
	}
}
