//go:build unix

package launcher

import "syscall"

const (
	stdout = 1
	stderr = 2
)

// say writes to standard output.
func say(text string) { write(stdout, []byte(text)) }

// complain writes one line to standard error.
func complain(text string) { report([]byte("steerable-sandbox: " + line(text) + "\n")) }

// report writes to standard error. A reader that is gone changes nothing.
func report(b []byte) { write(stderr, b) }

func write(fd int, b []byte) {
	for len(b) > 0 {
		n, err := syscall.Write(fd, b)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		b = b[n:]
	}
}
