package llm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// intended is a tool call as a model means it.
type intended struct {
	name string
	args string // an object
}

// server is how a server writes tool calls down.
type server struct {
	index string // "right", "absent", "zero", "grows", "minus", "sparse"
	id    string // "first", "every", "none", "empty"
	name  string // "first", "every"
	whole bool   // arguments as an object in place of text
}

// genServer draws a server whose calls can be told apart at all.
func genServer(t *rapid.T) server {
	s := server{
		index: rapid.SampledFrom([]string{"right", "absent", "zero", "grows", "minus", "sparse"}).Draw(t, "index"),
		id:    rapid.SampledFrom([]string{"first", "every", "none", "empty"}).Draw(t, "id"),
		name:  rapid.SampledFrom([]string{"first", "every"}).Draw(t, "name"),
		whole: rapid.Bool().Draw(t, "whole"),
	}
	noID := s.id == "none" || s.id == "empty"
	if noID && s.index == "grows" || s.id == "every" && s.index == "grows" && s.name == "every" {
		s.id, s.name = "first", "first" // nothing would tell a head from a piece
	}
	return s
}

// entry writes one entry of tool_calls.
func (s server) entry(call, piece, count int, c intended, args string) string {
	var members []string
	switch s.index {
	case "right":
		members = append(members, fmt.Sprintf(`"index":%d`, call))
	case "zero":
		members = append(members, `"index":0`)
	case "grows":
		members = append(members, fmt.Sprintf(`"index":%d`, count))
	case "minus":
		members = append(members, `"index":-1`)
	case "sparse":
		members = append(members, fmt.Sprintf(`"index":%d`, 3*call+2))
	}
	switch {
	case s.id == "every" || s.id == "first" && piece == 0:
		members = append(members, fmt.Sprintf(`"id":"id%d"`, call))
	case s.id == "empty":
		members = append(members, `"id":""`)
	}
	function := []string{`"arguments":` + args}
	if s.name == "every" || piece == 0 {
		function = append(function, fmt.Sprintf(`"name":%q`, c.name))
	}
	return "{" + strings.Join(append(members, `"function":{`+strings.Join(function, ",")+`}`), ",") + "}"
}

