package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrLocked is returned by [TryLock] when somebody else holds the lock.
var ErrLocked = errors.New("file is locked")

// Waiting for a lock asks again at growing intervals. A blocking flock(2)
// cannot be cancelled, and a stopped holder would then stop us for ever.
const (
	firstRetry = 100 * time.Microsecond // about the length of one buffered commit
	lastRetry  = 5 * time.Millisecond   // bounds both the added latency and the idle load
)

// Lock is an exclusive advisory lock on a file. The zero value holds nothing.
// Its methods are not safe for concurrent use.
type Lock struct {
	file *os.File
}

// Acquire waits until it holds the exclusive lock on the file at path, which is
// created with mode 0600 if it does not exist, or until ctx ends, and then
// returns an error that wraps the context's. The file is not read or written;
// do not lock a file that [Write] replaces, because the lock stays with the old
// one.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	l, err := acquire(ctx.Done(), path)
	if errors.Is(err, ErrLocked) {
		return nil, fmt.Errorf("lock %s: %w", path, ctx.Err())
	}
	return l, err
}

// AcquireWithin is [Acquire] for callers that serve many contexts: it waits
// only so long, and then returns an error that is [ErrLocked].
func AcquireWithin(path string, wait time.Duration) (*Lock, error) {
	stop := make(chan struct{})
	timer := time.AfterFunc(wait, func() { close(stop) })
	defer timer.Stop()
	return acquire(stop, path)
}

// acquire asks until it is told to stop, and then returns [ErrLocked].
func acquire(stop <-chan struct{}, path string) (*Lock, error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		select {
		case <-stop:
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, ErrLocked), f.Close())
		case <-timer.C:
		}
		err := lockFile(f)
		if err == nil {
			return &Lock{file: f}, nil
		}
		if !errors.Is(err, ErrLocked) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		timer.Reset(wait)
	}
}

// TryLock is [Acquire] without waiting: if the lock is taken it returns an
// error that is [ErrLocked].
func TryLock(path string) (*Lock, error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return &Lock{file: f}, nil
}

// Unlock releases the lock. The file stays: removing it would let a waiter lock
// a name that no newcomer can see. Unlocking twice does nothing.
func (l *Lock) Unlock() error {
	if l == nil || l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	// Closing the only descriptor releases the lock on every platform.
	if err := f.Close(); err != nil {
		return fmt.Errorf("unlock %s: %w", f.Name(), err)
	}
	return nil
}

func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	return f, nil
}
