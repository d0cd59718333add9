package executors

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/schemas"
)

// maxRawArguments is how much of arguments that do not parse is shown to the
// model, in bytes.
const maxRawArguments = 2 << 10

// Definition is a tool as the host described it to the model.
type Definition struct {
	Name       string
	Parameters json.RawMessage // a JSON Schema; nil accepts any object
	ShellParam string          // the argument that is a shell command, or ""

	compile func() (*schemas.ToolSchema, error)
}

// Catalog is the set of tools one turn may call. It is safe for concurrent use.
type Catalog struct {
	names []string // in the host's order
	defs  map[string]*Definition
}

// descriptor is a tool as a host describes it: in the form of the
// chat-completions interface, or flat.
type descriptor struct {
	Function function `json:"function"`
	function
}

type function struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
	ShellParam string          `json:"shell_command_param"`
}

// tool returns what is described, in whichever form.
func (d *descriptor) tool() function {
	f := d.Function
	if f.Name == "" {
		f = d.function // the flat form
	}
	f.ShellParam = cmp.Or(f.ShellParam, d.ShellParam)
	return f
}

// ParseCatalog reads an array of tool descriptors,
// [{"type":"function","function":{"name","description","parameters"}}], or of
// flat ones, [{"name","description","parameters"}]. Names
// must be unique and not blank, and parameters an object. Schemas compile when
// their tool is first called: compiling costs about a millisecond each.
// filter, if not nil, keeps only the tools it names.
func ParseCatalog(tools json.RawMessage, filter []string) (*Catalog, error) {
	var entries []descriptor
	c := &Catalog{defs: map[string]*Definition{}}
	if len(tools) == 0 {
		return c, nil
	}
	if err := protocol.Decode(tools, &entries); err != nil {
		return nil, fmt.Errorf("tools must be an array of tool descriptors: %w", err)
	}
	for i, e := range entries {
		f := e.tool()
		switch {
		case blank(f.Name):
			return nil, fmt.Errorf("tools[%d].function.name is missing", i)
		case c.defs[f.Name] != nil:
			return nil, fmt.Errorf("tools[%d]: a second tool is called %q", i, f.Name)
		case len(f.Parameters) > 0 && f.Parameters[0] != '{' && string(f.Parameters) != "null":
			return nil, fmt.Errorf("tools[%d].function.parameters of %q must be a JSON Schema object", i, f.Name)
		}
		if filter != nil && !slices.Contains(filter, f.Name) {
			continue
		}
		c.Add(Definition{Name: f.Name, Parameters: f.Parameters, ShellParam: f.ShellParam})
	}
	return c, nil
}

// Keep returns those of the descriptors that [ParseCatalog] read into c.
func (c *Catalog) Keep(tools json.RawMessage) (json.RawMessage, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	var all []json.RawMessage
	if err := protocol.Decode(tools, &all); err != nil {
		return nil, fmt.Errorf("tools must be an array of tool descriptors: %w", err)
	}
	kept := slices.DeleteFunc(all, func(raw json.RawMessage) bool {
		var d descriptor
		return protocol.Decode(raw, &d) != nil || c.defs[d.tool().Name] == nil
	})
	return json.Marshal(kept)
}

// Only returns the catalog of those tools of c that filter names; all of them
// if it is nil. They keep their compiled schemas.
func (c *Catalog) Only(filter []string) *Catalog {
	if filter == nil {
		return c
	}
	out := &Catalog{defs: map[string]*Definition{}}
	for _, name := range c.names {
		if slices.Contains(filter, name) {
			out.names = append(out.names, name)
			out.defs[name] = c.defs[name]
		}
	}
	return out
}

// Add adds a tool, or replaces the one with its name. It must not be called
// once the catalog is in use.
func (c *Catalog) Add(d Definition) {
	if c.defs[d.Name] == nil {
		c.names = append(c.names, d.Name)
	}
	parameters := d.Parameters
	if len(parameters) == 0 || string(parameters) == "null" {
		parameters = json.RawMessage(`{"type":"object"}`)
	}
	d.compile = sync.OnceValues(func() (*schemas.ToolSchema, error) { return schemas.CompileTool(parameters) })
	c.defs[d.Name] = &d
}

// Lookup returns a tool's definition.
func (c *Catalog) Lookup(name string) (Definition, bool) {
	d := c.defs[name]
	if d == nil {
		return Definition{}, false
	}
	return *d, true
}

// Names lists the tools in the order in which they were added.
func (c *Catalog) Names() []string { return slices.Clone(c.names) }

// Unusable yields the tools whose schemas cannot be used, with the reasons: every
// call of them is refused.
func (c *Catalog) Unusable() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, name := range c.names {
			if _, err := c.defs[name].compile(); err != nil && !yield(name, err) {
				return
			}
		}
	}
}

// Validate returns the outermost layer: a call of an unknown tool, with
// arguments that are no JSON object or that break the tool's schema, is
// answered here, and no later layer, person or tool ever sees it.
func Validate(catalog *Catalog) Middleware {
	return func(next ToolExecutor) ToolExecutor { return &validate{next: next, catalog: catalog} }
}

type validate struct {
	next    ToolExecutor
	catalog *Catalog
}

// Execute implements [ToolExecutor].
func (v *validate) Execute(ctx context.Context, call *Call) (*protocol.ToolResult, error) {
	if refused := v.check(call); refused != nil {
		return refused, nil
	}
	return v.next.Execute(ctx, call)
}

// ConcurrencySafe implements [ToolExecutor].
func (v *validate) ConcurrencySafe(call *Call) bool {
	return v.catalog.defs[call.Name] != nil && call.ArgumentsError == "" && v.next.ConcurrencySafe(call)
}

func (v *validate) check(call *Call) *protocol.ToolResult {
	def := v.catalog.defs[call.Name]
	if def == nil {
		return v.unknown(call.Name)
	}
	if call.ArgumentsError != "" {
		what := "The arguments of %s are not valid JSON; nothing was run. Send one JSON object."
		if call.ArgumentsError != "invalid_json" {
			what = "The arguments of %s must be one JSON object; nothing was run."
		}
		return failWith(ErrorInvalidArguments, refusal{
			Message: fmt.Sprintf(what, call.Name), Raw: protocol.Truncate(call.RawArguments, maxRawArguments), Schema: schemaOf(def),
		})
	}
	schema, err := def.compile()
	if err != nil {
		return fail(ErrorInvalidSchema, "The schema of %s's parameters cannot be used: %s. Nothing was run.", call.Name, err)
	}
	if err := schema.Check(call.Arguments); err != nil {
		return failWith(ErrorInvalidArguments, refusal{
			Message: fmt.Sprintf("The arguments of %s break its schema: %s. Nothing was run.", call.Name, err),
			Schema:  schemaOf(def),
		})
	}
	return nil
}

func schemaOf(def *Definition) json.RawMessage {
	if len(def.Parameters) == 0 || string(def.Parameters) == "null" {
		return nil
	}
	return def.Parameters
}

// unknown answers a call of a tool that does not exist, in the reference's
// words, with the names that do.
func (v *validate) unknown(name string) *protocol.ToolResult {
	message := ErrorUnknownTool + protocol.Truncate(name, 128)
	if near := closest(name, v.catalog.names); len(near) > 0 {
		message += ". Did you mean: " + strings.Join(near, ", ") + "?"
	}
	return &protocol.ToolResult{Error: message, Data: failWith("", refusal{Tools: v.catalog.names}).Data, NeedsFollowup: true}
}
