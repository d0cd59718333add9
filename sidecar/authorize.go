package sidecar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/steerable-go/sidecar/auditlog"
	"github.com/steerable-go/sidecar/authz/capabilities"
	"github.com/steerable-go/sidecar/authz/dlp"
	"github.com/steerable-go/sidecar/authz/govern"
	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/protocol"
)

// defaultOwner owns requests that name nobody.
const defaultOwner = "local"

// authorizer holds what the authorization of all turns shares. Its parts are
// made at the first turn that asks for them.
type authorizer struct {
	dir      string
	governor func() *govern.Governor
	scanner  func() *dlp.Scanner
	log      func() (executors.Recorder, error)

	mu     sync.Mutex // guards following
	opened io.Closer  // the log, once it is open
}

func newAuthorizer(opts Options) *authorizer {
	a := &authorizer{
		dir:      opts.AuditDir,
		governor: sync.OnceValue(func() *govern.Governor { return govern.New(govern.Options{}) }),
		scanner:  sync.OnceValue(func() *dlp.Scanner { return dlp.New(dlp.Options{}) }),
	}
	open := opts.OpenAudit
	if open == nil {
		open = func() (executors.Recorder, error) { return nil, errNoAudit }
	}
	a.log = sync.OnceValues(func() (executors.Recorder, error) {
		log, err := open()
		if err != nil {
			return nil, err
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.opened, _ = log.(io.Closer)
		return log, nil
	})
	return a
}

// close ends the audit log, if one was opened.
func (a *authorizer) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.opened != nil {
		_ = a.opened.Close() // every record that was acknowledged is on disk
	}
}

// modeOf reads [Options.Authz]. What cannot be read enforces.
func modeOf(name string) govern.Mode {
	if name == "" {
		return govern.Off
	}
	mode, _ := govern.ParseMode(name) // an error comes with Enforce
	return mode
}

var errNoAudit = errors.New("no audit log is configured")

// unrecorded is the log of a process whose audit log cannot be opened: nothing
// can be recorded, so nothing may happen.
type unrecorded struct{ err error }

func (u unrecorded) Append(context.Context, auditlog.Record) (auditlog.Receipt, error) {
	return auditlog.Receipt{}, fmt.Errorf("audit log unavailable: %w", u.err)
}

// parseAuthz reads the member authz. Between request and environment the
// stricter mode holds; anything malformed is refused, never off.
func (s *Server) parseAuthz(p *protocol.ChatStreamParams, spec *turnSpec) error {
	raw := []byte(`{"mode":"off"}`)
	if given(p.Authz) {
		raw = p.Authz
	}
	cfg, err := govern.ParseConfig(raw)
	if err != nil {
		return protocol.InvalidParams("authz: %s", err)
	}
	cfg.Mode = cfg.Mode.Stricter(s.authzMode)
	if cfg.Mode == govern.Off {
		return nil
	}
	owner, err := s.owner(p, cfg.Owner)
	if err != nil {
		return err
	}
	if err := s.exposed(spec.layers.confine); err != nil {
		return protocol.InvalidParams("authz: %s", err)
	}
	state := govern.NewState(capabilities.NewPrincipal(owner, cfg.Groups...))
	state.Limits = cfg.Limits
	spec.layers.authz = &executors.AuthorizationOptions{
		Tools: cfg.Tools, Mode: cfg.Mode, Replies: cfg.Replies, State: state, Owner: owner, ChatID: p.ChatID,
		Logger: s.opts.Log, Now: s.opts.Now,
	}
	return nil
}

// exposed returns an error if confined commands could write to the audit log or
// to the file of its key.
func (s *Server) exposed(confine *executors.ConfineOptions) error {
	if confine == nil {
		return nil
	}
	for _, path := range []string{s.authorizer.dir, s.opts.AuditKey} {
		if path == "" {
			continue
		}
		if err := auditlog.CheckExposure(path, confine.Policy.Roots); err != nil {
			return err
		}
	}
	return nil
}

// owner decides who a request belongs to: the owner it names, else that of its
// session. If both are there they must agree.
func (s *Server) owner(p *protocol.ChatStreamParams, named string) (string, error) {
	if p.SessionID == "" {
		return cmp.Or(named, defaultOwner), nil
	}
	session, ok := s.store.get(p.SessionID)
	if !ok {
		return "", protocol.NotFound("session %q not found", p.SessionID)
	}
	if named != "" && named != session.UserID {
		return "", protocol.InvalidParams("authz.owner is not the owner of session %q", p.SessionID)
	}
	return session.UserID, nil
}

// authorization returns the authorization of one turn, or nil if none was asked
// for.
func (s *Server) authorization(l *layers) *executors.Authorization {
	if l.authz == nil {
		return nil
	}
	opts := *l.authz
	opts.Governor, opts.Scanner = s.authorizer.governor(), s.authorizer.scanner()
	log, err := s.authorizer.log()
	if err != nil {
		s.opts.Log.Error().Err(err).Msg("audit log cannot be opened")
		log = unrecorded{err}
	}
	opts.Log = log
	return executors.NewAuthorization(opts)
}
