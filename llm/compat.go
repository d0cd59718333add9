package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The members of Message.Opaque, one per format.
const (
	opaqueDetails   = "reasoning_details" // OpenRouter
	opaqueAnthropic = "anthropic_blocks"
)

// compat holds the differences between vendors of the chat-completions API, as
// data. Its names and their meaning are those of the reference (llm/compat.py);
// the zero value is not a plain server, see compatFor.
type compat struct {
	// supportsUsageInStreaming sends stream_options.include_usage.
	supportsUsageInStreaming bool
	// maxTokensField is "max_tokens" or "max_completion_tokens".
	maxTokensField string
	// supportsReasoningEffort sends Request.ReasoningEffort.
	supportsReasoningEffort bool
	// supportsTemperature sends Request.Temperature.
	supportsTemperature bool
	// supportsForcedToolChoice leaves a tool choice of "required" as it is; else
	// it becomes "auto".
	supportsForcedToolChoice bool
	// reasoningDeltaFields are the members of a delta that hold reasoning, best
	// first.
	reasoningDeltaFields []string
	// reasoningEchoField is the member of an assistant message with tool calls
	// under which the vendor wants its reasoning back; empty sends none.
	reasoningEchoField string
	// echoEmptyReasoningForToolCalls sends that member as "" when there was no
	// reasoning.
	echoEmptyReasoningForToolCalls bool
	// cachedTokensFields are the members of usage that count cached prompt
	// tokens, best first; a dot separates levels.
	cachedTokensFields []string

	// effortObject sends {"reasoning":{"effort":…}} too, which OpenRouter
	// documents.
	effortObject bool
}

// plainCompat is a server that differs in nothing.
func plainCompat() compat {
	return compat{
		supportsUsageInStreaming: true,
		maxTokensField:           "max_tokens",
		supportsReasoningEffort:  true,
		supportsTemperature:      true,
		supportsForcedToolChoice: true,
		reasoningDeltaFields:     []string{"reasoning_content", "reasoning"},
		cachedTokensFields:       []string{"prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens"},
	}
}

// vendor is one row of the table of differences.
type vendor struct {
	domain string // matches this host and those below it
	apply  func(*compat)
}

// vendors lists what is known. The host is the only reliable sign of a vendor:
// the provider names of the protocol stand for the API alone.
func vendors() []vendor {
	return []vendor{
		// In thinking mode DeepSeek refuses a request that leaves out the
		// reasoning of a message with tool calls, and refuses a forced call.
		{"deepseek.com", func(c *compat) {
			c.reasoningEchoField = "reasoning_content"
			c.echoEmptyReasoningForToolCalls = true
			c.supportsForcedToolChoice = false
		}},
		// Moonshot fixes the temperature and knows no effort.
		{"moonshot.cn", moonshot},
		{"moonshot.ai", moonshot},
		{"openrouter.ai", func(c *compat) {
			c.reasoningDeltaFields = []string{"reasoning", "reasoning_content"}
			c.reasoningEchoField = "reasoning"
			c.effortObject = true
		}},
		// These refuse a forced call while thinking.
		{"z.ai", autoToolChoice},
		{"bigmodel.cn", autoToolChoice},
		{"dashscope.aliyuncs.com", autoToolChoice},
		{"dashscope-intl.aliyuncs.com", autoToolChoice},
		// The newer models of OpenAI know only the longer name.
		{"api.openai.com", func(c *compat) { c.maxTokensField = "max_completion_tokens" }},
	}
}

func moonshot(c *compat) {
	c.supportsTemperature = false
	c.supportsReasoningEffort = false
	c.reasoningEchoField = "reasoning_content"
}

func autoToolChoice(c *compat) { c.supportsForcedToolChoice = false }

