//go:build unix

package launcher

import "syscall"

const stderr = 2

// complain writes one line to standard error.
func complain(text string) { report([]byte("steerable-sandbox: " + line(text) + "\n")) }

// report writes to standard error. A reader that is gone changes nothing.
func report(b []byte) {
	for len(b) > 0 {
		n, err := syscall.Write(stderr, b)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		b = b[n:]
	}
}
