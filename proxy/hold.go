package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/steerable-go/sidecar/egress"
)

// maxHeld is how much a client may send while its request is held. Beyond it
// the kernel's buffers fill up and the client waits, as for any slow server.
const maxHeld = 64 << 10

// ask holds the client and asks the decider. A client that leaves, or that
// half-closes, is not worth a person's attention any more.
func (x *exchange) ask(ctx context.Context, host egress.Host, port uint16) decision {
	watched, w := watch(ctx, x.conn, watchFor{limit: maxHeld - len(x.early), keep: true, halfClose: true})
	answer, err := x.s.opt.Decider.Decide(watched, Request{
		Identity: x.event.Identity, Protocol: x.event.Protocol, Host: host, Port: port,
	})
	held, gone := w.stop()
	x.early = append(x.early, held...)
	switch {
	case gone:
		return decision{reason: ReasonAbandoned}
	case ctx.Err() != nil:
		return decision{reason: ReasonShutdown}
	case err != nil:
		x.s.opt.Logger.Warn().Err(err).Msg("decider")
		return decision{reason: ReasonNotListed}
	case x.s.denied(host, port):
		return decision{reason: ReasonDenied} // the policy changed meanwhile
	case answer == AllowOnce:
		return decision{reason: ReasonAsked}
	case answer == AllowSession:
		x.s.grants.add(egress.Endpoint{Host: host, Port: port}, 0)
		return decision{reason: ReasonAsked}
	default:
		return decision{reason: ReasonNotListed}
	}
}

// watchFor says what a watcher looks for.
type watchFor struct {
	limit     int  // bytes read at most; beyond it conn is not watched
	keep      bool // keep what was read
	halfClose bool // a FIN counts as leaving, not only a reset
}

// watcher reads a connection while something else goes on for its sake.
type watcher struct {
	cancel context.CancelFunc
	conn   net.Conn
	want   watchFor
	got    []byte
	gone   bool
	done   chan struct{}
}

// watch starts to read conn. The context it returns ends when the client
// leaves, and with stop.
func watch(ctx context.Context, conn net.Conn, want watchFor) (context.Context, *watcher) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{conn: conn, want: want, cancel: cancel, done: make(chan struct{})}
	_ = conn.SetReadDeadline(time.Time{})
	go w.run() // ends with stop, at the latest
	return ctx, w
}

func (w *watcher) run() {
	defer close(w.done)
	buf := make([]byte, 2048)
	for left := w.want.limit; left > 0; {
		n, err := w.conn.Read(buf[:min(left, len(buf))])
		left -= n
		if w.want.keep {
			w.got = append(w.got, buf[:n]...)
		}
		if err == nil {
			continue
		}
		ended := errors.Is(err, io.EOF)
		if !errors.Is(err, os.ErrDeadlineExceeded) && (!ended || w.want.halfClose) {
			w.gone = true
			w.cancel()
		}
		return
	}
}

// stop ends the watch and returns what was kept and whether the client left.
func (w *watcher) stop() (got []byte, gone bool) {
	_ = w.conn.SetReadDeadline(time.Unix(1, 0))
	<-w.done
	w.cancel()
	_ = w.conn.SetReadDeadline(time.Time{})
	return w.got, w.gone
}
