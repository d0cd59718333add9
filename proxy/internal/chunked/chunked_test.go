package chunked

import (
	"bytes"
	"errors"
	"io"
	"net/http/httputil"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReader(t *testing.T) {
	for name, tc := range map[string]struct {
		in, want string
		err      error
	}{
		"two chunks":     {"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nbehind", "hello world", nil},
		"upper-case hex": {"A\r\n0123456789\r\n0\r\n\r\n", "0123456789", nil},
		"leading zeros":  {"0005\r\nhello\r\n000\r\n\r\n", "hello", nil},
		"empty":          {"0\r\n\r\n", "", nil},
		"extension":      {"5;a=b\r\nhello\r\n0\r\n\r\n", "", ErrMalformed},
		"trailer":        {"5\r\nhello\r\n0\r\nX: y\r\n\r\n", "hello", ErrMalformed},
		"bare LF":        {"5\nhello\r\n0\r\n\r\n", "", ErrMalformed},
		"no size":        {"\r\nhello", "", ErrMalformed},
		"sign":           {"+5\r\nhello\r\n", "", ErrMalformed},
		"0x":             {"0x5\r\nhello\r\n", "", ErrMalformed},
		"blank":          {" 5\r\nhello\r\n", "", ErrMalformed},
		"too many bytes": {"3\r\nhello\r\n0\r\n\r\n", "hel", ErrMalformed},
		"huge size":      {"8000000000000000\r\n", "", ErrMalformed},
		"cut in size":    {"5", "", io.ErrUnexpectedEOF},
		"cut in data":    {"5\r\nhe", "he", io.ErrUnexpectedEOF},
		"cut in end":     {"5\r\nhello\r\n0\r\n", "hello", io.ErrUnexpectedEOF},
		"nothing":        {"", "", io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tc.in), iotest.OneByteReader(strings.NewReader(tc.in)), iotest.DataErrReader(strings.NewReader(tc.in))} {
				got, err := io.ReadAll(NewReader(r))
				if string(got) != tc.want || !errors.Is(err, tc.err) && (err != nil || tc.err != nil) {
					t.Errorf("%q, %v; want %q, %v", got, err, tc.want, tc.err)
				}
			}
		})
	}
}

// FuzzReader accepts a subset of what net/http accepts, with the same bytes.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"5\r\nhello\r\n0\r\n\r\n", "5;x\r\nhello\r\n0\r\n\r\n", "0\r\nA: b\r\n\r\n", "1\n2\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := io.ReadAll(NewReader(bytes.NewReader(in)))
		if err != nil {
			return
		}
		want, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(in)))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q: %q here, %q and %v there", in, got, want, err)
		}
	})
}
