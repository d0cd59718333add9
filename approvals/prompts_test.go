package approvals_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/steerable-go/sidecar/approvals"
)

// dialog is a person with one dialog at a time: each question waits for a
// decision from answers.
type dialog struct {
	questions chan approvals.Request
	answers   chan approvals.Decision
	ended     chan error // causes of contexts that ended before an answer
}

func newDialog() *dialog {
	return &dialog{make(chan approvals.Request, 16), make(chan approvals.Decision), make(chan error, 16)}
}

func (d *dialog) Ask(ctx context.Context, req approvals.Request) (approvals.Decision, error) {
	d.questions <- req
	select {
	case a := <-d.answers:
		return a, nil
	case <-ctx.Done():
		d.ended <- context.Cause(ctx)
		return approvals.Decision{}, ctx.Err()
	}
}

// outcome is what one of several concurrent calls got.
type outcome struct {
	res approvals.Resolution
	err error
}

// calls resolves the same request n times at once, through gates of their own
// that share what a process shares.
func calls(ctx context.Context, opts approvals.Options, n int, req approvals.Request) <-chan outcome {
	results := make(chan outcome, n)
	for range n {
		go func() {
			res, err := approvals.NewGate(opts).Resolve(ctx, req)
			results <- outcome{res, err}
		}()
	}
	return results
}

func promptOptions(d approvals.Approver, timeout time.Duration) approvals.Options {
	return approvals.Options{
		Mode: approvals.GateHost, Host: d, Timeout: timeout, Matcher: words{},
		Sessions: &approvals.SessionCache{}, Prompts: &approvals.Prompts{},
	}
}

func TestOnePromptForEqualQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDialog()
		results := calls(t.Context(), promptOptions(d, 0), 5, approvals.Request{ChatID: "c", Tool: "edit", Arguments: []byte(`{"a":1}`)})
		synctest.Wait()
		if got := len(d.questions); got != 1 {
			t.Fatalf("%d questions are open, want 1", got)
		}
		d.answers <- approvals.Decision{Kind: approvals.AllowForSession}
		asked := 0
		for range 5 {
			o := <-results
			if o.err != nil || !o.res.Allowed() {
				t.Errorf("%+v, %v; want it allowed", o.res, o.err)
			}
			if o.res.Asked {
				asked++
			}
		}
		if asked != 1 {
			t.Errorf("%d calls say they asked, want 1", asked)
		}
	})
}

func TestOnceIsForTheAskerOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDialog()
		results := calls(t.Context(), promptOptions(d, 0), 3, approvals.Request{ChatID: "c", Tool: "edit"})
		for n, kind := range []approvals.Kind{approvals.AllowOnce, approvals.DenyOnce, approvals.AllowOnce} {
			synctest.Wait()
			if got := len(d.questions); got != n+1 {
				t.Fatalf("%d questions were asked before answer %d, want %d", got, n, n+1)
			}
			d.answers <- approvals.Decision{Kind: kind}
			o := <-results
			if o.err != nil || o.res.Kind != kind || !o.res.Asked {
				t.Errorf("answer %d: %+v, %v; want %v", n, o.res, o.err, kind)
			}
		}
	})
}

func TestSessionDenialResolvesAllWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDialog()
		results := calls(t.Context(), promptOptions(d, 0), 4, shell("git push"))
		synctest.Wait()
		d.answers <- approvals.Decision{Kind: approvals.DenyForSession}
		for range 4 {
			if o := <-results; o.err != nil || o.res.Kind != approvals.DenyForSession || o.res.Allowed() {
				t.Errorf("%+v, %v; want a denial for the session", o.res, o.err)
			}
		}
		if got := len(d.questions); got != 1 {
			t.Errorf("%d questions, want 1", got)
		}
	})
}

func TestDifferentQuestionsAreOpenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDialog()
		opts := promptOptions(d, 0)
		ctx, cancel := context.WithCancel(t.Context())
		list := []approvals.Request{
			{ChatID: "c", Tool: "edit", Arguments: []byte(`{"a":1}`)},
			{ChatID: "c", Tool: "edit", Arguments: []byte(`{"a":2}`)},
			{ChatID: "d", Tool: "edit", Arguments: []byte(`{"a":1}`)},
			{ChatID: "c", Tool: "move", Arguments: []byte(`{"a":1}`)},
		}
		var results []<-chan outcome
		for _, req := range list {
			results = append(results, calls(ctx, opts, 1, req))
		}
		synctest.Wait()
		if got := len(d.questions); got != len(list) {
			t.Errorf("%d questions are open, want %d", got, len(list))
		}
		cancel()
		for _, r := range results {
			<-r
		}
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDialog()
		results := calls(t.Context(), promptOptions(d, 120*time.Second), 2, approvals.Request{ChatID: "c", Tool: "edit"})
		for range 2 {
			o := <-results
			want := approvals.Decision{Kind: approvals.TimedOut, Reason: "approval request timed out after 120s"}
			if diff := cmp.Diff(want, o.res.Decision); diff != "" || o.err != nil || o.res.Allowed() {
				t.Errorf("%+v, %v (-want +got):\n%s", o.res.Verdict, o.err, diff)
			}
			if o.res.Wait != 120*time.Second || o.res.Reason != approvals.ReasonTimedOut {
				t.Errorf("waited %v with reason %s, want 120s and timed_out", o.res.Wait, o.res.Reason)
			}
		}
		if got := len(d.questions); got != 1 {
			t.Errorf("%d questions, want 1: the second call's time was up with the first's", got)
		}
		if cause := <-d.ended; !errors.Is(cause, approvals.ErrTimedOut) {
			t.Errorf("the approver's context ended with %v, want %v", cause, approvals.ErrTimedOut)
		}
	})
}

func TestALateCallerAsksWithTheTimeItHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDialog()
		opts := promptOptions(d, 100*time.Second)
		req := approvals.Request{ChatID: "c", Tool: "edit"}
		first := calls(t.Context(), opts, 1, req)
		<-time.After(60 * time.Second)
		second := calls(t.Context(), opts, 1, req)
		if o := <-first; o.res.Kind != approvals.TimedOut {
			t.Errorf("first: %+v", o.res)
		}
		synctest.Wait()
		if got := len(d.questions); got != 2 {
			t.Fatalf("%d questions, want the second call's own", got)
		}
		<-time.After(59 * time.Second)
		d.answers <- approvals.Decision{Kind: approvals.AllowOnce}
		if o := <-second; !o.res.Allowed() || o.res.Wait != 99*time.Second {
			t.Errorf("second: %+v after %v, want it allowed after 99s", o.res.Verdict, o.res.Wait)
		}
	})
}

func TestNegativeTimeoutAsksNobody(t *testing.T) {
	f := newFixture(t)
	f.opts.Timeout = -1
	f.says(approvals.AllowOnce)
	res, err := f.gate().Resolve(t.Context(), approvals.Request{Tool: "edit"})
	if err != nil || res.Kind != approvals.TimedOut || res.Asked || len(f.host.asked) > 0 {
		t.Errorf("%+v, %v, asked %d times; want it timed out at once", res, err, len(f.host.asked))
	}
}

func TestCancelledTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDialog()
		ctx, cancel := context.WithCancelCause(t.Context())
		results := calls(ctx, promptOptions(d, time.Minute), 2, approvals.Request{ChatID: "c", Tool: "edit"})
		synctest.Wait()
		gone := errors.New("turn ended")
		cancel(gone)
		for range 2 {
			if o := <-results; !errors.Is(o.err, gone) || o.res.Allowed() || o.res.Reason != approvals.ReasonCancelled {
				t.Errorf("%+v, %v; want a denial and %v", o.res, o.err, gone)
			}
		}
		if cause := <-d.ended; !errors.Is(cause, gone) {
			t.Errorf("the approver's context ended with %v, want %v", cause, gone)
		}
	})
}

