//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// rig is the world around one confined command: listeners of every kind that
// note who reaches them, a process with a secret, and a proxy.
type rig struct {
	dir    string // of this rig
	root   string // the writable root
	out    string // a directory outside it
	hits   string // file with the names of the listeners that were reached, after settle
	env    []string
	victim *exec.Cmd
	proxy  string // unix socket of the proxy
	port   uint16 // the proxy's TCP port on the host's loopback address
	// probes reach one listener each and return when it has noticed.
	probes []func() error

	mu      sync.Mutex // guards following
	reached []string   // names of listeners, in order
}

// folder makes a directory that u owns. Root's lies outside /tmp, the user's in
// it.
func (u user) folder(t *testing.T) string {
	t.Helper()
	parent := "/tmp"
	if u.uid == 0 {
		parent = "/var/lib"
	}
	dir, err := os.MkdirTemp(parent, "steer-rig-") //nolint:usetesting // where it lies matters, and an ordinary user must reach it
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	u.own(t, dir)
	return dir
}

// own gives a tree to u.
func (u user) own(t *testing.T, dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(u.uid), int(u.gid))
	}))
}

// newRig makes a rig that u owns.
func newRig(t *testing.T, u user) *rig {
	t.Helper()
	dir := u.folder(t)
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
	u.own(t, dir)
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
	r.reached = append(r.reached, name)
}

// unhit takes back the last hit of a listener, which was a probe of ours.
func (r *rig) unhit(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, hit := range slices.Backward(r.reached) {
		if hit == name {
			r.reached = slices.Delete(r.reached, i, i+1)
			return
		}
	}
}

// settle waits until the listeners have noticed everything that arrived before
// it was called, and writes the file of hits. Every listener takes what arrives
// in order, so it has when it has noticed a probe of ours.
func (r *rig) settle(t *testing.T) {
	t.Helper()
	for _, probe := range r.probes {
		must(t, probe())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	must(t, os.WriteFile(r.hits, []byte(strings.Join(append(r.reached, ""), "\n")), 0o644))
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
	r.probes = append(r.probes, func() error {
		c, err := net.DialTimeout(network, l.Addr().String(), settleWait)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(settleWait)); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, c); err != nil {
			return err
		}
		r.unhit(name)
		return nil
	})
	return l.Addr()
}

// settleWait is how long a listener may take to notice something.
const settleWait = 30 * time.Second

// packets notes each datagram.
func (r *rig) packets(t *testing.T, network, address, name string) net.Addr {
	t.Helper()
	var lc net.ListenConfig
	c, err := lc.ListenPacket(t.Context(), network, address)
	must(t, err)
	buf, ours, noticed := make([]byte, 100), r.dir+" "+name, make(chan struct{}, 1)
	r.background(t, c, func() error {
		n, _, err := c.ReadFrom(buf)
		switch {
		case err != nil:
			return err
		case string(buf[:n]) == ours:
			noticed <- struct{}{}
		default:
			r.hit(name)
		}
		return nil
	})
	r.probes = append(r.probes, func() error {
		out, err := net.DialTimeout(network, c.LocalAddr().String(), settleWait)
		if err != nil {
			return err
		}
		defer out.Close()
		if _, err := io.WriteString(out, ours); err != nil {
			return err
		}
		select {
		case <-noticed:
			return nil
		case <-time.After(settleWait):
			return fmt.Errorf("listener %s notices nothing", name)
		}
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

// startVictim starts a process of u's with a secret in its environment. It
// reads from us, so that it ends when the tests are killed.
func (r *rig) startVictim(t *testing.T, u user) {
	t.Helper()
	r.victim = exec.Command("cat")
	r.victim.Env = []string{"SECRET=topsecret", "PATH=" + path}
	u.as(r.victim)
	input, err := r.victim.StdinPipe()
	must(t, err)
	must(t, r.victim.Start())
	t.Cleanup(func() { _ = r.victim.Process.Kill(); _ = input.Close(); _ = r.victim.Wait() })
}
