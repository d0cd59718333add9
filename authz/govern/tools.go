package govern

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/capabilities"
)

// ToolSpec classifies a tool. The zero value is an unclassified tool, whose
// calls are denied.
type ToolSpec struct {
	Required authz.Capability // what its caller must hold
	Kind     authz.Kind
	Outbound bool // whether its arguments leave the machine
}

// ErrTool is wrapped by errors about a classification that cannot be used.
var ErrTool = errors.New("unusable tool classification")

// Tools classifies tools by name. It is immutable and safe for concurrent use.
// The zero value knows the tools in the code.
type Tools struct {
	added map[string]ToolSpec
}

// NewTools returns the tools in the code and those that a host adds, which win
// where both name one: the host provides the tool and knows what it does. An
// addition without a name, capability or kind is an error that is [ErrTool].
func NewTools(added map[string]ToolSpec) (Tools, error) {
	for name, spec := range added {
		if name == "" || spec.Required == "" || spec.Kind < authz.KindRead || spec.Kind > authz.KindSend {
			return Tools{}, fmt.Errorf("%w: %q needs a name, a capability and a kind", ErrTool, name)
		}
	}
	return Tools{added: maps.Clone(added)}, nil
}

// Lookup returns the classification of a tool and whether there is one. Names
// are exact. An unknown tool gets the strictest: no capability, outbound.
func (t Tools) Lookup(name string) (ToolSpec, bool) {
	if spec, ok := t.added[name]; ok {
		return spec, true
	}
	if spec, ok := builtin(name); ok {
		return spec, true
	}
	return ToolSpec{Outbound: true}, false
}

// builtin is the table in the code.
func builtin(name string) (ToolSpec, bool) {
	switch name {
	case "bash", "shell", "local_exec_shell", "shell_session", "run_code", "run_js":
		// Outbound, unless the call says that its sandbox has no network.
		return ToolSpec{capabilities.ProcessExecute, authz.KindCommand, true}, true
	case "wait_js":
		return ToolSpec{capabilities.ProcessExecute, authz.KindRead, false}, true
	case "read_file", "local_read_file", "list", "list_dir", "grep", "glob", "view_image":
		return ToolSpec{capabilities.FileRead, authz.KindRead, false}, true
	case "write_file", "local_write_file", "edit_file", "local_edit_file", "multi_file_edit", "present_files":
		return ToolSpec{capabilities.FileWrite, authz.KindWrite, false}, true
	case "delete_file", "local_delete_file":
		return ToolSpec{capabilities.FileDelete, authz.KindDelete, false}, true
	case "web_search", "web_fetch":
		return ToolSpec{capabilities.WebRead, authz.KindRead, true}, true
	case "http_post", "upload", "webhook":
		return ToolSpec{capabilities.NetworkWrite, authz.KindSend, true}, true
	case "ask_user":
		return ToolSpec{capabilities.ChatConverse, authz.KindRead, false}, true
	case "subagent":
		// The child shares the request: same owner, same counters.
		return ToolSpec{capabilities.ChatConverse, authz.KindWrite, false}, true
	}
	return family(name)
}

// family classifies the tools that come in families. Only the names and the
// prefixes listed here count; everything else is unknown.
func family(name string) (ToolSpec, bool) {
	prefix, verb, _ := strings.Cut(name, "_")
	if verb == "" {
		return ToolSpec{}, false
	}
	switch prefix {
	case "email":
		return email(verb)
	case "browser":
		if verb == "open" {
			return ToolSpec{capabilities.BrowserOpen, authz.KindRead, true}, true
		}
		return ToolSpec{capabilities.BrowserAct, authz.KindWrite, true}, true
	case "memory":
		switch verb {
		case "read", "search", "list", "get", "recall":
			return ToolSpec{capabilities.MemoryRead, authz.KindRead, false}, true
		}
		return ToolSpec{capabilities.MemoryWrite, authz.KindWrite, false}, true
	case "todo", "goal", "loop":
		switch verb {
		case "read", "list", "get":
			return ToolSpec{capabilities.ChatConverse, authz.KindRead, false}, true
		}
		return ToolSpec{capabilities.ChatConverse, authz.KindWrite, false}, true
	default:
		return ToolSpec{}, false
	}
}

func email(verb string) (ToolSpec, bool) {
	switch verb {
	case "read", "search":
		return ToolSpec{capabilities.EmailRead, authz.KindRead, false}, true
	case "draft", "label", "archive":
		return ToolSpec{capabilities.EmailDraft, authz.KindWrite, false}, true
	case "send":
		return ToolSpec{capabilities.EmailSend, authz.KindSend, true}, true
	case "delete":
		return ToolSpec{capabilities.EmailDelete, authz.KindDelete, false}, true
	default:
		return ToolSpec{}, false
	}
}
