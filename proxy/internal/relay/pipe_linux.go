package relay

import "golang.org/x/sys/unix"

// pipe is a kernel buffer that splice needs between two sockets.
type pipe struct{ r, w int }

func (p *pipe) close() {
	_ = unix.Close(p.r)
	_ = unix.Close(p.w)
}

// maxSpare is how many unused pipes are kept.
const maxSpare = 8

// pipes lends pipes and keeps a few spare ones; safe for concurrent use.
type pipes struct {
	spare chan *pipe
	used  chan struct{} // holds a token if a pipe was lent since the last trim
}

func newPipes() *pipes {
	return &pipes{spare: make(chan *pipe, maxSpare), used: make(chan struct{}, 1)}
}

// get returns an empty pipe, or nil when the process may open no more.
func (p *pipes) get() *pipe {
	select {
	case p.used <- struct{}{}:
	default:
	}
	select {
	case free := <-p.spare:
		return free
	default:
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil
	}
	// A smaller pipe, where the user's quota is used up, only costs speed.
	_, _ = unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, maxSplice)
	return &pipe{r: fds[0], w: fds[1]}
}

// put takes an empty pipe back.
func (p *pipes) put(free *pipe) {
	select {
	case p.spare <- free:
	default:
		free.close()
	}
}

// trim closes the spare pipes if none was lent since the last call.
func (p *pipes) trim() {
	select {
	case <-p.used:
		return
	default:
	}
	for {
		select {
		case free := <-p.spare:
			free.close()
		default:
			return
		}
	}
}
