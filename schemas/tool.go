package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Limits of a tool's parameter schema. Schemas in use are a few KiB and a dozen
// levels; the limits bound what a host, or a server behind it, can make the
// sidecar compile.
const (
	MaxToolSchema = 256 << 10 // bytes
	maxToolDepth  = 64
)

// maxToolWork is how many subschemas one check of a tool's arguments may
// evaluate. References that fan out can make a small schema cost more than any
// turn is worth; the limit turns that into a refusal.
const maxToolWork = 20_000

// ErrToolSchema is what every error of [CompileTool] wraps, syntax errors
// excepted.
var ErrToolSchema = errors.New("unusable tool schema")

// ToolSchema checks the arguments of one tool. It may be used concurrently.
type ToolSchema struct {
	engine engine
}

// CompileTool prepares the parameter schema of a host's tool, by default of
// draft 2020-12. The schema must be at most [MaxToolSchema] bytes, must not
// refer to other documents and must not have patterns outside of Go's syntax;
// nothing is ever loaded. Formats are annotations, as the draft has it.
//
// Text that is no JSON gives a [*SyntaxError], everything else wraps
// [ErrToolSchema].
func CompileTool(raw json.RawMessage) (*ToolSchema, error) {
	if len(raw) > MaxToolSchema {
		return nil, fmt.Errorf("%w: larger than %d bytes", ErrToolSchema, MaxToolSchema)
	}
	if err := Valid(raw); err != nil {
		return nil, err
	}
	doc, err := decodeNumbers(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrToolSchema, err)
	}
	if err := inspect(doc, 0); err != nil {
		return nil, err
	}
	if root, err := buildAlone(doc); err == nil {
		return &ToolSchema{engine: &table{root: root}}, nil
	}
	e, err := newToolJudge(raw)
	if err != nil {
		return nil, err
	}
	return &ToolSchema{engine: e}, nil
}

// Check returns nil if args is JSON that satisfies the schema, else a
// [*SyntaxError] or a [*ValidationError]. The error is short enough, and free
// enough of values, to be shown to the model that wrote the arguments.
func (t *ToolSchema) Check(args []byte) error {
	return t.engine.check(args)
}

// inspect refuses what must not reach a compiler: nesting and numbers without
// bounds.
func inspect(doc any, depth int) error {
	if depth > maxToolDepth {
		return fmt.Errorf("%w: nested deeper than %d", ErrToolSchema, maxToolDepth)
	}
	switch v := doc.(type) {
	case json.Number:
		if bounded(v.String()) != v.String() {
			return fmt.Errorf("%w: a number out of range", ErrToolSchema)
		}
	case []any:
		for _, item := range v {
			if err := inspect(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := inspect(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// toolJudge is a judge with a limited amount of work for each check. Checks of
// one tool wait for each other, which costs little: a turn runs few calls at once
// and most schemas have a table.
type toolJudge struct {
	mu   sync.Mutex // guards the following, since the library has no room for them elsewhere
	work int
	judge
}

// newToolJudge compiles a schema on its own.
func newToolJudge(raw []byte) (t *toolJudge, err error) {
	const url = "urn:steerable:tool"
	t = &toolJudge{}
	c := newCompiler()
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("reference to %s", clip(url))
	}
	c.RegisterExtension("work", nil, meter{t})
	// The library panics on a few schemas that its own check lets through.
	defer func() {
		if r := recover(); r != nil {
			t, err = nil, fmt.Errorf("%w: cannot be compiled", ErrToolSchema)
		}
	}()
	if err := c.AddResource(url, bytes.NewReader(raw)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrToolSchema, err)
	}
	if t.schema, err = c.Compile(url); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrToolSchema, compileFault(err))
	}
	return t, nil
}

// compileFault words a compiler's error in one line.
func compileFault(err error) string {
	if v, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return explain(v).Error()
	}
	return strings.TrimPrefix(err.Error(), "jsonschema ")
}

func (t *toolJudge) check(args []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.work = 0
	return t.judge.check(args)
}

// meter counts the subschemas that a check evaluates. It hooks into the library
// as an extension that applies to every schema.
type meter struct {
	t *toolJudge
}

var (
	_ jsonschema.ExtCompiler = meter{}
	_ jsonschema.ExtSchema   = meter{}
)

// Compile adds the meter to one subschema.
func (m meter) Compile(jsonschema.CompilerContext, map[string]any) (jsonschema.ExtSchema, error) {
	return m, nil
}

// Validate counts one evaluation. An error would count as an ordinary failure,
// which an anyOf above may swallow, so too much work is reported by the one
// panic that the library turns into an error of the whole check.
func (m meter) Validate(jsonschema.ValidationContext, any) error {
	if m.t.work++; m.t.work > maxToolWork {
		panic(jsonschema.InfiniteLoopError("too much work"))
	}
	return nil
}
