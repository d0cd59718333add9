package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// compat maps the command lines that hosts use to start the Python reference,
// so that pointing STEERABLE_PYTHON at this program is the whole migration:
//
//	-m steerable_sidecar …           serve
//	-m steerable_egress_proxy …      become the proxy beside this program
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

// module runs what a module of the reference is here. What the early launcher
// takes is gone before (package sandbox/launcher).
func module(env environment, name string, args []string) (rest []string, code int, done bool) {
	switch name {
	case "steerable_sidecar":
		return args, 0, false
	case "steerable_egress_proxy":
		return nil, becomeProxy(env, args), true
	}
	fmt.Fprintf(env.stderr, "steerable-sidecar: -m %s: no such module here\n", name)
	return nil, exitUsage, true
}

// becomeProxy runs the egress proxy that was installed beside this program, and
// no other: a PATH or a working directory that a model can write to must not
// choose it.
func becomeProxy(env environment, args []string) int {
	exe, err := os.Executable()
	if err == nil {
		path := filepath.Join(filepath.Dir(exe), "steerable-egress-proxy")
		if runtime.GOOS == "windows" {
			path += ".exe"
		}
		var code int
		if code, err = become(path, args); err == nil {
			return code
		}
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%s is missing: install it beside steerable-sidecar", path)
		}
	}
	fmt.Fprintf(env.stderr, "steerable-sidecar: -m steerable_egress_proxy: %v\n", err)
	return exitFailed
}
