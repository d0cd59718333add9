package launcher

import (
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/steerable-go/sidecar/sandbox/internal/seccomp"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

func TestRequestRoundTrip(t *testing.T) {
	for name, r := range map[string]request{
		"smallest": {cwd: "/", argv: []string{"true"}},
		"everything": {
			writable: []string{"/a b", "/ü=x"}, sockets: seccomp.SocketsOpen, port: 65535, script: true, cwd: "/w",
			limits:   policy.Limits{CPUSeconds: 1, FileSizeBytes: 2, Processes: 3, AddressSpaceBytes: 1 << 40},
			defaults: []syscall.Signal{1, 15}, argv: []string{"sh", "-c", "a=b\nc", ""},
		},
	} {
		got, err := decodeRequest(r.encode())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, got, cmp.AllowUnexported(request{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestRequestRefuses(t *testing.T) {
	for _, b := range []string{
		"cwd=/", "cwd\x00", "unknown=1\x00", "port=0\x00", "port=65536\x00", "port=-1\x00", "port=x\x00",
		"sockets=9\x00", "default=65\x00", "cpu=9223372036854775808\x00", "\x00",
	} {
		if r, err := decodeRequest([]byte(b)); err == nil {
			t.Errorf("decodeRequest(%q) = %+v", b, r)
		}
	}
}

// FuzzDecodeRequest: what decodes, encodes to something that decodes alike.
func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte("cwd=/\x00arg=true\x00"))
	f.Add((&request{writable: []string{"/a"}, port: 1, argv: []string{"x"}}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRequest(b)
		if err != nil {
			return
		}
		again, err := decodeRequest(r.encode())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again, cmp.AllowUnexported(request{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}
