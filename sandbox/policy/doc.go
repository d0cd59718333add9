// Package policy says what a confined command may do, in values that every
// part of the sandbox shares: what a caller asks for ([Config]), what was made
// of it after checking ([Policy]), and what the kernel enforces of that
// ([Report]).
//
// The package is linked into the launcher, the program that runs before every
// confined command, so it stays small: it imports neither encoding/json nor
// net, os/exec or net/url, and a policy travels to the launcher as plain
// command line flags ([Args], [ParseArgs]) that a person can read in a process
// list.
//
//	p, err := policy.New(policy.Config{Roots: []string{"/home/me/project"}})
//	if err != nil { … } // a *RefusedError with a stable Reason
//	argv := append([]string{"steerable-sandbox", "exec"}, policy.Args(p)...)
//
// Zero values are the strict ones: no writable root, no network, protected
// paths protected, and no enforcement claimed.
package policy
