package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// runsMain makes the test binary be the program: the tests start it as hosts do.
const runsMain = "STEERABLE_EGRESS_PROXY_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runsMain) == "1" {
		main()
	}
	os.Exit(m.Run())
}

// process is a running proxy.
type process struct {
	cmd     *exec.Cmd
	addr    string // first data listener
	control string // "" without a control endpoint
	stderr  *lockedBuffer
	exited  chan error
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// command builds the program with environment additions "NAME=value".
func command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), runsMain+"=1"), env...)
	return cmd
}

// startProxy starts the program on a free port and waits until it listens.
func startProxy(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{stderr: &lockedBuffer{}, exited: make(chan error, 1)}
	p.cmd = command(t.Context(), env, append([]string{"--bind", "127.0.0.1:0"}, args...)...)
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); <-p.exited })
	lines := make(chan string, 10)
	go func() {
		scan := bufio.NewScanner(out)
		for scan.Scan() {
			lines <- scan.Text()
		}
		p.exited <- p.cmd.Wait()
		close(p.exited)
	}()
	eventually(t, "start line", func() bool { return strings.Contains(p.stderr.String(), "egress proxy on ") })
	_, rest, _ := strings.Cut(p.stderr.String(), "egress proxy on ")
	p.addr, _, _ = strings.Cut(rest, "\n")
	if strings.Contains(strings.Join(args, " "), "--control-token-env") {
		line := <-lines
		port, ok := strings.CutPrefix(line, "EGRESS_CONTROL_PORT=")
		if !ok {
			t.Fatalf("stdout says %q", line)
		}
		p.control = "127.0.0.1:" + port
	}
	return p
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within 10 s", what)
		}
		<-ticker.C
	}
}

// wait returns the exit code.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(10 * time.Second):
		t.Fatal("the program does not end")
		return -1
	}
}

// talk sends text and returns everything up to the end.
func talk(t *testing.T, addr, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, text)
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%q, then %v", got, err)
	}
	return string(got)
}

func TestConfigurationErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env := environment{
		secret: func(name string) string {
			return map[string]string{"KEY": "Bearer k", "BAD": "a\nb", "UP": "nocolon"}[name]
		},
		harden: func() error { return nil },
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"nothing":            {nil, "empty"},
		"only a deny list":   {[]string{"--deny", "a"}, "empty"},
		"bad entry":          {[]string{"--allow", "h:o:s:t"}, "invalid allow entry"},
		"port zero":          {[]string{"--allow=host:0"}, "invalid allow entry"},
		"port too large":     {[]string{"--allow=host:65536"}, "invalid allow entry"},
		"blank in entry":     {[]string{"--allow", "bad host:443"}, "invalid allow entry"},
		"empty entry":        {[]string{"--allow", ""}, "invalid allow entry"},
		"broad wildcard":     {[]string{"--allow", "*.com"}, "invalid allow entry"},
		"lone star":          {[]string{"--allow", "*"}, "invalid allow entry"},
		"bad deny":           {[]string{"--allow", "a", "--deny", ":"}, "invalid deny entry"},
		"bind without port":  {[]string{"--allow", "a", "--bind", "localhost"}, "--bind"},
		"bind without host":  {[]string{"--allow", "a", "--bind", ":8899"}, "--bind"},
		"bind port too big":  {[]string{"--allow", "a", "--bind", "127.0.0.1:65536"}, "--bind"},
		"bind port word":     {[]string{"--allow", "a", "--bind", "127.0.0.1:x"}, "--bind"},
		"bind bare IPv6":     {[]string{"--allow", "a", "--bind", "::1:80"}, "--bind"},
		"bind unix, no path": {[]string{"--allow", "a", "--bind", "unix:"}, "--bind"},
		"unknown flag":       {[]string{"--allow", "a", "--alow", "b"}, "unknown argument"},
		"stray word":         {[]string{"--allow", "a", "b"}, "unknown argument"},
		"missing value":      {[]string{"--allow"}, "needs a value"},
		"inject alone":       {[]string{"--allow", "a", "--inject-host", "a"}, "must come together"},
		"secret alone":       {[]string{"--allow", "a", "--inject-secret-env", "KEY"}, "must come together"},
		"secret unset":       {[]string{"--allow", "a", "--inject-host", "a", "--inject-secret-env", "NONE"}, "empty or unset"},
		"secret with LF":     {[]string{"--allow", "a", "--inject-host", "a", "--inject-secret-env", "BAD"}, "control character"},
		"inject scheme":      {[]string{"--allow", "a", "--inject-host", "a", "--inject-secret-env", "KEY", "--inject-scheme", "gopher"}, "scheme"},
		"inject port":        {[]string{"--allow", "a", "--inject-port", "0"}, "--inject-port"},
		"inject host":        {[]string{"--allow", "a", "--inject-host", "a b", "--inject-secret-env", "KEY"}, "--inject-host"},
		"inject header":      {[]string{"--allow", "a", "--inject-host", "a", "--inject-secret-env", "KEY", "--inject-header", "Host"}, "credential"},
		"record, no inject":  {[]string{"--allow", "a", "--record-requests", "x"}, "requires --inject-host"},
		"token unset":        {[]string{"--allow", "a", "--control-token-env", "NONE"}, "empty or unset"},
		"control port":       {[]string{"--allow", "a", "--control-port", "70000"}, "--control-port"},
		"timeout zero":       {[]string{"--allow", "a", "--connect-timeout", "0"}, "--connect-timeout"},
		"timeout negative":   {[]string{"--allow", "a", "--head-timeout=-1s"}, "--head-timeout"},
		"timeout word":       {[]string{"--allow", "a", "--idle-timeout", "soon"}, "--idle-timeout"},
		"timeout NaN":        {[]string{"--allow", "a", "--drain-timeout", "NaN"}, "--drain-timeout"},
		"timeout endless":    {[]string{"--allow", "a", "--connect-timeout", "inf"}, "--connect-timeout"},
		"guard":              {[]string{"--allow", "a", "--resolve-guard", "lax"}, "--resolve-guard"},
		"sni":                {[]string{"--allow", "a", "--sni", "maybe"}, "--sni"},
		"chunked":            {[]string{"--allow", "a", "--inject-chunked", "yes"}, "--inject-chunked"},
		"resolver":           {[]string{"--allow", "a", "--resolver", "dns"}, "--resolver"},
		"hosts file missing": {[]string{"--allow", "a", "--hosts-file", filepath.Join(dir, "none")}, "--hosts-file"},
		"hosts file bad":     {[]string{"--allow", "a", "--hosts-file", write("hosts", "x y z")}, "hosts file"},
		"policy missing":     {[]string{"--policy", filepath.Join(dir, "none")}, "--policy"},
		"policy bad":         {[]string{"--policy", write("p1", `{"allow": 1}`)}, "--policy"},
		"policy empty":       {[]string{"--policy", write("p2", `{}`)}, "empty"},
		"upstream":           {[]string{"--allow", "a", "--upstream", "ftp://x"}, "upstream"},
		"upstream no URL":    {[]string{"--allow", "a", "--upstream", "http://a b:secret@c"}, "not a URL"},
		"upstream auth":      {[]string{"--allow", "a", "--upstream", "http://x", "--upstream-auth-env", "UP"}, "user:password"},
		"auth alone":         {[]string{"--allow", "a", "--upstream-auth-env", "UP"}, "--upstream"},
		"listen-fd":          {[]string{"--allow", "a", "--listen-fd", "x"}, "--listen-fd"},
		"log level":          {[]string{"--allow", "a", "--log-level", "loud"}, "--log-level"},
		"audit":              {[]string{"--allow", "a", "--audit", filepath.Join(dir, "none", "x")}, "--audit"},
		"resolver port":      {[]string{"--allow", "a", "--resolver", "127.0.0.1:0"}, "--resolver"},
		"help with value":    {[]string{"--allow", "a", "--help=x"}, "unknown argument"},
		"policy empty name":  {[]string{"--allow", "a", "--policy", ""}, "--policy"},
		"audit empty name":   {[]string{"--allow", "a", "--audit="}, "--audit"},
		"hosts empty name":   {[]string{"--allow", "a", "--hosts-file", ""}, "--hosts-file"},
		"upstream empty":     {[]string{"--allow", "a", "--upstream", ""}, "--upstream"},
		"token name empty":   {[]string{"--allow", "a", "--control-token-env="}, "--control-token-env"},
		"record empty name":  {[]string{"--allow", "a", "--record-requests", ""}, "--record-requests"},
		"inject header none": {[]string{"--allow", "a", "--inject-header", ""}, "--inject-header"},
		"switch with value":  {[]string{"--allow", "a", "--socks=maybe"}, "--socks"},
	} {
		var out, errs bytes.Buffer
		env.stdout, env.stderr = &out, &errs
		code := run(env, tc.args)
		if code != 2 || !strings.HasPrefix(errs.String(), "error: ") || !strings.Contains(errs.String(), tc.want) || strings.Count(errs.String(), "\n") != 1 || out.Len() > 0 {
			t.Errorf("%s: code %d, stderr %q, stdout %q; want 2 and %q", name, code, errs.String(), out.String(), tc.want)
		}
	}
}

