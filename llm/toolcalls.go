package llm

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// fragment is one entry of a chunk's tool_calls.
type fragment struct {
	id    string
	index int // below 0: the server named none
	name  string
	args  []byte // raw value; nil if absent
	extra members
}

// empty says whether the fragment tells nothing.
func (f *fragment) empty() bool {
	return f.id == "" && f.name == "" && (isNull(f.args) || string(f.args) == `""`)
}

// call is a tool call while it arrives.
type call struct {
	id      string
	index   int
	name    string
	args    decoded
	touched bool // an argument byte has arrived
	namedIn int  // number of the delta that last brought a name
	extra   members
}

// calls puts tool calls together from fragments.
//
// Servers disagree on what names a call. An id that was seen before is the
// strongest sign, then an index at which a call was opened, then the order. Many
// send an index that is wrong (0 for every call, or one more for every
// fragment), some send none, and some send neither index nor id, so that only
// the name tells where the next call begins. Where two readings remain, the one
// is taken that runs no call the model did not ask for.
type calls struct {
	list  []*call
	delta int // number of the current delta
	size  int // bytes of argument text so far
}

// add takes one fragment.
func (t *calls) add(f *fragment) {
	c := t.route(f)
	if c == nil {
		if f.empty() {
			return // a placeholder for a call that may come later
		}
		c = t.open(f.id, f.index)
	}
	c.addName(f.name, t.delta)
	c.addArguments(f.args)
	t.size += len(f.args)
	c.extra.merge(f.extra)
}

// open starts a call.
func (t *calls) open(id string, index int) *call {
	c := &call{id: id, index: index, namedIn: -1}
	t.list = append(t.list, c)
	return c
}

// last returns the call opened last, nil if there is none.
func (t *calls) last() *call {
	if len(t.list) == 0 {
		return nil
	}
	return t.list[len(t.list)-1]
}

// at returns the call opened last at an index, nil if there is none.
func (t *calls) at(index int) *call {
	for _, c := range slices.Backward(t.list) {
		if c.index == index {
			return c
		}
	}
	return nil
}

// route returns the call that a fragment belongs to, nil if it opens a new one.
func (t *calls) route(f *fragment) *call {
	if f.id != "" {
		return t.routeID(f)
	}
	c := t.last()
	if f.index < 0 {
		return t.unlessNext(c, f)
	}
	if at := t.at(f.index); at != nil {
		return t.unlessNext(at, f)
	}
	// Nothing was opened at this index. With a name it is a new call, unless it
	// goes on in the middle of the last one's arguments: some servers count the
	// index up per fragment.
	if f.name == "" || c.continuedBy(f) {
		return c
	}
	return nil
}

// routeID is route for fragments that carry an id.
func (t *calls) routeID(f *fragment) *call {
	var seen *call
	for _, c := range t.list {
		if c.id != f.id {
			continue
		}
		if c.index == f.index {
			return c.unlessRenamed(f)
		}
		seen = c
	}
	if seen != nil {
		if f.index >= 0 && seen.index >= 0 && f.name != "" {
			return nil // another call for which the server reused the id
		}
		return seen.unlessRenamed(f)
	}
	// The id may also come late, after the head. A fragment without a name
	// cannot be the head of another call.
	c := t.last()
	if f.index >= 0 {
		c = t.at(f.index)
	}
	if c != nil && c.id == "" && c.name != "" && f.name == "" {
		c.id = f.id
		return c
	}
	return nil
}

// unlessNext returns c, or nil if the fragment is the head of the next call:
// a name comes after whole arguments, or for the second time in one delta.
func (t *calls) unlessNext(c *call, f *fragment) *call {
	if c == nil || f.name == "" || c.continuedBy(f) {
		return c
	}
	if c.namedIn == t.delta {
		return nil
	}
	if f.index >= 0 && f.name == c.name && (isNull(f.args) || string(f.args) == `""`) {
		return c // the head again, with nothing new
	}
	if isWholeObject(c.args.b) {
		return nil
	}
	return c
}

// unlessRenamed returns c, or nil if the fragment brings another name after
// whole arguments.
func (c *call) unlessRenamed(f *fragment) *call {
	if f.name != "" && c.name != "" && f.name != c.name && isWholeObject(c.args.b) {
		return nil
	}
	return c
}

// continuedBy says whether a fragment with a name, but without an id, goes on in
// the middle of this call's arguments. They are unfinished and the name is the
// same; and the fragment does not look like the head of another call, because it
// starts no object, or because this server's heads have ids.
func (c *call) continuedBy(f *fragment) bool {
	if c == nil || f.name != c.name || !isText(f.args) || len(c.args.b) == 0 {
		return false
	}
	var start decoded
	start.add(f.args)
	text := bytes.TrimSpace(start.b)
	startsObject := len(text) == 0 || text[0] == '{'
	return (c.id != "" || !startsObject) && !isWholeObject(c.args.b)
}

// addName takes a name. The first wins and repeats are ignored; a different
// piece continues it only before any argument has arrived.
func (c *call) addName(name string, delta int) {
	if name == "" {
		return
	}
	c.namedIn = delta
	switch {
	case c.name == "":
		c.name = name
	case c.name != name && !c.touched:
		c.name += name
	}
}

