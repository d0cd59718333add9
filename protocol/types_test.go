package protocol

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/steerable-go/sidecar/schemas"
)

// wireTypes pairs every struct that travels with its schema. Members of a
// schema that the sidecar accepts, or may one day send, and has no use for are
// listed with it.
func wireTypes() map[string]struct {
	value  any
	unread []string
} {
	type entry = struct {
		value  any
		unread []string
	}
	return map[string]entry{
		"sidecar/SidecarHealth":       {Health{}, []string{"loadedProviders"}},
		"sidecar/LifecycleReady":      {Ready{}, nil},
		"sidecar/LifecycleShutdown":   {Goodbye{}, nil},
		"sidecar/ConfigResult":        {Config{}, nil},
		"sidecar/ConfigGetParams":     {ConfigGetParams{}, nil},
		"sidecar/ConfigSetParams":     {ConfigSetParams{}, nil},
		"sidecar/SidecarError":        {Error{}, nil},
		"runtime/SandboxReport":       {SandboxReport{}, nil},
		"runtime/SessionCreateParams": {SessionCreateParams{}, nil},
		"runtime/SessionResumeParams": {SessionResumeParams{}, nil},
		"runtime/SessionListParams":   {SessionListParams{}, nil},
		"runtime/AgentSession":        {Session{}, []string{"nextStage"}},
		"runtime/TraceFetchParams":    {TraceFetchParams{}, nil},
		"runtime/TraceFetchResult":    {Trace{}, nil},
		"tools/ToolCall":              {ToolCall{}, nil},
		"tools/ToolInvokeCall":        {InvokeParams{}, nil},
		"tools/ToolInvokeParams":      {ToolInvokeParams{}, nil},
		"tools/ToolResult":            {ToolResult{}, nil},
		"tools/ToolDescriptor":        {ToolDescriptor{}, nil},
		"events/ToolResultEvent":      {ChunkResult{}, nil},
		"events/StreamDone":           {Done{}, nil},
		"events/StreamError":          {StreamError{}, nil},
		"chat/Usage":                  {Usage{}, nil},
		"chat/ChatStreamResult":       {ChatStreamResult{}, nil},
		"chat/ChatCancelParams":       {ChatCancelParams{}, nil},
		"chat/ChatSteerParams":        {ChatSteerParams{}, nil},
		"chat/ChatSteerResult":        {ChatSteerResult{}, nil},
		"chat/ChatStreamParams": {ChatStreamParams{}, []string{
			"antiHallucination", "askUser", "mcp", "orchestration", "presets", "recordId", "skills", "subagent", "worldState",
		}},
	}
}

func TestTypesMatchSchemas(t *testing.T) {
	for name, entry := range wireTypes() {
		source, err := schemas.Source(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var schema struct {
			Properties map[string]json.RawMessage
			Required   []string
		}
		if err := json.Unmarshal(source, &schema); err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(keys(schema.Properties), func(k string) bool { return slices.Contains(entry.unread, k) })
		got, always := members(reflect.TypeOf(entry.value))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: members of the schema and of %T differ (-schema +struct):\n%s", name, entry.value, diff)
		}
		for _, required := range schema.Required {
			if !slices.Contains(always, required) && !strings.HasSuffix(name, "Params") {
				t.Errorf("%s: %T may leave out %q, which is required", name, entry.value, required)
			}
		}
	}
}

func keys(m map[string]json.RawMessage) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// members lists the JSON names of a struct, and those that are always written.
func members(t reflect.Type) (all, always []string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		all = append(all, name)
		if !strings.Contains(options, "omitempty") {
			always = append(always, name)
		}
	}
	slices.Sort(all)
	return all, always
}

// TestAppendersEqualJSON: what the fast encoders write is what encoding/json
// would, up to the spelling of strings.
func TestAppendersEqualJSON(t *testing.T) {
	raw := json.RawMessage(`{"a":[1,2.50,"x"]}`)
	for _, v := range []Appender{
		&Health{Status: "ok", Version: "1", PID: 5, Checks: map[string]Check{"x": {Status: "warn", Message: "m"}}},
		ToolCall{ID: "é\u2028\"\\\n\x01", Name: "n", Arguments: raw},
		ToolCall{Arguments: json.RawMessage(`{}`)},
		InvokeParams{ID: "1", Name: "n", Arguments: raw, Context: json.RawMessage(`null`)},
		InvokeParams{ID: "1", Name: "n", Arguments: raw, Context: raw},
		&ToolResult{Success: true, Data: raw, Message: "m", Error: "e", NeedsFollowup: true, Terminal: true, NextAction: "n"},
		&ToolResult{},
		&ChunkResult{ID: "1", Name: "n", Success: true, DurationMs: 3, Error: "e", ResultPreview: "p", Sandbox: raw, Safety: raw, Approval: raw},
		&ChunkResult{},
	} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(want, &a); err != nil {
			t.Fatal(err)
		}
		got := v.AppendJSON(nil)
		if err := json.Unmarshal(got, &b); err != nil {
			t.Fatalf("%T: %v: %s", v, err, got)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%T (-encoding/json +ours):\n%s", v, diff)
		}
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "é\u2028\u2029\"\\\n\t\r\x00\x1f\x7f", "\xff\xfe", "😀"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := AppendString(nil, s)
		if err := schemas.Valid(got); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		var back string
		if err := json.Unmarshal(got, &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") && len(back) != len([]rune(s)) {
			var want string
			enc, _ := json.Marshal(s)
			_ = json.Unmarshal(enc, &want)
			if back != want {
				t.Errorf("%q became %q, want %q", s, back, want)
			}
		}
		if strings.ContainsAny(string(got), "\u2028\u2029\n") {
			t.Errorf("a line separator is left in %q", got)
		}
	})
}

