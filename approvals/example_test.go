package approvals_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/steerable-go/sidecar/approvals"
)

// person allows git status for the session and refuses anything else.
type person struct{}

func (person) Ask(_ context.Context, req approvals.Request) (approvals.Decision, error) {
	fmt.Println("asked about", req.SuggestedPrefix)
	if len(req.SuggestedPrefix) > 1 && req.SuggestedPrefix[1] == "status" {
		return approvals.ParseReply(json.RawMessage(`{"kind":"allow_for_session"}`))
	}
	return approvals.ParseReply(json.RawMessage(`{"kind":"deny_once","reason":"not now"}`))
}

func ExampleGate_Resolve() {
	gate := approvals.NewGate(approvals.Options{
		Mode: approvals.GateHost, Host: person{}, Sessions: &approvals.SessionCache{}, Matcher: words{},
	})
	for _, command := range []string{"git status", "git status -s", "git push"} {
		raw, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			panic(err)
		}
		res, err := gate.Resolve(context.Background(), approvals.Request{ChatID: "c1", Tool: "bash", Shell: true, Arguments: raw})
		if err != nil {
			panic(err)
		}
		fmt.Println(command, "→", res.Outcome, res.Reason)
	}
	// Output:
	// asked about [git status]
	// git status → allow answered
	// git status -s → allow session_decision
	// asked about [git push]
	// git push → deny answered
}

func ExampleParseReply() {
	_, err := approvals.ParseReply(json.RawMessage(`{"kind":"sure"}`))
	fmt.Println(approvals.Denied(err).Kind, err)
	// Output: deny_once host returned an invalid approval decision: sure
}

func ExampleFingerprint_Verify() {
	shown := approvals.FingerprintOf(json.RawMessage(`{"path":"a.txt","mode":"w"}`))
	fmt.Println(shown.Verify(json.RawMessage(`{"mode": "w", "path": "a.txt"}`)))
	fmt.Println(shown.Verify(json.RawMessage(`{"path":"b.txt","mode":"w"}`)))
	// Output:
	// <nil>
	// arguments differ from those that were approved
}
