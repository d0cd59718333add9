//go:build !unix

package protocol

import (
	"io"
	"os"
)

// Claim takes the process's standard input and output for the protocol. Where
// descriptors cannot be renumbered, os.Stdout still leads to the host; nothing
// of ours prints to it.
func Claim(stdin, stdout, _ *os.File) (io.Reader, io.Writer, error) {
	return stdin, stdout, nil
}
