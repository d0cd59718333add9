package executors

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/steerable-go/sidecar/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostFunc is a host made of a function.
type hostFunc func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

func (f hostFunc) CallHost(ctx context.Context, method string, params []byte, _ func(string)) (json.RawMessage, error) {
	return f(ctx, method, params)
}

// answering is a host that always gives the same answer.
func answering(reply string) hostFunc {
	return func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(reply), nil
	}
}

func callOf(name, arguments string) *Call {
	return &Call{
		ToolCall: protocol.ToolCall{ID: "c1", Name: name, Arguments: json.RawMessage(arguments)},
		Turn:     &Turn{StreamID: "s", ChatID: "chat"},
	}
}

// run executes a call and fails the test on an error.
func run(t *testing.T, e ToolExecutor, call *Call) *protocol.ToolResult {
	t.Helper()
	result, err := e.Execute(context.Background(), call)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestHostReplies(t *testing.T) {
	for _, test := range []struct{ name, reply, want string }{
		{"success", `{"success":true}`, `{"success":true}`},
		{"failure", `{"success":false,"error":"x","needsFollowup":true}`, `{"success":false,"error":"x","needsFollowup":true}`},
		{"all members", `{"success":true,"data":{"a":1},"message":"m","terminal":true,"nextAction":"n"}`, `{"success":true,"data":{"a":1},"message":"m","terminal":true,"nextAction":"n"}`},
		{"nulls are absent", `{"success":true,"data":null,"error":null,"message":null,"needsFollowup":null,"terminal":null,"nextAction":null}`, `{"success":true}`},
		{"yes", `{"success":"yes"}`, `{"success":true}`},
		{"one", `{"success":1}`, `{"success":true}`},
		{"zero", `{"success":0}`, `{"success":false}`},
		{"off", `{"success":"OFF"}`, `{"success":false}`},
		{"unknown members become data", `{"success":true,"stdout":"hi","n":1}`, `{"success":true,"data":{"stdout":"hi","n":1}}`},
		{"existing data wins", `{"success":true,"data":{"n":1},"n":2,"m":3}`, `{"success":true,"data":{"n":1,"m":3}}`},
		{"string", `"hello"`, `{"success":true,"data":{"value":"hello"}}`},
		{"null", `null`, `{"success":true,"data":{"value":null}}`},
		{"nothing", ``, `{"success":true,"data":{"value":null}}`},
		{"number", `0`, `{"success":true,"data":{"value":0}}`},
		{"array", `[1]`, `{"success":true,"data":{"value":[1]}}`},
		{"object without success", `{"a":1}`, `{"success":true,"data":{"value":{"a":1}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := run(t, NewHostToolExecutor(answering(test.reply)), callOf("t", `{}`))
			if diff := cmp.Diff(test.want, string(result.AppendJSON(nil))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHopelessReplies: what cannot be read is a failure, never a success.
func TestHopelessReplies(t *testing.T) {
	for _, reply := range []string{
		`{"success":{}}`, `{"success":[]}`, `{"success":null}`, `{"success":"maybe"}`, `{"success":2}`, `{"success":""}`,
		`{"success":true,"data":[]}`, `{"success":true,"data":"x"}`, `{"success":true,"error":5}`,
		`{"success":true,"message":{}}`, `{"success":true,"terminal":"perhaps"}`, `{"success":true,"nextAction":[1]}`,
	} {
		result := run(t, NewHostToolExecutor(answering(reply)), callOf("t", `{}`))
		if result.Success || result.Error != ErrorToolError {
			t.Errorf("%s: %s", reply, result.AppendJSON(nil))
		}
	}
}

func TestHostErrors(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{&protocol.Error{Code: -32000, Message: "unsupported reverse method"}, "unsupported reverse method"},
		{protocol.ErrClosed, protocol.ErrClosed.Error()},
		{protocol.ErrFrameTooLarge, "frame_too_large"},
	} {
		host := hostFunc(func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, test.err })
		result := run(t, NewHostToolExecutor(host), callOf("t", `{}`))
		if result.Success || !result.NeedsFollowup || result.Error != test.want {
			t.Errorf("%v: %s", test.err, result.AppendJSON(nil))
		}
	}
}

// TestContextIsOnEveryPath: the fence that a host builds from the context fails
// if one path drops it.
func TestContextIsOnEveryPath(t *testing.T) {
	merged, err := MergeContext(json.RawMessage(`{"chatId":"forged","projectRoot":"/etc","k":1}`), "chat", "/work")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"chatId":"chat","projectRoot":"/work","k":1}`
	seen := map[string]string{}
	host := hostFunc(func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		seen[method] = string(member(params, "context"))
		return json.RawMessage(`{"exitCode":0,"success":true}`), nil
	})
	call := callOf("bash", `{"command":"ls"}`)
	call.Turn.Context = merged
	run(t, NewHostToolExecutor(host), call)
	run(t, spawnChain(t, host, ConfineOptions{HostSpawn: true}), call)
	for _, method := range []string{protocol.ReverseToolInvoke, protocol.ReverseSpawn} {
		if seen[method] != want {
			t.Errorf("%s carries %s, want %s", method, seen[method], want)
		}
	}
}

func TestMergeContext(t *testing.T) {
	for _, test := range []struct{ tool, chat, root, want string }{
		{``, "", "", ""},
		{`{}`, "", "", ""},
		{`null`, "c", "", `{"chatId":"c"}`},
		{`{"a":1}`, "", "", `{"a":1}`},
		{`{"a":1,"chatId":2}`, "c", "", `{"chatId":"c","a":1}`},
		{`{"chatId":2}`, "", "", `{"chatId":2}`},
		{`{"projectRoot":null}`, "c", "/r", `{"chatId":"c","projectRoot":"/r"}`},
	} {
		got, err := MergeContext(json.RawMessage(test.tool), test.chat, test.root)
		if err != nil || string(got) != test.want {
			t.Errorf("MergeContext(%s, %q, %q) = %s, %v, want %s", test.tool, test.chat, test.root, got, err, test.want)
		}
	}
	if _, err := MergeContext(json.RawMessage(`{"a":1,"a":2}`), "", ""); err == nil {
		t.Error("duplicate members are accepted")
	}
}

func TestTimeout(t *testing.T) {
	hang := hostFunc(func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	e := Chain(NewHostToolExecutor(hang), Timeout(30*time.Millisecond))
	result := run(t, e, callOf("t", `{}`))
	if result.Error != ErrorToolTimeout || !result.NeedsFollowup || !strings.Contains(string(result.Data), `"timeoutMs":30`) {
		t.Errorf("got %s", result.AppendJSON(nil))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Execute(ctx, callOf("t", `{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled turn is no timeout: %v", err)
	}
}

func TestValidate(t *testing.T) {
	catalog, err := ParseCatalog(json.RawMessage(`[
		{"type":"function","function":{"name":"get_status","parameters":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}},
		{"type":"function","function":{"name":"free"}},
		{"type":"function","function":{"name":"odd","parameters":{"type":"nonsense"}}}]`), nil)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	inner := hostFunc(func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		ran++
		return json.RawMessage(`{"success":true}`), nil
	})
	e := Chain(NewHostToolExecutor(inner), Validate(catalog))
	broken := callOf("get_status", `{}`)
	broken.ArgumentsError, broken.RawArguments = "invalid_json", `{"n":1`+strings.Repeat("x", 5000)
	for _, test := range []struct {
		name string
		call *Call
		want string // error, or "" for a call that runs
		data string // part of the data
	}{
		{"fits", callOf("get_status", `{"n":1}`), "", ""},
		{"no schema", callOf("free", `{"anything":[1]}`), "", ""},
		{"missing member", callOf("get_status", `{}`), ErrorInvalidArguments, `"schema"`},
		{"wrong type", callOf("get_status", `{"n":"1"}`), ErrorInvalidArguments, "/n"},
		{"broken", broken, ErrorInvalidArguments, `"rawArguments":"{\"n\":1xxx`},
		{"unusable schema", callOf("odd", `{}`), ErrorInvalidSchema, "Nothing was run"},
		{"unknown", callOf("get_stats", `{}`), "Unknown tool: get_stats. Did you mean: get_status?", `"get_status"`},
		{"unlike any", callOf("zzzzqq", `{}`), "Unknown tool: zzzzqq", `"free"`},
	} {
		before := ran
		result := run(t, e, test.call)
		if result.Error != test.want || result.Success != (test.want == "") || !strings.Contains(string(result.Data), test.data) {
			t.Errorf("%s: %.300s", test.name, result.AppendJSON(nil))
		}
		if (ran > before) != (test.want == "") {
			t.Errorf("%s: ran %d times", test.name, ran-before)
		}
		if len(result.Data) > 4096 {
			t.Errorf("%s: %d bytes for the model", test.name, len(result.Data))
		}
	}
}

func TestParseCatalogRefuses(t *testing.T) {
	for _, tools := range []string{
		`{}`, `[{}]`, `[{"function":{"name":" "}}]`, `[{"function":{"name":"a"}},{"function":{"name":"a"}}]`,
		`[{"function":{"name":"a","parameters":[]}}]`, `[1]`,
	} {
		if _, err := ParseCatalog(json.RawMessage(tools), nil); err == nil {
			t.Errorf("%s is accepted", tools)
		}
	}
	flat, err := ParseCatalog(json.RawMessage(`[{"name":"a","shell_command_param":"cmd","Shell_Command_Param":"x","parameters":{"type":"object"}}]`), nil)
	if def, ok := flat.Lookup("a"); err != nil || !ok || def.ShellParam != "cmd" || len(def.Parameters) == 0 {
		t.Errorf("flat form: %+v, %v", def, err)
	}
	c, err := ParseCatalog(json.RawMessage(`[{"function":{"name":"a"}},{"function":{"name":"b"}}]`), []string{"b", "x"})
	if err != nil || strings.Join(c.Names(), " ") != "b" {
		t.Errorf("filter: %v, %v", c, err)
	}
	kept, err := flat.Keep(json.RawMessage(`[{"name":"a"},{"function":{"name":"a","x":1}},{"name":"b"},1]`))
	if err != nil || string(kept) != `[{"name":"a"},{"function":{"name":"a","x":1}}]` {
		t.Errorf("kept %s, %v", kept, err)
	}
}

func TestClosest(t *testing.T) {
	for _, test := range []struct {
		name  string
		names []string
		want  string
	}{
		{"get_stats", []string{"get_status", "zzz"}, "get_status"},
		{"get_stats", []string{"delete_all"}, "delete_all"},
		{"read", []string{"read_a", "read_b", "read_c", "read_d"}, "read_d read_c read_b"},
		{"", []string{"a"}, ""},
		{"abc", nil, ""},
	} {
		if got := strings.Join(closest(test.name, test.names), " "); got != test.want {
			t.Errorf("closest(%q) = %q, want %q", test.name, got, test.want)
		}
	}
}
