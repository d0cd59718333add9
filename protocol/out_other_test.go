//go:build !unix

package protocol

import (
	"io"
	"os"
	"testing"
)

// testWriter returns the writer that Claim would make of a pipe.
func testWriter(_ *testing.T, f *os.File) io.Writer { return f }
