package sidecar

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// frames is an input of n equal frames.
type frames struct {
	frame []byte
	left  int
	rest  []byte
}

func (f *frames) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(f.rest) == 0 {
			if f.left == 0 {
				if n == 0 {
					return 0, io.EOF
				}
				return n, nil
			}
			f.left--
			f.rest = f.frame
		}
		m := copy(p[n:], f.rest)
		f.rest = f.rest[m:]
		n += m
	}
	return n, nil
}

// serveFrames runs a server over n frames.
func serveFrames(b *testing.B, frame string, n int) {
	b.Helper()
	s := New(Options{In: &frames{frame: []byte(frame + "\n"), left: n}, Out: directDiscard{}, ErrOut: io.Discard, Log: zerolog.Nop()})
	if err := s.Run(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// directDiscard takes everything at once.
type directDiscard struct{}

func (directDiscard) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkPing is what a ping costs inside the process, beside the least that a
// program with encoding/json does for it.
func BenchmarkPing(b *testing.B) {
	const ping = `{"jsonrpc":"2.0","id":12345,"method":"system.ping","params":{}}`
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		serveFrames(b, ping, b.N)
	})
	b.Run("floor", func(b *testing.B) { // decode the envelope, encode a health object
		b.ReportAllocs()
		var out bytes.Buffer
		for b.Loop() {
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
				Params json.RawMessage `json:"params"`
			}
			if err := json.Unmarshal([]byte(ping), &m); err != nil {
				b.Fatal(err)
			}
			out.Reset()
			fmt.Fprintf(&out, `{"jsonrpc":"2.0","id":%s,"result":{"status":"ok","uptimeMs":1,"pid":%d}}`+"\n", m.ID, 1)
		}
	})
}

// BenchmarkLargeFrame is a ping with a mebibyte of padding.
func BenchmarkLargeFrame(b *testing.B) {
	large := `{"jsonrpc":"2.0","id":1,"method":"system.ping","params":{"pad":"` + strings.Repeat("x", 1<<20) + `"}}`
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(large)))
		serveFrames(b, large, b.N)
	})
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(int64(len(large)))
		for b.Loop() {
			var m struct {
				Params json.RawMessage `json:"params"`
			}
			if err := json.Unmarshal([]byte(large), &m); err != nil {
				b.Fatal(err)
			}
		}
	})
}
