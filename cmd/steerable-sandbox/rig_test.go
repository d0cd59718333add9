//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// rig is the world around one confined command: listeners of every kind that
// note who reaches them, a process with a secret, and a proxy.
type rig struct {
	dir    string // of this rig
	root   string // the writable root
	out    string // a directory outside it
	hits   string // file that listeners write their name to
	env    []string
	victim *exec.Cmd
	proxy  string // unix socket of the proxy
	port   uint16 // the proxy's TCP port on the host's loopback address

	mu sync.Mutex // guards writes to hits
}

// newRig makes a rig that u owns. Root's lies outside /tmp, the user's in it.
func newRig(t *testing.T, u user) *rig {
	t.Helper()
	parent := "/tmp"
	if u.uid == 0 {
		parent = "/var/lib"
	}
	dir, err := os.MkdirTemp(parent, "steer-rig-") //nolint:usetesting // where it lies matters, and an ordinary user must reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &rig{dir: dir, root: dir + "/root", out: dir + "/out", hits: dir + "/hits", proxy: dir + "/egress.sock"}
	for _, d := range []string{r.root, r.out, dir + "/home"} {
		must(t, os.Mkdir(d, 0o755))
	}
	for _, name := range []string{"victim", "trunc", "del", "mvsrc"} {
		must(t, os.WriteFile(filepath.Join(r.out, name), []byte("data\n"), 0o644))
	}
	must(t, os.WriteFile(r.hits, nil, 0o666))
	tcp := r.listen(t, "tcp", "127.0.0.1:0", "tcp")
	abstract := "steer-" + strconv.Itoa(os.Getpid()) + "-" + filepath.Base(dir)
	r.listen(t, "unix", dir+"/v.sock", "unix")
	r.listen(t, "unix", "@"+abstract, "abstract")
	udp := r.packets(t, "udp", "127.0.0.1:0", "udp")
	r.packets(t, "unixgram", dir+"/d.sock", "dgram")
	www := r.serveHTTP(t)
	r.startProxy(t)
	r.startVictim(t, u)
	must(t, exec.CommandContext(t.Context(), "chown", "-R", fmt.Sprintf("%d:%d", u.uid, u.gid), dir).Run())
	r.env = []string{
		"PATH=" + path, "HOME=" + dir + "/home", "USER=" + u.name, "LANG=C.UTF-8", "TERM=xterm",
		"ROOT=" + r.root, "OUT=" + r.out, "HITS=" + r.hits,
		"SOCK=" + dir + "/v.sock", "DSOCK=" + dir + "/d.sock", "ABS=" + abstract,
		"TCP=" + port(tcp), "UDP=" + port(udp), "WWW=" + port(www), "PPORT=" + strconv.Itoa(int(r.port)),
		"VPID=" + strconv.Itoa(r.victim.Process.Pid), "SUID=" + setuid, "HOSTUSER=" + u.name,
	}
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func port(addr net.Addr) string {
	_, p, _ := net.SplitHostPort(addr.String())
	return p
}

// passed are the variables that a case may use inside.
func (r *rig) passed() []string {
	var flags []string
	for _, name := range []string{"ROOT", "OUT", "HITS", "SOCK", "DSOCK", "ABS", "TCP", "UDP", "WWW", "PPORT", "VPID", "SUID", "HOSTUSER"} {
		flags = append(flags, "--env", name)
	}
	return flags
}

func (r *rig) hit(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := os.OpenFile(r.hits, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return // the rig is being removed
	}
	defer f.Close()
	_, _ = f.WriteString(name + "\n")
}

// listen accepts on a stream listener and notes each connection. It is no
// MPTCP listener but takes data in a SYN.
func (r *rig) listen(t *testing.T, network, address, name string) net.Addr {
	t.Helper()
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	lc.Control = func(network, _ string, c syscall.RawConn) error {
		if !strings.HasPrefix(network, "tcp") {
			return nil
		}
		return c.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_FASTOPEN, 5) })
	}
	l, err := lc.Listen(t.Context(), network, address)
	must(t, err)
	r.background(t, l, func() error {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		r.hit(name)
		return c.Close()
	})
	return l.Addr()
}

// packets notes each datagram.
func (r *rig) packets(t *testing.T, network, address, name string) net.Addr {
	t.Helper()
	var lc net.ListenConfig
	c, err := lc.ListenPacket(t.Context(), network, address)
	must(t, err)
	buf := make([]byte, 100)
	r.background(t, c, func() error {
		_, _, err := c.ReadFrom(buf)
		if err == nil {
			r.hit(name)
		}
		return err
	})
	return c.LocalAddr()
}

// background repeats step until it fails, which closing c makes it do.
func (r *rig) background(t *testing.T, c io.Closer, step func() error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for step() == nil {
		}
	}()
	t.Cleanup(func() { _ = c.Close(); <-done })
}

func (r *rig) serveHTTP(t *testing.T) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello\n")
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return l.Addr()
}

// startProxy serves CONNECT for allowed.test, on a unix socket and on a TCP
// port, and answers 403 for every other host.
func (r *rig) startProxy(t *testing.T) {
	t.Helper()
	u, err := net.Listen("unix", r.proxy)
	must(t, err)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	n, err := strconv.ParseUint(port(tcp.Addr()), 10, 16)
	must(t, err)
	r.port = uint16(n)
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	for _, l := range []net.Listener{u, tcp} {
		r.background(t, l, func() error {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			stop := context.AfterFunc(ctx, func() { _ = c.Close() })
			wg.Go(func() { defer stop(); serveConnect(c) })
			return nil
		})
	}
}

func serveConnect(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	req, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	host, p, _ := net.SplitHostPort(req.Host)
	if req.Method != http.MethodConnect || host != "allowed.test" {
		_, _ = io.WriteString(c, "HTTP/1.1 403 egress denied\r\n\r\n")
		return
	}
	up, err := net.Dial("tcp", "127.0.0.1:"+p)
	if err != nil {
		return
	}
	defer up.Close()
	_, _ = io.WriteString(c, "HTTP/1.1 200 ok\r\n\r\n")
	done := make(chan struct{})
	go func() { defer close(done); _, _ = io.Copy(c, up); _ = c.Close() }()
	_, _ = io.Copy(up, in)
	_ = up.Close()
	<-done
}

// startVictim starts a process of u's with a secret in its environment.
func (r *rig) startVictim(t *testing.T, u user) {
	t.Helper()
	r.victim = exec.Command("sleep", "100000")
	r.victim.Env = []string{"SECRET=topsecret", "PATH=" + path}
	u.as(r.victim)
	must(t, r.victim.Start())
	t.Cleanup(func() { _ = r.victim.Process.Kill(); _ = r.victim.Wait() })
}
