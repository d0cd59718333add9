// Package sandbox turns a shell command into one that the operating system
// confines, and says honestly how much of the wish it enforces.
//
// A caller makes a policy once (package sandbox/policy), selects a backend for
// it, and rewrites commands:
//
//	host := sandbox.NewHost(sandbox.Options{Executable: exe, RunDir: dir})
//	backend, err := host.Select(ctx, p, policy.BackendAuto)
//	if errors.Is(err, sandbox.ErrNoBackend) { … } // Windows, or a kernel without any of it
//	line, err := backend.WrapCommand("git status", "bash")
//
// The rewritten text is a single-quoted command line which any POSIX shell
// runs. It starts the launcher (package sandbox/launcher), which scrubs the
// environment, closes descriptors, applies the rung of the ladder that the
// backend stands for, and runs the command:
//
//	bwrap     namespaces made by the bwrap program, then Landlock and seccomp
//	native    the same namespaces made by the launcher itself
//	landlock  Landlock and seccomp alone, with a supervisor for what they cannot say
//	seatbelt  macOS
//
// A rung counts only if it works here and now: [Host.Select] runs a real,
// maximal wrap of each candidate before it is believed, because version
// numbers say nothing about containers, AppArmor or seccomp profiles around
// us. A selected backend never degrades: if it cannot confine a command, the
// command does not run and the launcher exits with 125.
//
// [Host.Describe] and a call's own report come from the same value, so they
// cannot disagree.
package sandbox