// genObject draws the text of an object.
func genObject(t *rapid.T) string {
	m := rapid.MapOfN(rapid.StringN(1, 6, 12), rapid.OneOf(
		rapid.String().AsAny(), rapid.Int64().AsAny(), rapid.Bool().AsAny(),
		rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}`), rapid.Int(), 0, 2).AsAny(),
	), 1, 4).Draw(t, "object")
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// cutUnits cuts a text between UTF-16 units, as servers that stream escapes do.
func cutUnits(t *rapid.T, text string) []string {
	units := utf16.Encode([]rune(text))
	var out []string
	for len(units) > 0 {
		n := rapid.IntRange(1, len(units)).Draw(t, "piece")
		out = append(out, quoteUnits(t, units[:n]))
		units = units[n:]
	}
	return out
}

// quoteUnits writes units as a literal, with escapes where it must and where it
// feels like it.
func quoteUnits(t *rapid.T, units []uint16) string {
	escapeAll := rapid.Bool().Draw(t, "escape")
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(units); i++ {
		u := units[i]
		switch {
		case isHigh(u) && i+1 < len(units) && isLow(units[i+1]) && !escapeAll:
			b.WriteRune(utf16.DecodeRune(rune(u), rune(units[i+1])))
			i++
		case escapeAll || u < ' ' || u == '"' || u == '\\' || isHigh(u) || isLow(u):
			fmt.Fprintf(&b, `\u%04x`, u)
		default:
			b.WriteRune(rune(u))
		}
	}
	b.WriteByte('"')
	return b.String()
}

// play reads chunks and returns the digest.
func play(t *rapid.T, tb testing.TB, chunks []string) *Digest {
	size := rapid.IntRange(1, 200).Draw(t, "read")
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString("data: " + c + "\n\n")
	}
	f := &fixture{API: "openai-chat", body: []byte(b.String() + "data: [DONE]\n\n")}
	f.HTTP.Status, f.HTTP.End = http.StatusOK, "close"
	f.HTTP.Headers = map[string]string{"Content-Type": "text/event-stream"}
	sink := &collector{tb: tb}
	d := ask(tb, f.provider(tb, "http://in.memory", f.inMemory(func() int { return size })), sink)
	sink.check(d)
	return d
}

// TestEveryServerMeansTheSame holds that the calls a model means come out,
// whatever the server's way of writing them.
func TestEveryServerMeansTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := genServer(rt)
		var want []intended
		var entries []string
		for i := range rapid.IntRange(1, 4).Draw(rt, "calls") {
			c := intended{name: rapid.SampledFrom([]string{"read", "write", "run"}).Draw(rt, "name"), args: genObject(rt)}
			want = append(want, c)
			pieces := []string{c.args}
			if !s.whole {
				pieces = cutUnits(rt, c.args)
			}
			for p, piece := range pieces {
				entries = append(entries, s.entry(i, p, len(entries), c, piece))
			}
		}
		var chunks []string
		for len(entries) > 0 {
			// Several entries in one delta, sometimes; but pieces of one call that
			// all carry its name could then not be told from two calls.
			n := 1
			if s.name == "first" {
				n = rapid.IntRange(1, min(3, len(entries))).Draw(rt, "together")
			}
			chunks = append(chunks, callChunk(strings.Join(entries[:n], ",")))
			entries = entries[n:]
		}
		d := play(rt, t, append(chunks, finishWith(`"stop"`)))
		if d.Error != nil || *d.Finish != FinishToolCalls || len(d.ToolCalls) != len(want) {
			rt.Fatalf("%+v\n%s\n got %+v\nwant %+v", s, strings.Join(chunks, "\n"), d, want)
		}
		for i, c := range d.ToolCalls {
			if c.Name != want[i].name || c.ArgumentsError != "" || !sameJSON(c.Arguments, []byte(want[i].args)) {
				rt.Fatalf("%+v\n%s\ncall %d\n got %+v\nwant %+v", s, strings.Join(chunks, "\n"), i, c, want[i])
			}
		}
	})
}

// TestAnyTextInAnyPieces holds that text and reasoning survive every cut and
// every way of escaping.
func TestAnyTextInAnyPieces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var want [2]string
		var chunks []string
		for range rapid.IntRange(1, 4).Draw(rt, "parts") {
			field := rapid.IntRange(0, 1).Draw(rt, "field")
			text := rapid.String().Draw(rt, "text")
			want[field] += text
			for _, piece := range cutUnits(rt, text) {
				chunks = append(chunks, delta(`{"`+[]string{"content", "reasoning_content"}[field]+`":`+piece+`}`))
			}
		}
		d := play(rt, t, append(chunks, finishWith(`"stop"`)))
		text := ""
		if d.Text != nil {
			text = *d.Text
		}
		if d.Error != nil || text != want[0] || d.Reasoning != want[1] {
			rt.Fatalf("%s\n got %q %q\nwant %q", strings.Join(chunks, "\n"), text, d.Reasoning, want)
		}
	})
}

// TestAnyTranscript holds that a request body says what the messages say, read
// by somebody else's decoder.
func TestAnyTranscript(t *testing.T) {
	type function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	type message struct {
		Role       string  `json:"role"`
		Content    *string `json:"content"`
		ToolCallID string  `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string   `json:"id"`
			Function function `json:"function"`
		} `json:"tool_calls"`
	}
	rapid.Check(t, func(rt *rapid.T) {
		var req Request
		req.Model = rapid.StringN(1, 10, 30).Draw(rt, "model")
		var want []message
		for range rapid.IntRange(1, 6).Draw(rt, "messages") {
			text := rapid.String().Draw(rt, "text")
			m := Message{Role: rapid.SampledFrom([]Role{RoleUser, RoleAssistant, RoleTool}).Draw(rt, "role"), Content: Quote(text)}
			w := message{Role: string(m.Role), Content: &text}
			if m.Role == RoleTool {
				m.ToolCallID = rapid.String().Draw(rt, "id")
				w.ToolCallID = m.ToolCallID
			}
			if m.Role == RoleAssistant && rapid.Bool().Draw(rt, "calls") {
				c := ToolCall{ID: rapid.String().Draw(rt, "id"), Name: rapid.String().Draw(rt, "name"), Arguments: json.RawMessage(genObject(rt))}
				m.ToolCalls = []ToolCall{c}
				w.ToolCalls = append(w.ToolCalls, struct {
					ID       string   `json:"id"`
					Function function `json:"function"`
				}{c.ID, function{c.Name, string(c.Arguments)}})
			}
			req.Messages = append(req.Messages, m)
			want = append(want, w)
		}
		body, _, err := (&openAI{compat: plainCompat()}).encode(&req)
		if err != nil {
			rt.Fatal(err)
		}
		var got struct {
			Model    string    `json:"model"`
			Stream   bool      `json:"stream"`
			Messages []message `json:"messages"`
		}
		if err := json.Unmarshal(body, &got); err != nil {
			rt.Fatalf("%s: %v", body, err)
		}
		if diff := cmp.Diff(want, got.Messages); diff != "" || got.Model != req.Model || !got.Stream {
			rt.Fatalf("%s\n-want +got:\n%s", body, diff)
		}
		other, _, err := (&anthropic{}).encode(&req)
		if err != nil || !json.Valid(other) {
			rt.Fatalf("%s: %v", other, err)
		}
	})
}

