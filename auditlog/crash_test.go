package auditlog

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/steerable-go/sidecar/authz/audit"
)

// Environment of the test binary when it plays a writer that is killed, and of
// the crash loop.
const (
	writerEnv = "AUDITLOG_TEST_WRITER" // directory to write to
	killsEnv  = "AUDITLOG_TEST_KILLS"  // how many kills, instead of a few
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		os.Exit(writeUntilKilled(dir))
	}
	goleak.VerifyTestMain(m)
}

// writeUntilKilled appends from several goroutines and prints a line for every
// record that was acknowledged.
func writeUntilKilled(dir string) int {
	l, err := Open(Options{Dir: dir, MaxSegment: 64 << 10})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var wg sync.WaitGroup
	var failed sync.Once
	code := 0
	for g := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				r, err := l.Append(context.Background(), record("u1", fmt.Sprintf("p%d-g%d-%d", os.Getpid(), g, i)))
				if err != nil {
					failed.Do(func() { code = 1; fmt.Fprintln(os.Stderr, err) })
					return
				}
				// One write per line, so that no line is mixed with another.
				fmt.Printf("%d %s\n", r.Sequence, r.Hash)
			}
		})
	}
	wg.Wait()
	return code
}

// writer is a child process that appends until it is killed.
type writer struct {
	cmd    *exec.Cmd
	out    io.ReadCloser
	errs   strings.Builder
	ready  chan struct{} // closed after the first acknowledgement
	done   chan struct{} // closed when all output has been read
	acked  map[uint64]string
	broken error
}

func startWriter(t *testing.T, dir string) *writer {
	t.Helper()
	w := &writer{ready: make(chan struct{}), done: make(chan struct{}), acked: map[uint64]string{}}
	w.cmd = exec.CommandContext(t.Context(), os.Args[0])
	w.cmd.Env = append(os.Environ(), writerEnv+"="+dir)
	w.cmd.Stderr = &w.errs
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.out = out
	go w.read() // ends with the child
	return w
}

func (w *writer) read() {
	defer close(w.done)
	in := bufio.NewReader(w.out)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return // what has no newline was not acknowledged
		}
		seq, hash, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.ParseUint(seq, 10, 64)
		if err != nil {
			w.broken = fmt.Errorf("child wrote %q", line)
			return
		}
		if len(w.acked) == 0 {
			close(w.ready)
		}
		w.acked[n] = hash
	}
}

// kill ends the child without warning and returns what it had acknowledged.
func (w *writer) kill(t *testing.T) map[uint64]string {
	t.Helper()
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-w.done
	_ = w.cmd.Wait()
	if w.broken != nil || w.errs.Len() > 0 {
		t.Fatalf("child failed: %v %s", w.broken, &w.errs)
	}
	return w.acked
}

// Two processes append to one chain and are killed again and again, at any
// moment. The chain stays whole, and nothing that was acknowledged is lost.
func TestKilledWriters(t *testing.T) {
	kills := 12
	if testing.Short() {
		kills = 4
	}
	if s := os.Getenv(killsEnv); s != "" {
		var err error
		if kills, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	acked := map[uint64]string{}
	rnd := rand.New(rand.NewPCG(1, uint64(kills)))
	writers := []*writer{startWriter(t, dir), startWriter(t, dir)}
	for i := range kills {
		victim := i % len(writers)
		w := writers[victim]
		select {
		case <-w.ready:
		case <-w.done:
			t.Fatalf("child ended: %s", &w.errs)
		case <-time.After(30 * time.Second):
			t.Fatal("child acknowledged nothing")
		}
		// Any moment of a commit, which takes a few milliseconds.
		<-time.After(time.Duration(rnd.IntN(20_000)) * time.Microsecond)
		collect(t, acked, w.kill(t))
		writers[victim] = startWriter(t, dir)
	}
	for _, w := range writers {
		collect(t, acked, w.kill(t))
	}
	checkKilled(t, dir, acked, kills)
}

func collect(t *testing.T, all, some map[uint64]string) {
	t.Helper()
	for n, hash := range some {
		if all[n] != "" {
			t.Errorf("record %d was acknowledged twice", n)
		}
		all[n] = hash
	}
}

func checkKilled(t *testing.T, dir string, acked map[uint64]string, kills int) {
	t.Helper()
	before, err := Verify(VerifyOptions{Dir: dir, Owner: "u1"})
	if err != nil || !before.OK && before.Code != audit.CodeTornTail && before.Code != audit.CodeNoFinalNewline {
		t.Fatalf("before the last repair: %+v, %v", before, err)
	}
	l := newLog(t, Options{Dir: dir})
	mustAppend(t, l, "u1", "survivor") // repairs what the last kill left
	rep, err := Verify(VerifyOptions{Dir: dir, Owner: "u1"})
	if err != nil || !rep.OK || !rep.TailPinned {
		t.Fatalf("chain after %d kills: %+v, %v", kills, rep, err)
	}
	held := map[uint64]string{}
	for e, err := range Entries(dir, "u1") {
		if err != nil {
			t.Fatal(err)
		}
		held[e.Record().Sequence()] = e.Hash().String()
	}
	for n, hash := range acked {
		if held[n] != hash {
			t.Errorf("acknowledged record %d is %q in the chain, want %q", n, held[n], hash)
		}
	}
	torn, _ := filepath.Glob(filepath.Join(OwnerDir(dir, "u1"), quarantineDir, "*"))
	t.Logf("%d kills, %d records, %d acknowledged, %d torn lines in quarantine", kills, rep.Records, len(acked), len(torn))
	if len(acked) == 0 {
		t.Error("nothing was acknowledged; the test shows nothing")
	}
}
