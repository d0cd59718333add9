//go:build linux || darwin

package launcher

import (
	"bytes"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxScript bounds a script (the size of one inbound frame, decision 6).
const maxScript = 16 << 20

// readScript reads a script, "-" from standard input. One without a command is
// refused: a shell would succeed, and nothing would look like something.
func readScript(path string) ([]byte, error) {
	text, err := readAll(path)
	switch {
	case err != nil:
		return nil, &wrapperError{what: "read script", err: err}
	case len(text) > maxScript:
		return nil, &wrapperError{what: "read script", err: unix.EFBIG}
	case len(bytes.TrimSpace(text)) == 0:
		return nil, &wrapperError{what: "the script is empty"}
	}
	return text, nil
}

// readAll reads at most one byte more than is allowed.
func readAll(path string) ([]byte, error) {
	fd := 0
	if path != "-" {
		var err error
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
	f := os.NewFile(uintptr(fd), path)
	if path != "-" {
		defer func() { _ = f.Close() }()
	}
	return io.ReadAll(io.LimitReader(f, maxScript+1))
}
