package hello

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// clientHello returns what crypto/tls sends first, as records.
func clientHello(t testing.TB, cfg *tls.Config) []byte {
	t.Helper()
	client, server := net.Pipe()
	go func() {
		_ = tls.Client(client, cfg).Handshake()
		_ = client.Close()
	}()
	defer func() { _ = server.Close() }()
	_ = server.SetDeadline(time.Now().Add(5 * time.Second))
	head := make([]byte, 5)
	if _, err := io.ReadFull(server, head); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint16(head[3:]))
	if _, err := io.ReadFull(server, body); err != nil {
		t.Fatal(err)
	}
	return slices.Concat(head, body)
}

// rerecord cuts one record into records of at most n bytes.
func rerecord(record []byte, n int) []byte {
	var out []byte
	for body := record[5:]; len(body) > 0; {
		part := body[:min(n, len(body))]
		body = body[len(part):]
		out = append(out, record[0], record[1], record[2], byte(len(part)>>8), byte(len(part)))
		out = append(out, part...)
	}
	return out
}

// feed adds b in steps of n bytes.
func feed(b []byte, n int) (State, Info, error) {
	var r Reader
	for {
		part := b[:min(n, len(b))]
		b = b[len(part):]
		state, info, err := r.Add(part)
		if err != nil || state != More || len(b) == 0 {
			return state, info, err
		}
	}
}

func TestServerName(t *testing.T) {
	postQuantum := clientHello(t, &tls.Config{ServerName: "pq.example.com", InsecureSkipVerify: true})
	if len(postQuantum) < 1400 {
		t.Fatalf("a hello of %d bytes has no post-quantum share; the test would prove less than it says", len(postQuantum))
	}
	long := strings.Repeat("a", 60) + ".example.com"
	for name, tc := range map[string]struct {
		hello []byte
		want  string
	}{
		"post-quantum": {postQuantum, "pq.example.com"},
		"TLS 1.2":      {clientHello(t, &tls.Config{ServerName: "old.example.com", MaxVersion: tls.VersionTLS12, InsecureSkipVerify: true}), "old.example.com"},
		"long name":    {clientHello(t, &tls.Config{ServerName: long, InsecureSkipVerify: true}), long},
		"none":         {clientHello(t, &tls.Config{InsecureSkipVerify: true}), ""},
		"address":      {clientHello(t, &tls.Config{ServerName: "127.0.0.1", InsecureSkipVerify: true}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, b := range [][]byte{tc.hello, rerecord(tc.hello, 1), rerecord(tc.hello, 100)} {
				for _, step := range []int{1, 7, 1400, len(b)} {
					state, info, err := feed(b, step)
					if state != Done || err != nil || info.ServerName != tc.want || info.ECH {
						t.Fatalf("in steps of %d: %d %+v, %v; want %q", step, state, info, err, tc.want)
					}
				}
			}
			if state, _, err := feed(tc.hello[:len(tc.hello)-1], 50); state != More || err != nil {
				t.Errorf("a cut hello: %d, %v", state, err)
			}
		})
	}
}

func TestECHIsSeen(t *testing.T) {
	h := clientHello(t, &tls.Config{ServerName: "outer.example.com", InsecureSkipVerify: true})
	// Add an empty encrypted_client_hello extension at the end.
	h = append(h, 0xfe, 0x0d, 0, 0)
	body := len(h) - 5
	h[3], h[4] = byte(body>>8), byte(body)
	msg := body - 4
	h[6], h[7], h[8] = byte(msg>>16), byte(msg>>8), byte(msg)
	at := 5 + 4 + 2 + 32
	at += 1 + int(h[at])
	at += 2 + int(binary.BigEndian.Uint16(h[at:]))
	at += 1 + int(h[at])
	binary.BigEndian.PutUint16(h[at:], binary.BigEndian.Uint16(h[at:])+4)
	state, info, err := feed(h, len(h))
	if state != Done || err != nil || !info.ECH || info.ServerName != "outer.example.com" {
		t.Errorf("%d %+v, %v", state, info, err)
	}
}

func TestNotAHello(t *testing.T) {
	for name, tc := range map[string]struct {
		in  string
		err error
	}{
		"HTTP":              {"GET / HTTP/1.1\r\n", nil},
		"SSH":               {"SSH-2.0-x\r\n", nil},
		"other record":      {"\x16\x02\x00\x00\x01\x01", ErrMalformed},
		"empty record":      {"\x16\x03\x01\x00\x00", ErrMalformed},
		"huge record":       {"\x16\x03\x01\xff\xff", ErrMalformed},
		"server hello":      {"\x16\x03\x01\x00\x04\x02\x00\x00\x00", ErrMalformed},
		"alert in between":  {"\x16\x03\x01\x00\x02\x01\x00\x15\x03\x01\x00\x02\x02\x70", ErrMalformed},
		"short hello":       {"\x16\x03\x01\x00\x06\x01\x00\x00\x02\x03\x03", ErrMalformed},
		"no end in 64 KiB":  {strings.Repeat("\x16\x03\x01\x40\x00"+"\x01\xff\xff\xff"+strings.Repeat("x", 16380), 5), ErrMalformed},
		"nothing of it yet": {"", nil},
		"below the types":   {"\x13\x03\x03\x00\x01\x01", nil},
		"above the types":   {"\x19\x03\x03\x00\x01\x01", nil},
		"cipher spec first": {"\x14\x03\x03\x00\x01\x01", ErrMalformed},
		"alert first":       {"\x15\x03\x01\x00\x02\x01\x5a", ErrMalformed},
		"data first":        {"\x17\x03\x03\x00\x01\x01", ErrMalformed},
		"heartbeat first":   {"\x18\x03\x03\x00\x01\x01", ErrMalformed},
		"one byte of alert": {"\x15", ErrMalformed},
	} {
		state, info, err := feed([]byte(tc.in), 4096)
		if !errors.Is(err, tc.err) && (err != nil || tc.err != nil) || info != (Info{}) || state == Done {
			t.Errorf("%s: %d %+v, %v", name, state, info, err)
		}
		if wantNotTLS := tc.err == nil && tc.in != ""; wantNotTLS != (state == NotTLS) {
			t.Errorf("%s: state %d", name, state)
		}
	}
}

// FuzzReader wants the same outcome however the bytes are cut.
func FuzzReader(f *testing.F) {
	f.Add(clientHello(f, &tls.Config{ServerName: "a.example", MaxVersion: tls.VersionTLS12, InsecureSkipVerify: true}), 3)
	f.Add([]byte("\x16\x03\x01\x00\x04\x01\x00\x00\x00"), 1)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		s1, i1, e1 := feed(bytes.Clone(b), len(b)+1)
		s2, i2, e2 := feed(b, max(n, 1))
		if e1 == nil && e2 == nil && (s1 != s2 || i1 != i2) {
			t.Fatalf("%d %+v at once, %d %+v in pieces of %d", s1, i1, s2, i2, n)
		}
		if len(i1.ServerName) > len(b) {
			t.Fatalf("a name longer than the input")
		}
	})
}
