package approvals_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/steerable-go/sidecar/approvals"
)

// Environment that turns the test binary into another process of the product.
const (
	childVerb = "APPROVALS_TEST_VERB" // what to do: set, add, set-limited, set-as-nobody, check-as-nobody
	childPath = "APPROVALS_TEST_PATH"
	childName = "APPROVALS_TEST_NAME" // prefix of the categories or words it adds
)

func TestMain(m *testing.M) {
	if verb := os.Getenv(childVerb); verb != "" {
		os.Exit(runChild(verb, os.Getenv(childPath), os.Getenv(childName)))
	}
	goleak.VerifyTestMain(m)
}

// runChild writes until its input closes or it is killed, and prints a line
// for every write that was acknowledged.
func runChild(verb, path, name string) int {
	store, policy := approvals.OpenStore(path, nil), approvals.OpenPolicy(path, nil)
	ctx := backgroundOfChild()
	if verb == "check-as-nobody" {
		if err := restrict(verb); err != nil {
			return fail(err)
		}
		gate := approvals.NewGate(approvals.Options{Mode: approvals.GateHost, Host: &host{}, StorePath: path})
		for _, tool := range []string{"denied", "allowed"} {
			v := gate.Check(approvals.Request{Tool: tool})
			fmt.Printf("%v %s\n", v.Outcome, v.Message)
		}
		return 0
	}
	if verb == "set-limited" || verb == "set-as-nobody" {
		if err := restrict(verb); err != nil {
			return fail(err)
		}
		gate := approvals.NewGate(approvals.Options{Mode: approvals.GateHost, StorePath: path, Sessions: &approvals.SessionCache{}})
		for kind := range strings.SplitSeq(name, ",") {
			k, err := approvals.ParseKind(kind)
			if err != nil {
				return fail(err)
			}
			stored := gate.Record(ctx, approvals.Request{Tool: "edit_" + kind}, approvals.Decision{Kind: k})
			fmt.Printf("%s %s %s\n", stored.Scope, stored.Where, stored.Reason)
		}
		return 0
	}
	for i := 0; ; i++ {
		word := name + strconv.Itoa(i)
		var err error
		if verb == "set" {
			err = store.Set(ctx, word, approvals.EffectDeny)
		} else {
			err = policy.Add(ctx, approvals.Rule{Tool: "bash", CommandPrefix: []string{word}})
		}
		if err != nil {
			return fail(err)
		}
		fmt.Println(word)
	}
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// at is the fixed clock of tests.
func at() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }

// words is a matcher of known behaviour: commands are separated by ";", "&&"
// and "|", words by blanks, and a line with an odd number of quotes cannot be
// taken apart. "env" is a wrapper, "sh" is broad.
type words struct{}

var _ approvals.Matcher = words{}

func (words) split(command string) [][]string {
	var list [][]string
	for _, part := range strings.FieldsFunc(strings.ReplaceAll(command, "&&", ";"), func(r rune) bool { return r == ';' || r == '|' }) {
		list = append(list, strings.Fields(part))
	}
	return list
}

func (w words) Parses(command string) bool { return strings.Count(command, "'")%2 == 0 }

func (w words) Match(effect approvals.Effect, prefix []string, command string) bool {
	if !w.Parses(command) {
		return false
	}
	some, every := false, true
	for _, simple := range w.split(command) {
		if effect == approvals.EffectDeny && len(simple) > 0 && simple[0] == "env" {
			simple = simple[1:]
		}
		hit := len(simple) >= len(prefix)
		for i := 0; hit && i < len(prefix); i++ {
			hit = simple[i] == prefix[i]
		}
		some, every = some || hit, every && hit
	}
	if effect == approvals.EffectDeny {
		return some
	}
	return some && every
}

// Unknown takes a first word with a dollar sign for one that may be any.
func (w words) Unknown(_ []string, command string) string {
	for _, simple := range w.split(command) {
		if len(simple) > 0 && strings.HasPrefix(simple[0], "$") {
			return simple[0]
		}
	}
	return ""
}

func (w words) Suggest(command string) []string {
	list := w.split(command)
	if len(list) != 1 || !w.Parses(command) {
		return nil
	}
	return list[0][:min(2, len(list[0]))]
}

func (words) Broad(prefix []string) string {
	if prefix[0] == "sh" {
		return "sh runs any command"
	}
	return ""
}
