//go:build !unix

package launcher

import (
	"os"
	"syscall"
)

// complain writes one line to standard error.
func complain(text string) { report([]byte("steerable-sandbox: " + line(text) + "\n")) }

func report(b []byte) {
	f := os.NewFile(uintptr(syscall.Stderr), "stderr")
	_, _ = f.Write(b) // a reader that is gone changes nothing
}

// say writes to standard output.
func say(text string) {
	f := os.NewFile(uintptr(syscall.Stdout), "stdout")
	_, _ = f.WriteString(text)
}

// run refuses: there is no confinement here that a process could put on
// itself (seed 000, "Windows: no backend").
func (l *launch) run() (int, error) {
	return 0, &wrapperError{what: "no sandbox backend on this platform"}
}
