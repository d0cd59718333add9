package main

import "fmt"

// compat maps the command lines that hosts use to start the Python reference,
// so that pointing STEERABLE_PYTHON at this program is the whole migration:
//
//	-m steerable_sidecar …           serve
//	-c …                             the probe for an installed package: exit 0
//
// It returns the arguments that are left, or done with an exit code.
func compat(env environment, args []string) (rest []string, code int, done bool) {
	if len(args) == 0 {
		return args, 0, false
	}
	switch args[0] {
	case "-c":
		return nil, exitOK, true
	case "-m":
		if len(args) < 2 {
			return nil, usage(env, "-m needs a module name"), true
		}
		return module(env, args[1], args[2:])
	}
	return args, 0, false
}

// module runs what a module of the reference is here.
func module(env environment, name string, args []string) (rest []string, code int, done bool) {
	if name == "steerable_sidecar" {
		return args, 0, false
	}
	fmt.Fprintf(env.stderr, "steerable-sidecar: -m %s: no such module here\n", name)
	return nil, exitUsage, true
}
