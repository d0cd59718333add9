package sidecar

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"github.com/steerable-go/sidecar/protocol"
)

const defaultGrace = 5.0 // seconds, as the reference reports

// config is what config.get and config.set see.
type config struct {
	setLevel func(zerolog.Level)

	mu        sync.Mutex // guards following
	level     string
	levelFrom string
	grace     float64
	graceFrom string
}

func newConfig(opts Options) *config {
	c := &config{setLevel: opts.SetLevel, level: "INFO", levelFrom: "default", grace: defaultGrace, graceFrom: "default"}
	if opts.LogLevel != "" {
		c.level, c.levelFrom = opts.LogLevel, "flag"
	}
	return c
}

// Levels are the log levels of --log-level and config.set, in the words of the
// reference.
func Levels() []string { return []string{"DEBUG", "INFO", "WARNING", "ERROR"} }

// ParseLevel returns the zerolog level of one of [Levels], in any case.
func ParseLevel(name string) (level zerolog.Level, canonical string, ok bool) {
	canonical = strings.ToUpper(name)
	i := slices.Index(Levels(), canonical)
	if i < 0 {
		return zerolog.InfoLevel, "", false
	}
	return []zerolog.Level{zerolog.DebugLevel, zerolog.InfoLevel, zerolog.WarnLevel, zerolog.ErrorLevel}[i], canonical, true
}

func (s *Server) configGet(_ context.Context, req *protocol.Request) (any, error) {
	var p protocol.ConfigGetParams
	if err := decode(req.Params, &p); err != nil {
		return nil, err
	}
	return s.config.report(p.Merged), nil
}

// configSet changes settings, all or none.
func (s *Server) configSet(_ context.Context, req *protocol.Request) (any, error) {
	var p protocol.ConfigSetParams
	if err := decode(req.Params, &p); err != nil {
		return nil, err
	}
	if p.GracePeriodSeconds != nil && (*p.GracePeriodSeconds < 0 || *p.GracePeriodSeconds > 3600) {
		return nil, protocol.InvalidParams("gracePeriodSeconds must be between 0 and 3600")
	}
	var level zerolog.Level
	if p.LogLevel != nil {
		l, canonical, ok := ParseLevel(*p.LogLevel)
		if !ok {
			return nil, protocol.InvalidParams("logLevel must be one of %s", strings.Join(Levels(), ", "))
		}
		level, p.LogLevel = l, &canonical
	}
	s.config.set(p, level)
	return s.config.report(false), nil
}

func (c *config) set(p protocol.ConfigSetParams, level zerolog.Level) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.LogLevel != nil {
		c.level, c.levelFrom = *p.LogLevel, "request"
		if c.setLevel != nil {
			c.setLevel(level)
		}
	}
	if p.GracePeriodSeconds != nil {
		c.grace, c.graceFrom = *p.GracePeriodSeconds, "request"
	}
}

// report is the result of config.get; merged names the layer of each value.
func (c *config) report(merged bool) protocol.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := protocol.Config{
		LogLevel: c.level, GracePeriodSeconds: c.grace,
		Version: Version, ProtocolVersion: protocol.ProtocolVersion,
	}
	if merged {
		out.Merged = map[string]protocol.Setting{
			"logLevel":           {Value: c.level, Layer: c.levelFrom},
			"gracePeriodSeconds": {Value: c.grace, Layer: c.graceFrom},
		}
	}
	return out
}
