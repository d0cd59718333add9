package policy

import (
	"strconv"
	"strings"
)

// Command is a parsed command line of the exec verb.
type Command struct {
	Config  Config
	Backend string      // one of the backend names, or "auto"
	Require Enforcement // refuse to run below this
	JSON    bool        // report on standard error as one line
	Argv    []string    // the command; nil when Script is set
	Script  string      // path of a script, "-" for standard input
	Shell   string      // shell that runs Script; empty means "sh"
	Unlink  bool        // remove Script once it is open
	// Unsupervised gives up the supervisor of the landlock rung, and with it
	// metadata and unix sockets, for one process start less.
	Unsupervised bool
	Help         bool // --help was said; nothing else is set

	networkOff bool // --network off was said, which wins over --allow
}

// BackendAuto asks for the first rung of the ladder that works.
const BackendAuto = "auto"

// Args returns the flags that make [ParseArgs] and [New] arrive at p again.
// They are the wire format between the library and the launcher.
func Args(p Policy) []string {
	var a []string
	add := func(flag string, values ...string) {
		for _, v := range values {
			a = append(a, flag, v)
		}
	}
	add("--root", p.Roots...)
	add("--git-dir", p.GitDirs...)
	add("--read-deny", p.ReadDeny...)
	if p.Unprotected {
		a = append(a, "--protect=off")
	}
	if p.AllowRootFS {
		a = append(a, "--allow-root-fs")
	}
	if p.HostCaches {
		add("--caches", "host")
	}
	a = append(a, egressArgs(p.Egress)...)
	for _, v := range p.Env {
		if v.Set {
			add("--env", v.Name+"="+v.Value)
		} else {
			add("--env", v.Name)
		}
	}
	for _, l := range limitFlags(&p.Limits) {
		if *l.value != 0 {
			add(l.flag, strconv.FormatInt(*l.value, 10))
		}
	}
	return a
}

func egressArgs(e Egress) []string {
	var a []string
	switch e.Mode {
	case EgressClosed:
	case EgressOpen:
		a = append(a, "--network", "on")
	case EgressPinned, EgressLoopback, EgressListed:
		if e.Socket != "" {
			return []string{"--egress-socket", e.Socket, "--egress-port", strconv.Itoa(int(e.Port))}
		}
		a = append(a, "--network", "on")
		for _, host := range e.Hosts {
			a = append(a, "--allow="+host) // a host may be called "--"
		}
	}
	return a
}

type limitFlag struct {
	flag  string
	value *int64
}

func limitFlags(l *Limits) []limitFlag {
	return []limitFlag{
		{"--cpu-seconds", &l.CPUSeconds},
		{"--file-size", &l.FileSizeBytes},
		{"--processes", &l.Processes},
		{"--address-space", &l.AddressSpaceBytes},
	}
}

// ParseArgs reads the arguments of the exec verb: flags and a command or a
// script. Errors are of type [*RefusedError].
func ParseArgs(args []string) (Command, error) {
	c, err := ParseFlags(args)
	if err != nil || c.Help {
		return c, err
	}
	switch {
	case c.Script == "" && len(c.Argv) == 0:
		return Command{}, refuse(ReasonUsage, "no command: give -- COMMAND… or --script FILE")
	case c.Script != "" && len(c.Argv) > 0:
		return Command{}, refuse(ReasonUsage, "--script and a command exclude each other")
	case c.Script == "" && (c.Shell != "" || c.Unlink):
		return Command{}, refuse(ReasonUsage, "--shell and --unlink go with --script")
	}
	return c, nil
}

// ParseFlags reads flags, and what follows them as the command, which may be
// missing. Flags take their value after "=" or as the next argument; the first
// argument that is no flag, or "--", starts the command. Errors are of type
// [*RefusedError].
func ParseFlags(args []string) (Command, error) {
	c := Command{Backend: BackendAuto}
	for len(args) > 0 {
		arg := args[0]
		if arg == "--" {
			args = args[1:]
			break
		}
		if arg == "--help" {
			return Command{Help: true}, nil
		}
		if !strings.HasPrefix(arg, "--") {
			break
		}
		rest, err := c.flag(args)
		if err != nil {
			return Command{}, err
		}
		args = rest
	}
	c.Argv = args
	if c.networkOff {
		c.Config.Network = false
	}
	return c, nil
}

// flag consumes one flag and its value.
func (c *Command) flag(args []string) (rest []string, err error) {
	name, value, joined := strings.Cut(args[0], "=")
	rest = args[1:]
	if sw := c.switches()[name]; sw != nil {
		if joined {
			return nil, refuse(ReasonUsage, "%s takes no value", name)
		}
		*sw = true
		return rest, nil
	}
	set := c.setters()[name]
	if set == nil {
		return nil, refuse(ReasonUsage, "unknown flag %s", name)
	}
	if !joined {
		if len(rest) == 0 || rest[0] == "--" {
			return nil, refuse(ReasonUsage, "%s needs a value", name)
		}
		value, rest = rest[0], rest[1:]
	}
	if !set(value) {
		return nil, refuse(ReasonUsage, "%s cannot be %q", name, value)
	}
	return rest, nil
}

func (c *Command) switches() map[string]*bool {
	return map[string]*bool{
		"--allow-root-fs": &c.Config.AllowRootFS,
		"--json":          &c.JSON,
		"--unlink":        &c.Unlink,
	}
}

// setters maps a flag to what stores its value; false means a wrong value.
func (c *Command) setters() map[string]func(string) bool {
	cfg := &c.Config
	m := map[string]func(string) bool{
		"--root":          list(&cfg.Roots),
		"--git-dir":       list(&cfg.GitDirs),
		"--read-deny":     list(&cfg.ReadDeny),
		"--env":           list(&cfg.Env),
		"--protect":       choice(&cfg.Unprotected, "on", "off"),
		"--supervise":     choice(&c.Unsupervised, "on", "off"),
		"--caches":        choice(&cfg.HostCaches, "tmp", "host"),
		"--egress-socket": text(&cfg.EgressSocket),
		"--script":        text(&c.Script),
		"--shell":         text(&c.Shell),
		"--network": func(v string) bool {
			cfg.Network, c.networkOff = v == "on", v == "off"
			return v == "on" || v == "off"
		},
		"--allow": func(v string) bool {
			// Naming a host asks for the network, so --network on is implied.
			cfg.Network, cfg.HostsGiven = true, true
			cfg.AllowedHosts = append(cfg.AllowedHosts, v)
			return true
		},
		"--egress-port": func(v string) bool {
			port, err := strconv.ParseUint(v, 10, 16)
			cfg.EgressPort = int(port)
			return err == nil && port > 0
		},
		"--backend": func(v string) bool {
			c.Backend = v
			return v == BackendAuto || v == BackendBwrap || v == BackendNative || v == BackendLandlock || v == BackendSeatbelt
		},
		"--require": func(v string) bool {
			e, err := ParseEnforcement(v)
			c.Require = e
			return err == nil
		},
	}
	for _, l := range limitFlags(&cfg.Limits) {
		m[l.flag] = func(v string) bool {
			n, err := strconv.ParseInt(v, 10, 64)
			*l.value = n
			return err == nil && n >= 0
		}
	}
	return m
}

func list(into *[]string) func(string) bool {
	return func(v string) bool { *into = append(*into, v); return true }
}

func text(into *string) func(string) bool {
	return func(v string) bool { *into = v; return v != "" }
}

// choice reads one of two words; the second sets into.
func choice(into *bool, zero, one string) func(string) bool {
	return func(v string) bool { *into = v == one; return v == zero || v == one }
}