func TestInformation(t *testing.T) {
	env := environment{secret: func(string) string { return "hush" }}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"help":    {[]string{"--allow", "a", "--help"}, "--inject-secret-env VAR"},
		"version": {[]string{"--version"}, "steerable-egress-proxy "},
		"check": {
			[]string{"--check", "--allow=A.Example.:443", "--allow", "**.b.example", "--deny=*.c.example", "--inject-host", "a.example", "--inject-secret-env", "K"},
			"allow a.example:443\nallow **.b.example\ndeny *.c.example\ninject Authorization https://a.example:443\n",
		},
	} {
		var out, errs bytes.Buffer
		env.stdout, env.stderr = &out, &errs
		if code := run(env, tc.args); code != 0 || !strings.Contains(out.String(), tc.want) || errs.Len() > 0 || strings.Contains(out.String(), "hush") {
			t.Errorf("%s: code %d\n%s%s", name, code, out.String(), errs.String())
		}
	}
}

func TestTimeouts(t *testing.T) {
	for in, want := range map[string]time.Duration{"10": 10 * time.Second, "0.25": 250 * time.Millisecond, "1m30s": 90 * time.Second, "1e1": 10 * time.Second} {
		f, err := parseFlags([]string{"--connect-timeout=" + in, "--idle-timeout", "0"})
		if err != nil || f.connectTimeout != want || f.idleTimeout >= 0 {
			t.Errorf("%s: %v, %v", in, f, err)
		}
	}
}

