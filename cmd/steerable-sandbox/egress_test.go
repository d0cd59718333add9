//go:build linux

package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestPinnedOptions: without a network namespace, a command that may connect to
// one endpoint cannot give its packets another way by a socket option.
func TestPinnedOptions(t *testing.T) {
	const script = `
import socket, struct, sys
port = int(sys.argv[1])
hop = socket.inet_pton(socket.AF_INET6, '::1')
def tries(family, level, option, value):
    s = socket.socket(family, socket.SOCK_STREAM)
    try:
        s.setsockopt(level, option, value)
        print('set', level, option)
    except PermissionError:
        pass
tries(socket.AF_INET6, 41, 57, struct.pack('BBBBBBH', 0, 4, 4, 1, 1, 0, 0) + hop + hop)
tries(socket.AF_INET, 0, 4, bytes([1, 131, 11, 4, 127, 0, 0, 1, 127, 0, 0, 1]))
tries(socket.AF_INET, 0, 50, struct.pack('!i', 1))
tries(socket.AF_INET, 1, 25, b'lo')
tries(socket.AF_INET, 1, 62, struct.pack('i', 1))
s = socket.socket()
for level, option in ((1, 2), (1, 9), (6, 1), (0, 1), (0, 11)):
    s.setsockopt(level, option, 1)
s.connect(('127.0.0.1', port))
print('connected')
`
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) {
			if !available(t, u, "landlock") {
				t.Skip("the rung does not work here")
			}
			r := newRig(t, u)
			c := call{
				u: u, backend: "landlock", dir: r.root,
				flags:   []string{"--require", "full", "--network", "on", "--allow", fmt.Sprintf("127.0.0.1:%d", r.port)},
				command: fmt.Sprintf("python3 -c \"$(cat <<'END'\n%s\nEND\n)\" %d", script, r.port),
			}
			code, stdout, stderr := c.do(t)
			if code != 0 || strings.TrimSpace(stdout) != "connected" {
				t.Errorf("exit %d, %q, %s", code, stdout, stderr)
			}
		})
	}
}
