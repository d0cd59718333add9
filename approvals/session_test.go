package approvals_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/steerable-go/sidecar/approvals"
)

// inSession gives an answer for the session and reports what later calls get.
func inSession(t *testing.T, cache *approvals.SessionCache, chat string, k approvals.Kind) {
	t.Helper()
	gate := approvals.NewGate(approvals.Options{Sessions: cache, Matcher: words{}})
	stored := gate.Record(t.Context(), approvals.Request{ChatID: chat, Tool: "edit"}, approvals.Decision{Kind: k})
	if stored.Scope != approvals.ScopeSession {
		t.Fatalf("stored %+v, want scope session", stored)
	}
}

func sessionOutcome(cache *approvals.SessionCache, chat string) approvals.Reason {
	gate := approvals.NewGate(approvals.Options{Sessions: cache, Matcher: words{}})
	return gate.Check(approvals.Request{ChatID: chat, Tool: "edit"}).Reason
}

func TestSessionBelongsToItsChat(t *testing.T) {
	cache := &approvals.SessionCache{}
	inSession(t, cache, "one", approvals.AllowForSession)
	inSession(t, cache, "", approvals.AllowForSession)
	for chat, want := range map[string]approvals.Reason{
		"one": approvals.ReasonSession, "": approvals.ReasonSession, "two": approvals.ReasonHeadless,
	} {
		if got := sessionOutcome(cache, chat); got != want {
			t.Errorf("chat %q: %s, want %s", chat, got, want)
		}
	}
	cache.Forget("one")
	cache.Forget("never seen")
	if got := sessionOutcome(cache, "one"); got != approvals.ReasonHeadless {
		t.Errorf("a forgotten chat still has an answer: %s", got)
	}
}

func TestSessionForgetsTheLeastUsedChat(t *testing.T) {
	cache := &approvals.SessionCache{}
	for i := range 64 {
		inSession(t, cache, fmt.Sprint(i), approvals.AllowForSession)
	}
	if got := sessionOutcome(cache, "0"); got != approvals.ReasonSession { // used again: now the youngest
		t.Fatalf("chat 0 of 64 is forgotten: %s", got)
	}
	inSession(t, cache, "1", approvals.AllowForSession) // an answer is a use too
	inSession(t, cache, "64", approvals.AllowForSession)
	for chat, want := range map[string]approvals.Reason{
		"0": approvals.ReasonSession, "1": approvals.ReasonSession, "2": approvals.ReasonHeadless, "3": approvals.ReasonSession, "64": approvals.ReasonSession,
	} {
		if got := sessionOutcome(cache, chat); got != want {
			t.Errorf("chat %s: %s, want %s", chat, got, want)
		}
	}
}

func TestSessionDenialStands(t *testing.T) {
	cache := &approvals.SessionCache{}
	inSession(t, cache, "c", approvals.DenyForSession)
	inSession(t, cache, "c", approvals.AllowForSession)
	gate := approvals.NewGate(approvals.Options{Sessions: cache})
	if v := gate.Check(approvals.Request{ChatID: "c", Tool: "edit"}); v.Kind != approvals.DenyForSession {
		t.Errorf("kind %v after a denial and an allow, want %v", v.Kind, approvals.DenyForSession)
	}
}

func TestSessionCacheIsSafeForConcurrentUse(t *testing.T) {
	cache := &approvals.SessionCache{}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 50 {
				chat := fmt.Sprint(n % (i + 70))
				gate := approvals.NewGate(approvals.Options{Sessions: cache, Matcher: words{}})
				req := approvals.Request{ChatID: chat, Tool: "bash", Shell: true, Arguments: []byte(`{"command":"git status"}`), SuggestedPrefix: []string{"git", fmt.Sprint(i)}}
				gate.Record(t.Context(), req, approvals.Decision{Kind: approvals.AllowForSession})
				gate.Check(req)
				if n%10 == 0 {
					cache.Forget(chat)
				}
			}
		})
	}
	wg.Wait()
}
