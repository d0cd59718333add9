package launcher

import "os"

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
		return err
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
