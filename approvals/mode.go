package approvals

import (
	"fmt"
	"strings"
)

// Mode is how far a tool reaches, guessed from its name; hosts show it and the
// headless approver decides by it. The zero Mode is [ModeOther].
type Mode string

// The modes, as they go over the wire.
const (
	ModeRead        Mode = "read"
	ModeSafeWrite   Mode = "safe_write"
	ModeDestructive Mode = "destructive"
	ModeOther       Mode = "other"
)

// ModeOf guesses the mode of a tool from its name by the reference's table;
// the first matching line decides.
func ModeOf(tool string) Mode {
	if tool == "web_search" || tool == "web_fetch" {
		return ModeRead
	}
	table := []struct {
		mode     Mode
		prefixes []string
	}{
		{ModeRead, []string{"get_", "list_", "read_"}},
		{ModeSafeWrite, []string{"create_", "update_", "set_", "write_", "apply_"}},
		{ModeDestructive, []string{"delete_", "drop_", "remove_", "destroy_"}},
	}
	for _, line := range table {
		for _, prefix := range line.prefixes {
			if strings.HasPrefix(tool, prefix) {
				return line.mode
			}
		}
	}
	return ModeOther
}

// CategoryOf returns the category under which answers about a tool are kept:
// its name. Callers that ask about something else than a tool, such as
// "network_egress", set [Request.Category] themselves.
func CategoryOf(tool string) string { return tool }

// GateMode says who answers when nothing stored does. The zero GateMode is
// headless, the strictest of the three.
type GateMode uint8

// The gate modes.
const (
	// GateAuto answers without a person: reads and safe writes run, anything
	// else is denied.
	GateAuto GateMode = iota
	// GateHost asks through [Options.Host].
	GateHost
	// GateOff is a turn that asked for no approvals: every call runs but those
	// that must be asked about, which are denied because nobody can answer.
	GateOff
)

// ParseGateMode reads approval.mode of a turn. An absent mode (the empty
// string) in an approval object that is there means host.
func ParseGateMode(name string) (GateMode, error) {
	switch name {
	case "", "host":
		return GateHost, nil
	case "auto":
		return GateAuto, nil
	}
	return GateAuto, fmt.Errorf("unknown approval mode %q, want auto or host", clip(name))
}