// TestControlLine leaves in one write, after the data port listens, and the
// endpoint is on 127.0.0.1.
func TestControlLine(t *testing.T) {
	p := startProxy(t, []string{"TOKEN=tok"}, "--allow", "a.example", "--control-port", "0", "--control-token-env", "TOKEN")
	if !regexp.MustCompile(`^127\.0\.0\.1:\d+$`).MatchString(p.control) {
		t.Errorf("control on %s", p.control)
	}
	body := `{"host":"192.0.2.1"}`
	got := talk(t, p.control, fmt.Sprintf("POST /allow HTTP/1.1\r\nAuthorization: Bearer tok\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	if !strings.HasSuffix(got, `{"allowed": "192.0.2.1", "ports": "80,443"}`) {
		t.Error(got)
	}
}

// TestBindFailure is bad luck, not a bad configuration.
func TestBindFailure(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	out, err := command(t.Context(), nil, "--allow", "a.example", "--bind", ln.Addr().String()).CombinedOutput()
	exit, ok := err.(*exec.ExitError) //nolint:errorlint // the concrete type is what is asked for
	if !ok || exit.ExitCode() != 1 || !strings.HasPrefix(string(out), "error: listen on ") {
		t.Errorf("%v, %q", err, out)
	}
}

// TestSignals ends with 0 on both, with tunnels open, and at once.
func TestSignals(t *testing.T) {
	target := echoServer(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p := startProxy(t, nil, "--allow", target)
		conn := openTunnel(t, p.addr, target)
		began := time.Now()
		if err := p.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if code := p.wait(t); code != 0 || time.Since(began) > 3*time.Second {
			t.Errorf("%v: exit code %d after %v", sig, code, time.Since(began))
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("%v: the tunnel goes on", sig)
		}
		if n := strings.Count(p.stderr.String(), "\n"); n != 1 {
			t.Errorf("stderr holds %d lines:\n%s", n, p.stderr.String())
		}
	}
	// A second signal does not wait for tunnels.
	p := startProxy(t, nil, "--allow", target, "--drain-timeout", "1m")
	openTunnel(t, p.addr, target)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	eventually(t, "closed listener", func() bool {
		c, err := net.Dial("tcp", p.addr)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.wait(t); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// TestReloadSignal reads the policy file again and survives a bad one.
func TestReloadSignal(t *testing.T) {
	target := echoServer(t)
	path := filepath.Join(t.TempDir(), "policy.json")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"allow": ["a.example"], "inject": [{"host": "a.example", "secretEnv": "KEY"}]}`)
	p := startProxy(t, []string{"KEY=Bearer k"}, "--policy", path, "--log-level", "info")
	hup := func(want string) {
		n := strings.Count(p.stderr.String(), want)
		_ = p.cmd.Process.Signal(syscall.SIGHUP)
		eventually(t, want, func() bool { return strings.Count(p.stderr.String(), want) > n })
	}
	refusal := "CONNECT " + target + " HTTP/1.1\r\n\r\n"
	if got := talk(t, p.addr, refusal); !strings.HasPrefix(got, "HTTP/1.1 403") {
		t.Error(got)
	}
	write(`{"allow": ["a.example", "` + target + `"], "inject": [{"host": "a.example", "secretEnv": "KEY"}]}`)
	hup(`"message":"policy reloaded"`)
	openTunnel(t, p.addr, target)
	write(`{"allow": [`)
	hup(`"message":"policy not reloaded"`)
	openTunnel(t, p.addr, target)
	if strings.Contains(p.stderr.String(), "Bearer k") {
		t.Error("the log holds the secret")
	}
}

// TestSecretsLeaveTheEnvironment, also the one that the kernel shows.
func TestSecretsLeaveTheEnvironment(t *testing.T) {
	p := startProxy(t, []string{"TOKEN=tok-visible", "KEY=Bearer key-visible", "OTHER=stays"},
		"--allow", "a.example", "--control-token-env", "TOKEN", "--inject-host", "a.example", "--inject-secret-env", "KEY")
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.cmd.Process.Pid))
	if err != nil {
		if os.IsPermission(err) {
			return // not even readable, which is the other half of the promise
		}
		t.Skip("no /proc here:", err)
	}
	if bytes.Contains(env, []byte("visible")) || !bytes.Contains(env, []byte("OTHER=stays")) {
		t.Errorf("environment %q", env)
	}
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.cmd.Process.Pid))
	if err != nil || bytes.Contains(args, []byte("visible")) {
		t.Errorf("%q, %v", args, err)
	}
}

// TestRunsOutOfDescriptors refuses what it cannot serve, and recovers.
func TestRunsOutOfDescriptors(t *testing.T) {
	target := echoServer(t)
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell to set a limit with")
	}
	p := &process{stderr: &lockedBuffer{}, exited: make(chan error, 1)}
	p.cmd = exec.CommandContext(t.Context(), sh, "-c", `ulimit -n 40; exec "$0" "$@"`, os.Args[0], "--bind", "127.0.0.1:0", "--allow", target, "--sni", "off")
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), runsMain+"=1"), p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	eventually(t, "start line", func() bool { return strings.HasPrefix(p.stderr.String(), "egress proxy on ") })
	p.addr = strings.TrimSpace(strings.TrimPrefix(p.stderr.String(), "egress proxy on "))
	first := openTunnel(t, p.addr, target)
	var conns []net.Conn
	for range 80 {
		conn, err := net.Dial("tcp", p.addr)
		if err != nil {
			break
		}
		_, _ = io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\n\r\n")
		conns = append(conns, conn)
	}
	ping(t, first) // tunnels that are open do not notice
	for _, c := range conns {
		_ = c.Close()
	}
	eventually(t, "recovery", func() bool {
		conn, err := net.Dial("tcp", p.addr)
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
		_, _ = io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\n\r\n")
		line, _ := bufio.NewReader(conn).ReadString('\n')
		return strings.HasPrefix(line, "HTTP/1.1 200")
	})
}

// echoServer returns the address of a server that sends back what it gets.
func echoServer(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	return ln.Addr().String()
}

func openTunnel(t *testing.T, addr, target string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\n\r\n")
	want := "HTTP/1.1 200 Connection Established\r\n\r\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("%q, %v", got, err)
	}
	ping(t, conn)
	return conn
}

func ping(t *testing.T, conn net.Conn) {
	t.Helper()
	_, _ = io.WriteString(conn, "ping")
	got := make([]byte, 4)
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "ping" {
		t.Fatalf("%q, %v", got, err)
	}
}