func FuzzCutPoint(f *testing.F) {
	f.Add("héllo 😀 wörld", 7, true)
	f.Add(strings.Repeat("\\\"\n", 20), 5, false)
	f.Fuzz(func(t *testing.T, s string, limit int, ascii bool) {
		s = strings.ToValidUTF8(s, "?")
		limit = 16 + limit&0xff
		quoted := AppendString(nil, s)
		if ascii { // as servers send it: every rune an escape
			quoted = escapeAll(s)
		}
		var joined strings.Builder
		for inner := quoted[1 : len(quoted)-1]; len(inner) > 0; {
			n := cutPoint(inner, limit)
			if n > limit || n == 0 {
				t.Fatalf("a piece of %d bytes, limit %d", n, limit)
			}
			joined.WriteString(decodeText(t, append(append([]byte{'"'}, inner[:n]...), '"')))
			inner = inner[n:]
		}
		if joined.String() != s {
			t.Errorf("%q became %q", s, joined.String())
		}
	})
}

func decodeText(t *testing.T, quoted []byte) string {
	t.Helper()
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		t.Fatalf("%q: %v", quoted, err)
	}
	return s
}

func escapeAll(s string) []byte {
	out := []byte{'"'}
	hex := func(r rune) {
		out = append(out, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
	}
	for _, r := range s {
		if r > 0xffff {
			r -= 0x10000
			hex(0xd800 + r>>10)
			hex(0xdc00 + r&0x3ff)
			continue
		}
		hex(r)
	}
	return append(out, '"')
}

func TestDecodeIsExact(t *testing.T) {
	type inner struct {
		Mode string `json:"mode"`
	}
	type outer struct {
		Enabled bool            `json:"enabled"`
		Inner   *inner          `json:"inner"`
		List    []inner         `json:"list"`
		Raw     json.RawMessage `json:"raw"`
	}
	var got outer
	err := Decode([]byte(`{"enabled":true,"Enabled":false,"ENABLED":"x","inner":{"Mode":"b","mode":"a"},"list":[{"mode":"c","MODE":"d"}],"raw":{"A":1}}`), &got)
	if err != nil {
		t.Fatal(err)
	}
	want := outer{Enabled: true, Inner: &inner{"a"}, List: []inner{{"c"}}, Raw: json.RawMessage(`{"A":1}`)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzLines feeds a peer's splitter and its answers to bad lines.
func FuzzLines(f *testing.F) {
	for _, s := range []string{`{"id":1,"method":"x"}`, `[1]`, `{"id":{}}`, `{"id":1,"id":2}`, `{"a":[`, "\xff", `"x"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line = trim(line)
		if len(line) == 0 {
			return
		}
		var fault lineFault
		if line[0] != '{' {
			fault = notObject(line)
		} else {
			var fr frame
			err := fr.split(line)
			if err == nil {
				if !json.Valid(line) {
					t.Fatalf("accepted what is not JSON: %q", line)
				}
				return
			}
			fault = faultOf(line, err)
		}
		answer := encodeError(fault.id, fault.err)
		if err := schemas.Valid(answer[:len(answer)-1]); err != nil {
			t.Errorf("the answer to %q is no frame: %v: %s", line, err, answer)
		}
	})
}

// TestSeparatorsAreEscaped: raw JSON of a model or host may hold U+2028, at
// which Node's readline would cut the frame.
func TestSeparatorsAreEscaped(t *testing.T) {
	raw := json.RawMessage("{\"a\":\"x\u2028y\u2029z\"}")
	p := NewPeer(Options{Schemas: schemas.New()})
	for name, frame := range map[string][]byte{
		"notification": p.Notification("x", raw),
		"result":       p.encodeResult(&Request{ID: ID("1"), entry: &entry{}}, raw),
	} {
		if strings.ContainsAny(string(frame), "\u2028\u2029") || !strings.Contains(string(frame), `x\u2028y\u2029z`) {
			t.Errorf("%s: %q", name, frame)
		}
	}
}