// compatFor returns what is known about a host, changed by override: an object
// with members of those names. Unknown members are refused, since a
// misspelt one would silently do nothing.
func compatFor(host string, override json.RawMessage) (compat, error) {
	c := plainCompat()
	host = strings.ToLower(host)
	for _, v := range vendors() {
		if host == v.domain || strings.HasSuffix(host, "."+v.domain) {
			v.apply(&c)
		}
	}
	if isNull(bytes.TrimSpace(override)) {
		return c, nil
	}
	wire := struct {
		SupportsUsageInStreaming       *bool    `json:"supportsUsageInStreaming"`
		MaxTokensField                 *string  `json:"maxTokensField"`
		SupportsReasoningEffort        *bool    `json:"supportsReasoningEffort"`
		SupportsTemperature            *bool    `json:"supportsTemperature"`
		SupportsForcedToolChoice       *bool    `json:"supportsForcedToolChoice"`
		ReasoningDeltaFields           []string `json:"reasoningDeltaFields"`
		ReasoningEchoField             *string  `json:"reasoningEchoField"`
		EchoEmptyReasoningForToolCalls *bool    `json:"echoEmptyReasoningForToolCalls"`
		CachedTokensFields             []string `json:"cachedTokensFields"`
	}{}
	d := json.NewDecoder(bytes.NewReader(override))
	d.DisallowUnknownFields()
	if err := d.Decode(&wire); err != nil {
		return compat{}, fmt.Errorf("compat: %w", err)
	}
	if m := wire.MaxTokensField; m != nil && *m != "max_tokens" && *m != "max_completion_tokens" {
		return compat{}, fmt.Errorf("compat: maxTokensField must be max_tokens or max_completion_tokens, not %q", *m)
	}
	set(&c.supportsUsageInStreaming, wire.SupportsUsageInStreaming)
	set(&c.maxTokensField, wire.MaxTokensField)
	set(&c.supportsReasoningEffort, wire.SupportsReasoningEffort)
	set(&c.supportsTemperature, wire.SupportsTemperature)
	set(&c.supportsForcedToolChoice, wire.SupportsForcedToolChoice)
	set(&c.reasoningEchoField, wire.ReasoningEchoField)
	set(&c.echoEmptyReasoningForToolCalls, wire.EchoEmptyReasoningForToolCalls)
	if wire.ReasoningDeltaFields != nil {
		c.reasoningDeltaFields = wire.ReasoningDeltaFields
	}
	if wire.CachedTokensFields != nil {
		c.cachedTokensFields = wire.CachedTokensFields
	}
	return c, nil
}

// set overwrites a value if there is another.
func set[T any](dst, src *T) {
	if src != nil {
		*dst = *src
	}
}

// reasoningRank returns the place of a delta's member in the order of
// preference, counted from 1; 0 if it is none of them.
func (c *compat) reasoningRank(key []byte) int {
	for i, field := range c.reasoningDeltaFields {
		if string(key) == field {
			return i + 1
		}
	}
	return 0
}

// usage reads a usage object; nil if raw is none or counts nothing known.
func (c *compat) usage(raw []byte) *Usage {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	prompt, ok1 := count(raw, "prompt_tokens")
	completion, ok2 := count(raw, "completion_tokens")
	total, ok3 := count(raw, "total_tokens")
	if !ok1 && !ok2 && !ok3 {
		return nil
	}
	if !ok3 {
		total = prompt + completion
	}
	u := &Usage{PromptTokens: prompt, CompletionTokens: completion, TotalTokens: total}
	for _, path := range c.cachedTokensFields {
		if n, _ := count(raw, path); n > 0 {
			u.CachedPromptTokens = n
			break
		}
	}
	u.ReasoningTokens, _ = count(raw, "completion_tokens_details.reasoning_tokens")
	return u
}

// count reads the number at a dotted path. Negative and fractional numbers are
// as good as none.
func count(raw []byte, path string) (int64, bool) {
	for key := range strings.SplitSeq(path, ".") {
		raw = memberOf(raw, key)
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || f != float64(int64(f)) {
			return 0, false
		}
		n = int64(f)
	}
	return n, n >= 0
}

// memberOf returns the last member of that name of an object, nil if there is
// none.
func memberOf(raw []byte, key string) []byte {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	var found []byte
	c := cursor{b: raw}
	for c.object(); c.member(); {
		match := string(c.key) == key
		if value := c.value(); match {
			found = value
		}
	}
	return found
}

// lower is strings.ToLower for ASCII words of at most 64 bytes; longer ones
// match nothing that this package looks for.
func lower(word string) string {
	if len(word) > 64 {
		return ""
	}
	return strings.ToLower(word)
}

// anyOf says whether text holds one of the phrases.
func anyOf(text string, phrases ...string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(text, p) })
}
