package protocol

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Appender is a value that writes itself as JSON. Results and params that
// implement it are encoded without reflection.
type Appender interface {
	// AppendJSON appends the value's JSON to dst.
	AppendJSON(dst []byte) []byte
}

// Raw is encoded JSON that is passed on as it is. The nil Raw is null.
type Raw []byte

// AppendJSON implements [Appender].
func (r Raw) AppendJSON(dst []byte) []byte {
	if len(r) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, r...)
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD, and
// U+2028 and U+2029 are escaped: Node's readline cuts lines at them.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b >= 0x20 && b != '"' && b != '\\' && b < utf8.RuneSelf {
			i++
			continue
		}
		if b < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, b)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(append(dst, s[start:i]...), `\ufffd`...)
			i += size
			start = i
			continue
		}
		if r == '\u2028' || r == '\u2029' {
			dst = append(append(dst, s[start:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			i += size
			start = i
			continue
		}
		i += size
	}
	return append(append(dst, s[start:]...), '"')
}

func appendEscape(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xf])
	}
}

// appendValue appends a result or params.
func appendValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case Appender:
		return v.AppendJSON(dst), nil
	case json.RawMessage:
		return Raw(v).AppendJSON(dst), nil
	}
	encoded, err := json.Marshal(v)
	return append(dst, encoded...), err
}

const frameHead = `{"jsonrpc":"2.0"`

func encodeError(id ID, e *Error) []byte {
	dst := append([]byte(frameHead+`,"id":`), id...)
	dst = append(dst, `,"error":{"code":`...)
	dst = appendInt(dst, e.Code)
	dst = AppendString(append(dst, `,"message":`...), Truncate(e.Message, maxMessage))
	if e.Kind != "" {
		dst = AppendString(append(dst, `,"kind":`...), string(e.Kind))
	}
	if len(e.Data) > 0 {
		dst = append(append(dst, `,"data":`...), e.Data...)
	}
	return append(dst, "}}\n"...)
}

// safeLine escapes U+2028 and U+2029 in a frame, which can stand in raw JSON
// that came from a model or a host: Node's readline cuts lines at them. They
// occur in strings only, so an escape means the same.
func safeLine(frame []byte) []byte {
	if !bytes.Contains(frame, []byte("\u2028")) && !bytes.Contains(frame, []byte("\u2029")) {
		return frame
	}
	frame = bytes.ReplaceAll(frame, []byte("\u2028"), []byte(`\u2028`))
	return bytes.ReplaceAll(frame, []byte("\u2029"), []byte(`\u2029`))
}

func appendNotification(dst []byte, method string, params []byte) []byte {
	dst = AppendString(append(dst, frameHead+`,"method":`...), method)
	dst = append(append(dst, `,"params":`...), params...)
	return safeLine(append(dst, '}', '\n'))
}
