package sidecar

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/steerable-go/sidecar/protocol"
)

// maxSessions bounds the sessions kept in memory, so that a list of all fits into
// one frame; the oldest is forgotten.
const maxSessions = 2000

const (
	maxStageData = 256 << 10 // bytes of a session's own data
	maxList      = 900 << 10 // bytes of a list, under the outbound cap
)

// store keeps sessions for the life of the process.
type store struct {
	now func() time.Time

	mu       sync.Mutex // guards following
	sessions map[string]*protocol.Session
	order    []string // ids, oldest first
}

func newStore(now func() time.Time) *store {
	return &store{now: now, sessions: map[string]*protocol.Session{}}
}

// newID returns prefix and 32 random hex digits.
func newID(prefix string) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return prefix + hex.EncodeToString(b[:])
}

func (s *Server) sessionCreate(_ context.Context, req *protocol.Request) (any, error) {
	var p protocol.SessionCreateParams
	if err := decode(req.Params, &p); err != nil {
		return nil, err
	}
	if p.ChatID == "" {
		return nil, protocol.InvalidParams("chatId is required")
	}
	return s.store.create(p)
}

func (s *Server) sessionResume(_ context.Context, req *protocol.Request) (any, error) {
	var p protocol.SessionResumeParams
	if err := decode(req.Params, &p); err != nil {
		return nil, err
	}
	session, ok := s.store.get(p.SessionID)
	if !ok {
		return nil, protocol.NotFound("session %q not found", p.SessionID)
	}
	return session, nil
}

func (s *Server) sessionList(_ context.Context, req *protocol.Request) (any, error) {
	var p protocol.SessionListParams
	if err := decode(req.Params, &p); err != nil {
		return nil, err
	}
	return s.store.list(p), nil
}

// create adds a session. An id that is taken is an error: two chats must not
// share one by accident.
func (st *store) create(p protocol.SessionCreateParams) (*protocol.Session, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if p.SessionID == "" {
		p.SessionID = newID("sess_")
	}
	if st.sessions[p.SessionID] != nil {
		return nil, protocol.InvalidParams("session %q exists", p.SessionID)
	}
	now := st.now().UTC().Format(time.RFC3339Nano)
	session := &protocol.Session{
		SessionID: p.SessionID, UserID: cmp.Or(p.UserID, "local"), ChatID: p.ChatID,
		CurrentStage: cmp.Or(p.CurrentStage, "plan"), Scenario: cmp.Or(p.Scenario, "agent-entry"),
		IsActive: true, CreatedAt: now, UpdatedAt: now, StageData: p.StageData, ProjectID: p.ProjectID,
	}
	if string(session.StageData) == "null" {
		session.StageData = nil
	}
	if n := len(session.StageData); n > maxStageData {
		return nil, protocol.InvalidParams("stageData has %d bytes, the limit is %d", n, maxStageData)
	}
	st.sessions[p.SessionID] = session
	st.order = append(st.order, p.SessionID)
	if len(st.order) > maxSessions {
		delete(st.sessions, st.order[0])
		st.order = slices.Delete(st.order, 0, 1)
	}
	return session, nil
}

func (st *store) get(id string) (*protocol.Session, bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	session, ok := st.sessions[id]
	return session, ok
}

// list returns the sessions that match, oldest first.
func (st *store) list(p protocol.SessionListParams) []*protocol.Session {
	st.mu.Lock()
	defer st.mu.Unlock()
	out := []*protocol.Session{}
	for _, id := range st.order {
		session := st.sessions[id]
		if (p.UserID == "" || p.UserID == session.UserID) && (p.ChatID == "" || p.ChatID == session.ChatID) {
			out = append(out, session)
		}
	}
	return fit(out)
}

// fit cuts a list to what one frame holds: stage data goes first (resume has
// it), then the oldest sessions.
func fit(sessions []*protocol.Session) []*protocol.Session {
	if len(encode(sessions)) <= maxList {
		return sessions
	}
	for i, session := range sessions {
		copied := *session
		copied.StageData = nil
		sessions[i] = &copied
	}
	size := 0
	for i, session := range slices.Backward(sessions) {
		if size += len(encode(session)) + 1; size > maxList {
			return sessions[i+1:]
		}
	}
	return sessions
}
