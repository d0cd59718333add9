//go:build linux && (amd64 || arm64)

package signals

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestMain plays the programs of the tests: signal handlers belong to a whole
// process, and the one of the test has its own.
func TestMain(m *testing.M) {
	switch os.Getenv("SIGNALS_TEST") {
	case "storm":
		storm()
	case "ignored":
		ignored()
	default:
		os.Exit(m.Run())
	}
}

// play runs this test binary under a name, started by the command before it.
func play(t *testing.T, name string, by ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := append(by, self)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "SIGNALS_TEST="+name)
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "done" {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
}

// TestStorm sends signals to a process whose goroutines are busy growing
// stacks and collecting garbage. Each must arrive, and nothing may be damaged.
func TestStorm(t *testing.T) { play(t, "storm") }

func storm() {
	fd, err := Catch(syscall.SIGTERM, syscall.SIGHUP)
	if err != nil {
		panic(err)
	}
	var work sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					deep(200)
					runtime.Gosched() // or the reader waits for its turn most of the time
				}
			}
		})
	}
	// One after the other: a signal that is pending already is not counted.
	for i := range 500 {
		sig := []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP}[i%2]
		if err := unix.Kill(os.Getpid(), sig); err != nil {
			panic(err)
		}
		if got, err := Next(fd); err != nil || got != sig {
			panic(got)
		}
	}
	close(stop)
	work.Wait()
	_, _ = os.Stdout.WriteString("done\n")
}

// deep uses stack and heap, and checks them.
func deep(n int) int {
	var frame [64]int
	for i := range frame {
		frame[i] = n
	}
	heap := make([]int, 16)
	heap[n%16] = n
	if n > 0 && deep(n-1) != n-1 {
		panic("a frame was damaged")
	}
	return frame[n%64] + heap[n%16] - n
}

// TestIgnored starts the process with a signal ignored, as nohup does.
func TestIgnored(t *testing.T) { play(t, "ignored", "sh", "-c", `trap "" HUP; exec "$0"`) }

func ignored() {
	fd, err := Catch(syscall.SIGHUP, syscall.SIGTERM)
	if err != nil {
		panic(err)
	}
	if !Ignored(syscall.SIGHUP) || Ignored(syscall.SIGTERM) {
		panic("what is ignored was not seen")
	}
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		if err := unix.Kill(os.Getpid(), sig); err != nil {
			panic(err)
		}
	}
	if got, err := Next(fd); err != nil || got != syscall.SIGTERM {
		panic(got)
	}
	_, _ = os.Stdout.WriteString("done\n")
}

// TestLayout compares the handler's first two assumptions with the kernel's
// structures as package unix has them.
func TestLayout(t *testing.T) {
	if at := unsafe.Offsetof(unix.Siginfo{}.Signo); at != 0 {
		t.Errorf("the number is at offset %d of siginfo_t", at)
	}
	if size := unsafe.Sizeof(unix.Siginfo{}.Signo); size != 4 {
		t.Errorf("the number has %d bytes", size)
	}
}
