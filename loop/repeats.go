package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/protocol"
)

// repeats notices a model that makes the same call again. Its zero value has
// seen nothing. Calls of one batch use it at once, hence the lock.
type repeats struct {
	mu   sync.Mutex // guards following
	last string     // the call before this one
	row  int        // how often it came in a row
	done map[string]bool
}

// refuse answers a call that equals an earlier one with no successful other
// call in between, if the host asked for that. Re-running a test after an edit
// is no repetition.
func (p *repeats) refuse(o *Options, call *executors.Call) *protocol.ToolResult {
	if !o.Dedup {
		return nil
	}
	key := canonical(call)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done[key] {
		return &protocol.ToolResult{
			Error:   executors.ErrorDuplicate,
			Message: "This exact call was made before and nothing has changed since. Use its result.",
		}
	}
	return nil
}

// observe counts a call that has run, adds a hint to its result at the warning
// limit, and reports whether the turn must end.
func (p *repeats) observe(o *Options, call *executors.Call, result *protocol.ToolResult) (halt bool) {
	if !o.Dedup && o.DoomWarn <= 0 && o.DoomHalt <= 0 {
		return false
	}
	key := canonical(call)
	p.mu.Lock()
	defer p.mu.Unlock()
	if key == p.last {
		p.row++
	} else {
		p.last, p.row = key, 1
	}
	if result.Error != executors.ErrorDuplicate {
		if result.Success && !p.done[key] {
			clear(p.done)
		}
		if p.done == nil {
			p.done = map[string]bool{}
		}
		p.done[key] = true
	}
	if o.DoomHalt > 0 && p.row >= o.DoomHalt {
		return true
	}
	if o.DoomWarn > 0 && p.row >= o.DoomWarn {
		if result.Message != "" {
			result.Message += "\n"
		}
		result.Message += fmt.Sprintf("You have made this exact call %d times in a row. Try something else.", p.row)
	}
	return false
}

// canonical is a key that two calls share exactly when they have the same name
// and equal arguments, whatever the order of members.
func canonical(call *executors.Call) string {
	dec := json.NewDecoder(bytes.NewReader(call.Arguments))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return call.Name + "\x00" + string(call.Arguments) + call.RawArguments
	}
	sorted, err := json.Marshal(v)
	if err != nil {
		return call.Name + "\x00" + string(call.Arguments)
	}
	return call.Name + "\x00" + string(sorted)
}
