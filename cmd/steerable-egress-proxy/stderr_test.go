//go:build unix

package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSurvivesAClosedStderr: a host that stops reading the log keeps its
// tunnels.
func TestSurvivesAClosedStderr(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t.Context(), nil, "--bind", "127.0.0.1:0", "--allow", "a.example", "--log-level", "debug")
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	_ = w.Close()
	line, err := bufio.NewReaderSize(io.LimitReader(r, 200), 200).ReadString('\n')
	_, addr, ok := strings.Cut(strings.TrimSpace(line), "egress proxy on ")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line, err)
	}
	_ = r.Close()
	for range 3 { // each writes a log line into the broken pipe
		if got := talk(t, addr, "CONNECT b.example:443 HTTP/1.1\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
			t.Errorf("%q", got)
		}
	}
}

// TestQuietAboutUpstreams: what an upstream sends on a connection that waits
// for the next request does not reach the log.
func TestQuietAboutUpstreams(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	noticed := make(chan error, 1)
	go func() { noticed <- speakOutOfTurn(ln) }()
	_, port, _ := strings.Cut(ln.Addr().String(), ":")
	p := startProxy(t, []string{"KEY=Bearer k"}, "--allow", "a.example", "--inject-host", "127.0.0.1", "--inject-secret-env", "KEY", "--inject-scheme", "http", "--inject-port", port)
	if got := talk(t, p.addr, "GET http://127.0.0.1/ HTTP/1.1\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 204 ") {
		t.Fatalf("%q", got)
	}
	if err := <-noticed; !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("the proxy kept the connection: %v", err)
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if log := p.stderr.String(); strings.Count(log, "\n") != 1 {
		t.Errorf("stderr %q", log)
	}
}

// speakOutOfTurn answers one request, sends something nobody asked for, and
// returns how the connection ended.
func speakOutOfTurn(ln net.Listener) error {
	conn, err := ln.Accept()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
		return err
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
	_ = conn.SetDeadline(time.Now().Add(200 * time.Millisecond)) // the response is taken by then
	_, _ = conn.Read(make([]byte, 1))
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, "said out of turn")
	_, err = conn.Read(make([]byte, 1)) // until the proxy hangs up
	return err
}
