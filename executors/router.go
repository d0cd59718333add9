package executors

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/steerable-go/sidecar/protocol"
)

// Tool is a tool that runs inside this process.
type Tool struct {
	// Name is what the model calls it. Required.
	Name string
	// Description is shown to the model.
	Description string
	// Parameters is a JSON Schema for the arguments; nil accepts any object.
	Parameters json.RawMessage
	// ShellParam names the argument that is a shell command, if there is one.
	ShellParam string
	// Destructive tools need the host's consent when called through the method
	// tool.invoke.
	Destructive bool
	// Parallel says that calls may run beside others.
	Parallel bool
	// Run carries a call out. Required.
	Run func(ctx context.Context, call *Call) (*protocol.ToolResult, error)
}

// Router runs in-process tools by name.
type Router struct {
	tools   map[string]Tool
	catalog *Catalog
}

var _ ToolExecutor = (*Router)(nil)

// NewRouter returns a router for tools. Of two with one name the later wins.
func NewRouter(tools ...Tool) *Router {
	r := &Router{tools: make(map[string]Tool, len(tools)), catalog: &Catalog{defs: map[string]*Definition{}}}
	for _, t := range tools {
		r.tools[t.Name] = t
		r.catalog.Add(Definition{Name: t.Name, Parameters: t.Parameters, ShellParam: t.ShellParam})
	}
	return r
}

// Catalog returns the definitions of the tools, for the layers in front of the
// router.
func (r *Router) Catalog() *Catalog { return r.catalog }

// Lookup returns the tool with that name.
func (r *Router) Lookup(name string) (Tool, bool) {
	t, ok := r.tools[name]
	return t, ok
}

// Len returns how many tools there are.
func (r *Router) Len() int { return len(r.tools) }

// Descriptors lists the tools, sorted by name, as tool.list shows them.
func (r *Router) Descriptors() []protocol.ToolDescriptor {
	out := make([]protocol.ToolDescriptor, 0, len(r.tools))
	for _, t := range r.tools {
		parameters := t.Parameters
		if parameters == nil {
			parameters = json.RawMessage(`{"type":"object"}`)
		}
		out = append(out, protocol.ToolDescriptor{Type: "function", Function: protocol.ToolFunction{
			Name: t.Name, Description: t.Description, Parameters: parameters,
		}})
	}
	slices.SortFunc(out, func(a, b protocol.ToolDescriptor) int {
		return strings.Compare(a.Function.Name, b.Function.Name)
	})
	return out
}

// Execute implements [ToolExecutor].
func (r *Router) Execute(ctx context.Context, call *Call) (*protocol.ToolResult, error) {
	t, ok := r.tools[call.Name]
	if !ok {
		return &protocol.ToolResult{Error: ErrorUnknownTool + protocol.Truncate(call.Name, 128), NeedsFollowup: true}, nil
	}
	return t.Run(ctx, call)
}

// ConcurrencySafe implements [ToolExecutor].
func (r *Router) ConcurrencySafe(call *Call) bool { return r.tools[call.Name].Parallel }
