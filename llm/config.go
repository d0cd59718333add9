package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config describes a provider. Only Provider is required.
type Config struct {
	// Provider is one of the names of New.
	Provider string

	// BaseURL is where the API lives, without the last path segments
	// ("https://api.example/v1"). Empty means the vendor's public address.
	BaseURL string

	// APIKey is sent as a bearer token, or the way the vendor wants it. Empty
	// sends no credential: local servers need none, and a credential-injecting
	// proxy strips what it finds.
	APIKey string

	// Headers are added to every request and win over the package's own.
	// Their values are treated as secrets.
	Headers map[string]string

	// Client sends the requests; share one from NewHTTPClient. nil makes one.
	Client *http.Client

	// IdleTimeout ends a stream that has been silent for so long; every byte
	// counts, comments and pings included. 0 means 300 s.
	IdleTimeout time.Duration

	// MaxEventBytes bounds one event of a stream, and all text, reasoning and
	// arguments of a reply together. 0 means 64 MiB.
	MaxEventBytes int

	// Compat overrides what is known about the vendor of a chat-completions
	// server: an object with any of supportsUsageInStreaming, maxTokensField,
	// supportsReasoningEffort, supportsTemperature, supportsForcedToolChoice,
	// reasoningDeltaFields, reasoningEchoField, echoEmptyReasoningForToolCalls,
	// cachedTokensFields, as in the reference (llm/compat.py).
	Compat json.RawMessage

	// Script is what a scripted provider plays: an array of replies, each an
	// object with any of
	//
	//	text, reasoning  a string, or an array of the pieces in which it arrives
	//	toolCalls        [{id?, name, arguments: {…} | rawArguments: "…"}]
	//	finishReason     one of the FinishReason values
	//	usage            {promptTokens, completionTokens, totalTokens, …}
	//	error            {kind | status, message, retryAfterMs}: fails after the text
	//	cut              true: the stream breaks off after the text
	//	delayMs          a pause before every piece
	//
	// The n-th request gets the n-th reply, and the last one from then on.
	Script json.RawMessage
}

// New returns the provider that cfg names:
//
//   - openai, openai_compat, openai-compatible: the chat-completions API
//   - ollama: the same, below /v1 of the base URL
//   - anthropic, claude: the messages API
//   - scripted: replies from Config.Script, for tests and demonstrations
//
// It does no network work and may be called per turn. Unknown names give
// "unknown provider: '<name>'".
func New(cfg Config) (Provider, error) {
	switch strings.ToLower(cfg.Provider) {
	case "openai", "openai_compat", "openai-compatible":
		return newOpenAI(&cfg, "https://api.openai.com/v1")
	case "ollama":
		return newOllama(cfg)
	case "anthropic", "claude":
		return newAnthropic(&cfg)
	case "scripted":
		return newScripted(cfg.Script)
	case "openai-responses", "openai_responses", "responses", "xai", "google", "gemini", "google-genai", "google_genai":
		return nil, fmt.Errorf("provider '%s' is not supported: use openai_compat with the vendor's chat-completions address", cfg.Provider)
	}
	return nil, fmt.Errorf("unknown provider: '%s'", cfg.Provider)
}

// newOpenAI returns a provider for the chat-completions API.
func newOpenAI(cfg *Config, address string) (Provider, error) {
	base, err := parseBase(cfg.BaseURL, address)
	if err != nil {
		return nil, err
	}
	differences, err := compatFor(base.Hostname(), cfg.Compat)
	if err != nil {
		return nil, err
	}
	appendPath(base, "/chat/completions")
	return newHTTPProvider("openai_compat", base, &openAI{key: cfg.APIKey, compat: differences}, cfg), nil
}

// newOllama returns a provider for Ollama, whose users write the address of the
// server and not that of the API.
func newOllama(cfg Config) (Provider, error) {
	base, err := parseBase(cfg.BaseURL, "http://localhost:11434/v1")
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(base.Path, "/chat/completions") {
		appendPath(base, "/v1")
	}
	cfg.BaseURL = base.String()
	return newOpenAI(&cfg, "")
}

// newAnthropic returns a provider for the messages API.
func newAnthropic(cfg *Config) (Provider, error) {
	base, err := parseBase(cfg.BaseURL, "https://api.anthropic.com")
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(base.Path, "/messages") {
		appendPath(base, "/v1")
	}
	appendPath(base, "/messages")
	return newHTTPProvider("anthropic", base, &anthropic{key: cfg.APIKey}, cfg), nil
}

// errBaseURL does not quote the address: it may hold a password.
var errBaseURL = errors.New("the base URL is not an http or https address")

// parseBase parses a base URL; an empty one is the vendor's address.
func parseBase(address, vendor string) (*url.URL, error) {
	address = strings.TrimSpace(address)
	if address == "" {
		address = vendor
	}
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errBaseURL
	}
	base.Path = strings.TrimRight(base.Path, "/")
	base.RawPath, base.Fragment = "", ""
	return base, nil
}

// appendPath appends a path, unless the address ends with it already.
func appendPath(base *url.URL, path string) {
	if !strings.HasSuffix(base.Path, path) {
		base.Path += path
	}
}