// TestTurnsAlternate holds what the messages API demands of a transcript: user
// and assistant take turns, and no block is empty.
func TestTurnsAlternate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		req := Request{Model: "m"}
		for range rapid.IntRange(0, 8).Draw(rt, "messages") {
			m := Message{
				Role:    rapid.SampledFrom([]Role{RoleSystem, RoleUser, RoleAssistant, RoleTool}).Draw(rt, "role"),
				Content: Quote(rapid.SampledFrom([]string{"", " ", "\n", "x"}).Draw(rt, "text")),
			}
			if m.Role == RoleAssistant && rapid.Bool().Draw(rt, "calls") {
				m.ToolCalls = []ToolCall{{ID: "a", Name: "f", Arguments: json.RawMessage(`{}`)}}
			}
			req.Messages = append(req.Messages, m)
		}
		body, _, err := (&anthropic{}).encode(&req)
		if err != nil {
			rt.Fatal(err)
		}
		var got struct {
			Messages []struct {
				Role    string           `json:"role"`
				Content []map[string]any `json:"content"`
			} `json:"messages"`
		}
		if err := json.Unmarshal(body, &got); err != nil {
			rt.Fatalf("%s: %v", body, err)
		}
		last := ""
		for _, m := range got.Messages {
			if m.Role == last || m.Role != "user" && m.Role != "assistant" || len(m.Content) == 0 {
				rt.Fatalf("%s", body)
			}
			last = m.Role
			for _, b := range m.Content {
				if text, ok := b["text"].(string); ok && strings.TrimSpace(text) == "" {
					rt.Fatalf("empty block in %s", body)
				}
			}
		}
	})
}

// TestOrderOfScriptedReplies holds that every reply of a script is played once
// when many ask.
func TestOrderOfScriptedReplies(t *testing.T) {
	var script []map[string]string
	for i := range 50 {
		script = append(script, map[string]string{"text": fmt.Sprint(i)})
	}
	raw, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	p := scriptedProvider(t, string(raw))
	texts := make(chan string, len(script))
	for range script {
		go func() {
			reply, err := p.Stream(t.Context(), &Request{}, nil)
			if err != nil {
				t.Error(err)
			}
			texts <- reply.Text()
		}()
	}
	seen := map[string]bool{}
	for range script {
		seen[<-texts] = true
	}
	if len(seen) != len(script) {
		t.Errorf("%d different replies", len(seen))
	}
}