func TestCancelOfTheAskerLeavesTheQuestionToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDialog()
		opts := promptOptions(d, 0)
		req := approvals.Request{ChatID: "c", Tool: "edit"}
		ctx, cancel := context.WithCancel(t.Context())
		first := calls(ctx, opts, 1, req)
		synctest.Wait()
		second := calls(t.Context(), opts, 1, req)
		synctest.Wait()
		cancel()
		<-first
		synctest.Wait()
		d.answers <- approvals.Decision{Kind: approvals.AllowOnce}
		if o := <-second; !o.res.Allowed() || len(d.questions) != 2 {
			t.Errorf("%+v after %d questions, want its own question allowed", o.res, len(d.questions))
		}
	})
}

// What counts as an answer, and under which reason a result names it.
func TestAnswers(t *testing.T) {
	late := approverFunc(func(ctx context.Context) (approvals.Decision, error) {
		<-ctx.Done()
		return approvals.Decision{Kind: approvals.AllowAlways}, nil // too late to count
	})
	yes := &host{decision: approvals.Decision{Kind: approvals.AllowOnce}}
	for _, tt := range []struct {
		name    string
		a       approvals.Approver
		timeout time.Duration
		want    approvals.Decision
		reason  approvals.Reason
	}{
		{"answer", yes, 0, approvals.Decision{Kind: approvals.AllowOnce}, approvals.ReasonAnswered},
		{"refusal", &host{decision: approvals.Decision{Kind: approvals.DenyOnce, Reason: "no"}}, 0, approvals.Decision{Kind: approvals.DenyOnce, Reason: "no"}, approvals.ReasonAnswered},
		{"answer after the timeout", late, time.Second, approvals.Decision{Kind: approvals.TimedOut, Reason: "approval request timed out after 1s"}, approvals.ReasonTimedOut},
		{"timeout in parts of a second", late, 1500 * time.Millisecond, approvals.Decision{Kind: approvals.TimedOut, Reason: "approval request timed out after 1.5s"}, approvals.ReasonTimedOut},
		{"negative timeout", yes, -time.Second, approvals.Decision{Kind: approvals.TimedOut, Reason: "approval request timed out after -1s"}, approvals.ReasonTimedOut},
		{"host error", &host{err: errors.New("method not found")}, 0, approvals.Decision{Kind: approvals.DenyOnce, Reason: "host approval unavailable: method not found"}, approvals.ReasonFailed},
		{
			"invalid reply", &host{err: &approvals.ReplyError{Given: "sure"}}, 0,
			approvals.Decision{Kind: approvals.DenyOnce, Reason: "host returned an invalid approval decision: sure"},
			approvals.ReasonInvalid,
		},
		{
			"timed_out from the host", &host{decision: approvals.Decision{Kind: approvals.TimedOut}}, 0,
			approvals.Decision{Kind: approvals.DenyOnce, Reason: "host returned an invalid approval decision: timed_out"},
			approvals.ReasonInvalid,
		},
		{
			"no decision", &host{}, 0,
			approvals.Decision{Kind: approvals.DenyOnce, Reason: "host returned an invalid approval decision: none"},
			approvals.ReasonInvalid,
		},
		{
			"decision outside the algebra", &host{decision: approvals.Decision{Kind: 77}}, 0,
			approvals.Decision{Kind: approvals.DenyOnce, Reason: "host returned an invalid approval decision: kind(77)"},
			approvals.ReasonInvalid,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				res, err := approvals.NewGate(promptOptions(tt.a, tt.timeout)).Resolve(t.Context(), approvals.Request{Tool: "edit"})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, res.Decision); diff != "" {
					t.Errorf("decision (-want +got):\n%s", diff)
				}
				if res.Reason != tt.reason || res.Kind != tt.want.Kind || res.Allowed() != tt.want.Kind.Allows() {
					t.Errorf("%+v, want reason %s", res.Verdict, tt.reason)
				}
			})
		})
	}
}

