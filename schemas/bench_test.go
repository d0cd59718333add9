package schemas

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// sandboxRequest is a typical request of some 300 bytes.
const sandboxRequest = `{"jsonrpc":"2.0","id":17,"method":"sandbox.describe","params":{"enabled":true,` +
	`"writableRoots":["/home/user/projects/demo","/home/user/.cache/build"],"network":true,` +
	`"allowedHosts":["localhost:8899","api.example.com:443"],"shell":"/bin/bash","commandArg":"command",` +
	`"requireFull":false,"requireBackend":true}}`

// toolReply is the answer to a reverse call with n bytes of output in lines.
func toolReply(n int) []byte {
	const line = "drwxr-xr-x 2 user group   4096 Nov 29 23:13 some-directory-name\\n"
	out := strings.Repeat(line, n/len(line)+1)
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"srv_12","result":{"data":{"durationMs":12,"exitCode":0,"stderr":"",`+
		`"stdout":"%s","truncated":false},"success":true}}`, out)
}

func bench(b *testing.B, size int, f func() error) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(size))
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRequest is a request checked on arrival: split, then its parameters
// against their schema. v5 decodes it, then checks envelope and parameters.
func BenchmarkRequest(b *testing.B) {
	raw, set := []byte(sandboxRequest), New()
	const params = "runtime/ExecSandbox"
	b.Run("split+check", func(b *testing.B) { bench(b, len(raw), func() error { return splitAndCheck(set, raw) }) })
	b.Run("split", func(b *testing.B) {
		bench(b, len(raw), func() error { return Scan(raw, func(_, _ []byte) bool { return true }) })
	})
	b.Run("v5", func(b *testing.B) {
		envelope, payload := reference(b, HostRequest), reference(b, params)
		bench(b, len(raw), func() error {
			var frame map[string]any
			if err := json.Unmarshal(raw, &frame); err != nil {
				return err
			}
			if err := envelope.schema.Validate(frame); err != nil {
				return err
			}
			return payload.schema.Validate(frame["params"])
		})
	})
}

// splitAndCheck is what protocol does with a request.
func splitAndCheck(set *Set, raw []byte) error {
	var params []byte
	err := Scan(raw, func(key, value []byte) bool {
		if string(key) == "params" {
			params = value
		}
		return true
	})
	if err != nil {
		return err
	}
	return set.Check("runtime/ExecSandbox", params)
}

// BenchmarkToolResult is the reply to a reverse call: split once, then what it
// answers against its schema.
func BenchmarkToolResult(b *testing.B) {
	for name, size := range map[string]int{"4KiB": 4 << 10, "1MiB": 1 << 20} {
		raw, set := toolReply(size), New()
		b.Run(name+"/check", func(b *testing.B) { bench(b, len(raw), func() error { return set.Check(HostResponse, raw) }) })
		b.Run(name+"/split", func(b *testing.B) {
			bench(b, len(raw), func() error { return Scan(raw, func(_, _ []byte) bool { return true }) })
		})
		b.Run(name+"/split+check", func(b *testing.B) {
			bench(b, len(raw), func() error {
				var result []byte
				if err := Scan(raw, func(key, value []byte) bool {
					if string(key) == "result" {
						result = value
					}
					return true
				}); err != nil {
					return err
				}
				return set.Check("tools/ToolInvokeReply", result)
			})
		})
		b.Run(name+"/unmarshal", func(b *testing.B) {
			bench(b, len(raw), func() error {
				var frame struct {
					ID     json.RawMessage `json:"id"`
					Result json.RawMessage `json:"result"`
				}
				return json.Unmarshal(raw, &frame)
			})
		})
	}
}

// BenchmarkChunk is the check of the most frequent frame that is sent.
func BenchmarkChunk(b *testing.B) {
	raw, set := []byte(`{"streamId":"str_0123456789abcdef0123456789abcdef","delta":" the quick brown fox"}`), New()
	bench(b, len(raw), func() error { return set.Check(Notification("stream.chunk"), raw) })
}

func reference(tb testing.TB, name string) *judge {
	tb.Helper()
	j, err := newJudge(name)
	if err != nil {
		tb.Fatal(err)
	}
	return j
}