// addArguments takes a raw value: a string is the next piece of the text, null
// is nothing, any other value is the whole text.
func (c *call) addArguments(raw []byte) {
	switch {
	case isNull(raw) || string(raw) == `""`:
		return
	case raw[0] != '"':
		if string(raw) == "{}" && c.touched {
			return // a placeholder must not wipe out what has arrived
		}
		c.args = decoded{b: append([]byte(nil), raw...)}
	default:
		before := len(c.args.b)
		c.args.add(raw)
		if before == 2 && string(c.args.b[:2]) == "{}" && len(c.args.b) > 2 && c.args.b[2] == '{' {
			c.args.b = c.args.b[2:] // the placeholder of servers that send {} first
		}
	}
	c.touched = true
}

// finish returns the calls.
func (t *calls) finish() []ToolCall {
	if len(t.list) == 0 {
		return nil
	}
	out := make([]ToolCall, len(t.list))
	used := make(map[string]bool, len(out))
	for i, c := range t.list {
		c.args.flush()
		out[i] = ToolCall{ID: c.id, Name: cleanName(c.name), Extra: c.extra.encode()}
		if c.id == "" {
			out[i].ID = "call_" + strconv.Itoa(i)
			out[i].IDSynthesized = true
		}
		makeUnique(&out[i], i, func(id string) bool { return used[id] })
		used[out[i].ID] = true
		setArguments(&out[i], c.args.b)
	}
	return out
}

// makeUnique renames a call whose id is taken: <id>_<position>, and if that is
// taken too, with a further number.
func makeUnique(c *ToolCall, position int, taken func(id string) bool) {
	if !taken(c.ID) {
		return
	}
	c.IDSynthesized = true
	base := c.ID + "_" + strconv.Itoa(position)
	c.ID = base
	for n := 2; taken(c.ID); n++ {
		c.ID = base + "_" + strconv.Itoa(n)
	}
}

// UniqueIDs renames those calls whose ids occur in a transcript. Some servers
// count ids from the start in every reply, and a transcript that names two calls
// alike is refused from then on. Providers that speak to a server do this
// themselves; repeating it changes nothing.
func UniqueIDs(toolCalls []ToolCall, transcript []Message) {
	var used map[string]bool
	for i := range toolCalls {
		if used == nil && !hasID(transcript, toolCalls[i].ID) {
			continue
		}
		if used == nil {
			used = allIDs(transcript, toolCalls)
		}
		own := toolCalls[i].ID
		makeUnique(&toolCalls[i], i, func(id string) bool {
			return used[id] && (id != own || hasID(transcript, own))
		})
		used[toolCalls[i].ID] = true
	}
}

// hasID says whether a call of the transcript has the id.
func hasID(transcript []Message, id string) bool {
	for i := range transcript {
		for j := range transcript[i].ToolCalls {
			if transcript[i].ToolCalls[j].ID == id {
				return true
			}
		}
	}
	return false
}

// allIDs collects the ids of the transcript and of the new calls.
func allIDs(transcript []Message, toolCalls []ToolCall) map[string]bool {
	used := map[string]bool{}
	for i := range transcript {
		for j := range transcript[i].ToolCalls {
			used[transcript[i].ToolCalls[j].ID] = true
		}
	}
	for i := range toolCalls {
		used[toolCalls[i].ID] = true
	}
	return used
}

// cleanName undoes what half-parsed output formats leave in a name: special
// tokens ("<|channel|>…") and the routing words in front.
func cleanName(name string) string {
	name, _, _ = strings.Cut(name, "<|")
	name = strings.TrimPrefix(name, "to=")
	return strings.TrimPrefix(name, "functions.")
}

// members are the unknown members of a call, in the order of their first
// arrival; those of "function" have that prefix.
type members []struct {
	key      string
	function bool
	raw      []byte
}

// put adds or replaces a member. null never replaces anything.
func (m *members) put(key string, function bool, raw []byte) {
	if isNull(raw) {
		return
	}
	for i := range *m {
		if (*m)[i].key == key && (*m)[i].function == function {
			(*m)[i].raw = bytes.Clone(raw)
			return
		}
	}
	*m = append(*m, struct {
		key      string
		function bool
		raw      []byte
	}{key, function, bytes.Clone(raw)})
}

// merge puts all members of other.
func (m *members) merge(other members) {
	for _, o := range other {
		m.put(o.key, o.function, o.raw)
	}
}

// encode returns the members as one object, nil if there are none.
func (m members) encode() json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	out := []byte{'{'}
	out = m.appendTo(out, false)
	inner := m.appendTo([]byte{'{'}, true)
	if len(inner) > 1 {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, `"function":`...)
		out = append(append(out, inner...), '}')
	}
	return oneLine(append(out, '}'))
}

// appendTo appends the members of one level.
func (m members) appendTo(dst []byte, function bool) []byte {
	start := len(dst)
	for _, o := range m {
		if o.function != function {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = AppendQuoted(dst, []byte(o.key))
		dst = append(append(dst, ':'), o.raw...)
	}
	return dst
}