// approverFunc is an approver that needs no request.
type approverFunc func(context.Context) (approvals.Decision, error)

func (f approverFunc) Ask(ctx context.Context, _ approvals.Request) (approvals.Decision, error) {
	return f(ctx)
}

func TestTheEndOfTheTurnIsPassedOn(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("turn ended")
	cancel(gone)
	yes := &host{decision: approvals.Decision{Kind: approvals.AllowOnce}}
	res, err := approvals.NewGate(promptOptions(yes, 0)).Resolve(ctx, approvals.Request{Tool: "edit"})
	if !errors.Is(err, gone) || res.Allowed() || res.Reason != approvals.ReasonCancelled || len(yes.asked) > 0 {
		t.Errorf("%+v, %v; want a denial and %v", res, err, gone)
	}
}

// A denial stored while the dialog was open wins over the answer.
func TestDenialDuringTheQuestionWins(t *testing.T) {
	f := newFixture(t)
	f.opts.Host = approverFunc(func(ctx context.Context) (approvals.Decision, error) {
		err := approvals.OpenStore(f.store, at).Set(ctx, "edit", deny)
		return approvals.Decision{Kind: approvals.AllowAlways}, err
	})
	res, err := f.gate().Resolve(t.Context(), approvals.Request{Tool: "edit"})
	if err != nil || res.Allowed() || res.Kind != approvals.DenyAlways || !res.Asked {
		t.Errorf("%+v, %v; want the stored denial", res, err)
	}
	if res.Stored.Reason != "a denial was stored while the question was open" {
		t.Errorf("stored %+v", res.Stored)
	}
}

// An allow that comes with a rule against its like still runs this call.
func TestAllowOnceWithADenyingAmendmentRuns(t *testing.T) {
	f := newFixture(t)
	f.host.decision = approvals.Decision{Kind: approvals.AllowOnce, Amendment: amend(deny, "git", "push")}
	gate := f.gate()
	if res, err := gate.Resolve(t.Context(), shell("git push")); err != nil || !res.Allowed() {
		t.Errorf("this call: %+v, %v", res, err)
	}
	if v := gate.Check(shell("git push")); v.Outcome != approvals.OutcomeDeny {
		t.Errorf("the next: %+v, want a denial", v)
	}
}

func TestAbort(t *testing.T) {
	for reason, want := range map[string]string{"": "tool call 'edit' aborted by approval", "stop it": "stop it"} {
		f := newFixture(t)
		f.host.decision = approvals.Decision{Kind: approvals.Abort, Reason: reason}
		res, err := f.gate().Resolve(t.Context(), approvals.Request{Tool: "edit"})
		if err != nil || res.Allowed() || res.Kind != approvals.Abort || res.Message != want {
			t.Errorf("%+v, %v; want an abort with %q", res.Verdict, err, want)
		}
	}
}

func TestTheQuestionShowsWhatMatters(t *testing.T) {
	f := newFixture(t)
	f.says(approvals.DenyOnce)
	res, err := f.gate().Resolve(t.Context(), shell("git status -s"))
	if err != nil || res.Message != "denied by approval policy" {
		t.Fatalf("%+v, %v", res.Verdict, err)
	}
	if len(f.host.asked) != 1 {
		t.Fatalf("asked %d times", len(f.host.asked))
	}
	q := f.host.asked[0]
	if q.Category != "bash" || q.Mode != approvals.ModeOther || q.Fingerprint.Verify(q.Arguments) != nil {
		t.Errorf("question %+v", q)
	}
	if diff := cmp.Diff([]string{"git", "status"}, q.SuggestedPrefix); diff != "" {
		t.Errorf("prefix (-want +got):\n%s", diff)
	}
}
