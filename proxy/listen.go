package proxy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
)

// Listener is a data listener and the name its clients go by in the decision
// log and in [Request.Identity]: one listener for each confined process tells
// them apart without a token in any environment.
type Listener struct {
	net.Listener

	Identity string
}

// Listeners are what a server serves.
type Listeners struct {
	Data []Listener
	// Control carries the control endpoint; nil means none.
	Control net.Listener
}

// Listen opens a data listener: "host:port", "[IPv6]:port" or "unix:/path".
// Port 0 picks a free one. A socket file gets mode 0600; one that nobody
// listens on any more is replaced.
func Listen(ctx context.Context, bind string) (net.Listener, error) {
	lc := net.ListenConfig{KeepAlive: -1} // the relay turns it on for tunnels that last
	if path, ok := strings.CutPrefix(bind, "unix:"); ok {
		return listenUnix(ctx, &lc, path)
	}
	ln, err := lc.Listen(ctx, "tcp", bind)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", bind, err)
	}
	return ln, nil
}

func listenUnix(ctx context.Context, lc *net.ListenConfig, path string) (net.Listener, error) {
	if err := removeStale(ctx, path); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	ln, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return ln, nil
}

// removeStale removes a socket file that refuses connections; anything else
// that is in the way stays there.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("there is a file that is no socket")
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
		return errors.New("another process listens there")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("probe socket: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove stale socket: %w", err)
	}
	return nil
}

// ListenFD takes over an inherited listening descriptor, such as one that was
// opened inside another network namespace. The descriptor is closed in this
// process; the listener has its own.
func ListenFD(fd uintptr) (net.Listener, error) {
	f := os.NewFile(fd, fmt.Sprintf("listen-fd-%d", fd))
	if f == nil {
		return nil, fmt.Errorf("descriptor %d: not a descriptor", fd)
	}
	ln, err := net.FileListener(f)
	_ = f.Close()
	if err != nil {
		return nil, fmt.Errorf("descriptor %d is no listening socket: %w", fd, err)
	}
	return ln, nil
}

// ports returns the TCP ports of the listeners.
func (l Listeners) ports() []uint16 {
	var out []uint16
	all := make([]net.Listener, 0, len(l.Data)+1)
	for _, d := range l.Data {
		all = append(all, d.Listener)
	}
	if l.Control != nil {
		all = append(all, l.Control)
	}
	for _, ln := range all {
		if a, ok := ln.Addr().(*net.TCPAddr); ok {
			out = append(out, a.AddrPort().Port())
		}
	}
	return out
}
