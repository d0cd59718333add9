package sidecar

import (
	"cmp"
	"encoding/json"
	"math"
	"time"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/llm"
	"github.com/steerable-go/sidecar/loop"
	"github.com/steerable-go/sidecar/protocol"
)

// Defaults of agent.chat.stream, from the reference and the decisions.
const (
	defaultToolTimeout = 300 * time.Second
	defaultWindow      = 128000 // tokens, when the host names no maxContextTokens
)

// turnSpec is a validated agent.chat.stream: everything a turn needs that does
// not depend on the server.
type turnSpec struct {
	id, chatID  string
	turn        *executors.Turn
	catalog     *executors.Catalog
	viaHost     bool
	plain       bool
	options     loop.Options
	interrupt   bool
	toolTimeout time.Duration
	layers      layers
}

// parseTurn turns untrusted params into a turnSpec. Everything is checked
// before the response, so that a stream that was started can only end with its
// terminal.
func (s *Server) parseTurn(raw []byte) (*turnSpec, error) {
	var p protocol.ChatStreamParams
	if err := decode(raw, &p); err != nil {
		return nil, err
	}
	spec := &turnSpec{id: cmp.Or(p.StreamID, newID("str_")), chatID: p.ChatID, viaHost: p.ToolsViaHost}
	for _, step := range []func(*protocol.ChatStreamParams, *turnSpec) error{
		refuseUnsupported, s.parseProvider, parseMessages, s.parseTools, parseContext, parseLimits, s.parseLayers,
	} {
		if err := step(&p, spec); err != nil {
			return nil, err
		}
	}
	return spec, nil
}

// refuseUnsupported names what a request asks for and this sidecar cannot do.
func refuseUnsupported(p *protocol.ChatStreamParams, _ *turnSpec) error {
	if p.Resume {
		return protocol.InvalidParams("resume: not supported yet")
	}
	return nil
}

// given reports whether a member is present and not null.
func given(raw json.RawMessage) bool { return present(raw) != nil }

// parseProvider chooses the model server.
func (s *Server) parseProvider(p *protocol.ChatStreamParams, spec *turnSpec) error {
	if p.Model == "" {
		return protocol.InvalidParams("model is required")
	}
	var extra struct {
		Script json.RawMessage `json:"script"`
	}
	if len(p.ProviderOptions) > 0 {
		if err := protocol.Decode(p.ProviderOptions, &extra); err != nil {
			return protocol.InvalidParams("providerOptions: %s", err)
		}
	}
	idle := s.opts.IdleTimeout
	if p.IdleTimeoutMs != nil {
		idle = time.Duration(*p.IdleTimeoutMs) * time.Millisecond
	}
	cfg := llm.Config{
		Provider: p.Provider, BaseURL: cmp.Or(p.BaseURL, p.BaseURLSnake), APIKey: cmp.Or(p.APIKey, p.APIKeySnake),
		IdleTimeout: idle, Script: extra.Script, Compat: present(p.Compat), Client: s.client(),
	}
	provider, err := llm.New(cfg)
	if err != nil {
		return protocol.InvalidParams("failed to construct LLM provider: %s", err)
	}
	spec.options.Provider = provider
	spec.options.Request = llm.Request{Model: p.Model, MaxTokens: p.MaxTokens, ReasoningEffort: p.ReasoningEffort}
	if given(p.Temperature) {
		var t float64
		if err := json.Unmarshal(p.Temperature, &t); err != nil {
			return protocol.InvalidParams("temperature: %s", err)
		}
		spec.options.Request.Temperature = &t
	}
	return nil
}

// parseTools decides which tools the model sees and who runs them.
func (s *Server) parseTools(p *protocol.ChatStreamParams, spec *turnSpec) error {
	tools := present(p.Tools)
	offered := tools != nil
	core := offered || p.ToolsViaHost || s.opts.CoreLoop
	if p.UseCoreLoop != nil {
		core = *p.UseCoreLoop
	}
	spec.plain = !core
	if core && !offered && !p.ToolsViaHost && s.router.Len() > 0 {
		tools = encode(s.router.Descriptors())
		spec.catalog = s.router.Catalog().Only(p.ToolFilter)
	} else {
		catalog, err := executors.ParseCatalog(tools, p.ToolFilter)
		if err != nil {
			return protocol.InvalidParams("%s", err)
		}
		spec.catalog = catalog
	}
	if spec.plain {
		return nil
	}
	if p.ToolFilter != nil {
		kept, err := spec.catalog.Keep(tools)
		if err != nil {
			return protocol.InvalidParams("%s", err)
		}
		tools = kept
	}
	spec.options.Request.Tools = tools
	return nil
}

func parseContext(p *protocol.ChatStreamParams, spec *turnSpec) error {
	merged, err := executors.MergeContext(p.ToolContext, p.ChatID, p.ProjectRoot)
	if err != nil {
		return protocol.InvalidParams("toolContext: %s", err)
	}
	spec.turn = &executors.Turn{StreamID: spec.id, ChatID: p.ChatID, ProjectRoot: p.ProjectRoot, Context: merged}
	return nil
}

// parseLimits reads every bound of the turn. Negative numbers and fractions
// have been refused by the schema.
func parseLimits(p *protocol.ChatStreamParams, spec *turnSpec) error {
	o := &spec.options
	o.Plain = spec.plain
	o.MaxRounds = orInt(p.MaxRounds, loop.DefaultMaxRounds)
	o.MaxToolErrors = orInt(p.MaxToolErrors, loop.DefaultMaxToolErrors)
	o.MaxToolCalls = orInt(p.MaxToolCalls, 0)
	o.Dedup = p.ToolDedup
	if p.DoomLoop != nil {
		o.DoomWarn, o.DoomHalt = p.DoomLoop.Warn, p.DoomLoop.Halt
	}
	o.FinalOnly = p.ContentMode == "final"
	if o.FinalOnly && spec.plain {
		return protocol.InvalidParams("contentMode \"final\" needs the core loop: set useCoreLoop or offer tools")
	}
	window := int64(defaultWindow)
	if p.MaxContext != nil && *p.MaxContext > 0 {
		window = *p.MaxContext
		o.Window = window
	}
	// The reference's default: a tenth of a full window for each round, at
	// least two windows (docs/spec/sidecar.md).
	o.Budget = max(2*window, int64(math.Floor(float64(o.MaxRounds)*float64(window)*0.1)))
	if p.BudgetTokens != nil {
		o.Budget = *p.BudgetTokens
	}
	o.SoftTimeout, o.HardTimeout = millis(p.SoftTimeoutMs), millis(p.HardTimeoutMs)
	spec.interrupt = p.SteerMode == "interrupt"
	spec.toolTimeout = defaultToolTimeout
	if p.ToolTimeoutMs != nil {
		spec.toolTimeout = millis(p.ToolTimeoutMs)
	}
	return nil
}

func orInt(p *int, otherwise int) int {
	if p == nil {
		return otherwise
	}
	return *p
}

func millis(p *int64) time.Duration {
	if p == nil {
		return 0
	}
	return time.Duration(*p) * time.Millisecond
}
