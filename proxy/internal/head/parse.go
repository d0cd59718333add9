package head

import (
	"bytes"
	"errors"
	"strings"
)

// maxMethod bounds a method token; the longest registered one has 17 letters.
const maxMethod = 32

// Head is a request head taken apart. The slices point into the buffer given
// to [Parse] and are valid as long as it is. The zero Head is empty.
type Head struct {
	Method []byte // upper case
	Target []byte // visible ASCII, not empty
	Minor  int    // HTTP/1.Minor: 0 or 1

	// ContentLength is the one Content-Length field, or -1 without one.
	ContentLength int64
	// HasTransferEncoding tells that a Transfer-Encoding field is there;
	// Chunked that it is the only one, in HTTP/1.1, and says "chunked" alone.
	HasTransferEncoding, Chunked bool

	fields []byte // the field lines, each with its CRLF
}

// Parse takes apart buf, a complete head as measured by [Scanner.Scan]. It
// upper-cases the method in place. Errors are of type [*Error]; with
// [ErrContentLength] and [ErrFraming], which leave open only where a body would
// end, the Head is valid in everything else.
func Parse(buf []byte) (Head, error) {
	h := Head{ContentLength: -1}
	line, rest, ok := bytes.Cut(buf, []byte("\r\n"))
	if !ok || !bytes.HasSuffix(buf, []byte("\r\n\r\n")) {
		return Head{}, ErrTruncated
	}
	h.fields = rest[:len(rest)-2]
	if err := h.requestLine(line); err != nil {
		return Head{}, err
	}
	switch err := h.checkFields(); {
	case errors.Is(err, ErrContentLength), errors.Is(err, ErrFraming):
		return h, err
	case err != nil:
		return Head{}, err
	default:
		return h, nil
	}
}

func (h *Head) requestLine(line []byte) error {
	if bytes.Count(line, []byte(" ")) != 2 {
		return ErrRequestLine
	}
	first, last := bytes.IndexByte(line, ' '), bytes.LastIndexByte(line, ' ')
	method, target, version := line[:first], line[first+1:last], line[last+1:]
	if len(method) == 0 || len(method) > maxMethod || !isToken(method) {
		return ErrMethod
	}
	if len(target) == 0 {
		return ErrRequestLine
	}
	for _, c := range target {
		if c <= 0x20 || c >= 0x7f {
			return ErrTarget
		}
	}
	minor, err := parseVersion(version)
	if err != nil {
		return err
	}
	for i, c := range method {
		if 'a' <= c && c <= 'z' {
			method[i] = c - 'a' + 'A'
		}
	}
	h.Method, h.Target, h.Minor = method, target, minor
	return nil
}

func parseVersion(v []byte) (minor int, err error) {
	digits, ok := bytes.CutPrefix(v, []byte("HTTP/"))
	if !ok || len(digits) != 3 || !isDigit(digits[0]) || digits[1] != '.' || !isDigit(digits[2]) {
		return 0, ErrRequestLine
	}
	if digits[0] != '1' || digits[2] > '1' {
		return 0, ErrVersion
	}
	return int(digits[2] - '0'), nil
}

// checkFields looks at every field once and keeps what decides framing.
func (h *Head) checkFields() error {
	hosts, lengths, codings := 0, 0, 0
	measured := true
	for rest := h.fields; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		name, value, ok := cutField(line)
		if !ok {
			return ErrField
		}
		switch {
		case Is(name, "host"):
			hosts++
		case Is(name, "content-length"):
			lengths++
			if h.ContentLength, ok = parseLength(value); !ok {
				measured = false
			}
		case Is(name, "transfer-encoding"):
			codings++
			h.Chunked = Is(value, "chunked")
		}
	}
	h.HasTransferEncoding = codings > 0
	h.Chunked = h.Chunked && codings == 1 && h.Minor == 1
	switch {
	case hosts > 1:
		return ErrHost
	case lengths > 1, !measured:
		return ErrContentLength
	case codings > 0 && lengths > 0:
		return ErrFraming
	}
	return nil
}

// cutField splits a field line and trims the value.
func cutField(line []byte) (name, value []byte, ok bool) {
	name, value, ok = bytes.Cut(line, []byte(":"))
	if !ok || !isToken(name) {
		return nil, nil, false
	}
	for _, c := range value {
		if c < 0x20 && c != '\t' || c == 0x7f {
			return nil, nil, false
		}
	}
	return name, bytes.Trim(value, " \t"), true
}

// parseLength reads at most 18 digits, which always fit an int64.
func parseLength(v []byte) (n int64, ok bool) {
	if len(v) == 0 || len(v) > 18 {
		return 0, false
	}
	for _, c := range v {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// Fields yields the fields in order, values trimmed.
func (h *Head) Fields(yield func(name, value []byte) bool) {
	for rest := h.fields; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		if name, value, ok := cutField(line); ok && !yield(name, value) {
			return
		}
	}
}

// Get returns the value of the first field called name, which is lower case,
// and how many there are.
func (h *Head) Get(name string) (first string, count int) {
	for n, v := range h.Fields {
		if Is(n, name) {
			if count == 0 {
				first = string(v)
			}
			count++
		}
	}
	return first, count
}

// HasToken reports whether a field called name, which is lower case, lists
// token in any case.
func (h *Head) HasToken(name, token string) bool {
	for n, v := range h.Fields {
		if !Is(n, name) {
			continue
		}
		for item := range strings.SplitSeq(string(v), ",") {
			if strings.EqualFold(strings.Trim(item, " \t"), token) {
				return true
			}
		}
	}
	return false
}

// CheckConnect refuses what a CONNECT may not carry: a body (RFC 9110,
// section 9.3.6, gives it no meaning, and programs disagree on whose bytes
// those are).
func (h *Head) CheckConnect() error {
	if h.HasTransferEncoding || h.ContentLength > 0 {
		return ErrFraming
	}
	return nil
}

// Is compares a name or value with lower, which is lower-case ASCII.
func Is(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isToken(b []byte) bool {
	for _, c := range b {
		if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return len(b) > 0
}
