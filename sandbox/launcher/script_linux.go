package launcher

import (
	"bytes"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxScript bounds a script (the size of one inbound frame, decision 6).
const maxScript = 16 << 20

// openScript reads the script, if there is one, into an anonymous file and
// makes the command a shell that reads it from there. A single argument
// cannot be longer than 128 KiB; a file can.
func (l *launch) openScript() error {
	path := l.command.Script
	if path == "" {
		return nil
	}
	text, err := readScript(path)
	if err != nil {
		return &wrapperError{what: "read script", err: err}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		// A shell would succeed, and nothing would look like something.
		return &wrapperError{what: "the script is empty"}
	}
	if l.command.Unlink && path != "-" {
		if err := os.Remove(path); err != nil {
			return &wrapperError{what: "remove script", err: err}
		}
	}
	fd, err := memory("script", text)
	if err != nil {
		return &wrapperError{what: "hold script", err: err}
	}
	shell := l.command.Shell
	if shell == "" {
		shell = "sh"
	}
	l.script = fd
	l.command.Argv = []string{shell, "--", "/proc/self/fd/" + itoa(fdScript)}
	return nil
}

func readScript(path string) ([]byte, error) {
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
	text, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err == nil && len(text) > maxScript {
		err = unix.EFBIG
	}
	return text, err
}
