package govern_test

import (
	"fmt"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/audit"
	"github.com/steerable-go/sidecar/authz/capabilities"
	"github.com/steerable-go/sidecar/authz/govern"
)

// What an executor does with a call, in order. The audit log, the question to a
// person and the tool itself are functions here.
func Example() {
	write := func(f audit.Fields) error { fmt.Println("record:", f.Action, f.Decision, f.Risk); return nil }
	ask := func() bool { fmt.Println("asked: no"); return false }
	run := func() (result string) { return "one two three" }

	g := govern.New(govern.Options{})
	tools, err := govern.NewTools(nil)
	if err != nil {
		panic(err)
	}
	state := govern.NewState(capabilities.NewPrincipal("u1"))

	for _, call := range []govern.Call{
		{Owner: "u1", Tool: "read_file", Arguments: []byte(`{"path":"numbers.txt"}`)},
		{Owner: "u1", Tool: "bash", Arguments: []byte(`{"command":"rm -rf build"}`)},
		{Owner: "u1", Tool: "web_fetch", Arguments: []byte(`{"url":"https://example.com/?k=` + "sk-" + `testAAAA1111BBBB2222CCCC3333"}`)},
	} {
		o := g.Govern(tools.Envelope(call), state)
		if err := write(o.Record()); err != nil {
			o = o.Unrecorded()
		}
		state = o.State()
		switch o.Decision() {
		case authz.Deny:
			clean, _ := o.Redacted()
			fmt.Println("refused:", o.Reasons()[0], clean)
			continue
		case authz.Escalate:
			if !ask() {
				state = state.Release(o.Envelope())
				continue
			}
		case authz.Allow: // approvals still apply
		}
		if !o.Envelope().Covers(call.Arguments) {
			panic("bug: other arguments than those that were governed")
		}
		result := run()
		var fits authz.Verdict
		if state, fits = state.Moved(int64(len(result))); fits.Allowed() {
			fmt.Println("result:", result)
		}
	}
	fmt.Println("calls used:", state.Used.Calls)
	// Output:
	// record: tool:read_file ALLOW low
	// result: one two three
	// record: tool:bash ESCALATE high
	// asked: no
	// record: tool:web_fetch DENY medium
	// refused: REASON_DLP_BLOCKED {"url":"https://example.com/?k=sk-t…33"}
	// calls used: 1
}
