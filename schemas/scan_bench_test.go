package schemas

import (
	"encoding/json"
	"strings"
	"testing"
)

func toolResult(n int) []byte {
	line := "drwxr-xr-x 2 user group   4096 Nov 29 23:13 some-directory-name\n"
	out := strings.Repeat(line, n/len(line)+1)[:n]
	b, _ := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": "srv_12",
		"result": map[string]any{
			"success": true,
			"data":    map[string]any{"stdout": out, "stderr": "", "exitCode": 0, "truncated": false, "durationMs": 12},
		},
	})
	return b
}

const request300 = `{"jsonrpc":"2.0","id":17,"method":"sandbox.describe","params":{"enabled":true,"writableRoots":["/home/user/projects/demo","/home/user/.cache/build"],"network":true,"allowedHosts":["localhost:8899","api.example.com:443"],"shell":"/bin/bash","commandArg":"command","requireFull":false,"requireBackend":true}}`

func BenchmarkScan(b *testing.B) {
	for name, raw := range map[string][]byte{"300B": []byte(request300), "4KiB": toolResult(4 << 10), "1MiB": toolResult(1 << 20)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				n := 0
				if err := Scan(raw, func(k, v []byte) bool { n += len(k) + len(v); return true }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
