package protocol

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/steerable-go/sidecar/schemas"
)

// ID is a request id as its bytes came: a JSON number, string or null. The nil
// ID belongs to a notification.
type ID []byte

// nullID answers a frame whose id could not be learned.
func nullID() ID { return ID("null") }

// ourPrefix begins the ids of our own requests, quotes included.
const ourPrefix = `"srv_`

// frame is one inbound line, split but not decoded. Its slices point into the
// line.
type frame struct {
	id, method, params, result, fault []byte
	version                           []byte
	hasMethod, hasResult, hasFault    bool
}

// isResponse reports whether the frame answers one of our requests.
func (f *frame) isResponse() bool {
	return f.id != nil && !f.hasMethod && (f.hasResult || f.hasFault)
}

// split checks that line is one strict JSON object and finds its members.
func (f *frame) split(line []byte) error {
	return schemas.Scan(line, func(key, value []byte) bool {
		switch string(key) {
		case "id":
			f.id = value
		case "method":
			f.method, f.hasMethod = value, true
		case "params":
			f.params = value
		case "result":
			f.result, f.hasResult = value, true
		case "error":
			f.fault, f.hasFault = value, true
		case "jsonrpc":
			f.version = value
		}
		return true
	})
}

// validID reports whether raw may be echoed as an id.
func validID(raw []byte) bool {
	if len(raw) == 0 {
		return false
	}
	switch raw[0] {
	case '{', '[', 't', 'f':
		return false
	}
	return true
}

// lineFault is the answer to a line that is not a frame.
type lineFault struct {
	id  ID
	err *Error
}

// faultOf decides how a line is answered that could not be split: by what it
// is (a batch, a scalar), by what is wrong with it, and with its id if the
// line was JSON and had one.
func faultOf(line []byte, err error) lineFault {
	syntax, ok := errors.AsType[*schemas.SyntaxError](err)
	if !ok {
		return lineFault{nullID(), invalidRequest(err.Error())}
	}
	switch syntax.Reason {
	case schemas.ReasonDepth:
		return lineFault{recoverID(line), invalidRequest(syntax.Error())}
	case schemas.ReasonDuplicate:
		id, name := recoverID(line), nameBefore(line, syntax.Offset)
		if name == `"id"` {
			id = nullID() // which of the two is meant, nobody can tell
		}
		return lineFault{id, invalidRequest(syntax.Error() + ": " + name)}
	case schemas.ReasonSyntax, schemas.ReasonUTF8:
	}
	return lineFault{nullID(), parseError(syntax.Error())}
}

// nameBefore returns the member name that stands before offset, for a message.
func nameBefore(line []byte, offset int) string {
	offset = len(bytes.TrimRight(line[:min(offset, len(line))], " \t\r:"))
	if offset < 2 || line[offset-1] != '"' {
		return ""
	}
	start := bytes.LastIndexByte(line[:offset-1], '"')
	if start < 0 || offset-start > 66 {
		return ""
	}
	return string(AppendString(nil, unquote(line[start:offset])))
}

// notObject answers a line whose first byte does not open an object.
func notObject(line []byte) lineFault {
	if err := schemas.Valid(line); err != nil {
		return faultOf(line, err)
	}
	if line[0] == '[' {
		return lineFault{nullID(), invalidRequest("batches are not supported: send one object a line")}
	}
	return lineFault{nullID(), invalidRequest("a frame must be a JSON object")}
}

// recoverID finds the id in the head of a line that was refused as a whole, so
// that the host need not wait for its timeout. It looks only at members before
// the first nested value.
func recoverID(line []byte) ID {
	id := nullID()
	for rest := line; ; {
		i := bytes.Index(rest, []byte(`"id"`))
		if i < 0 || bytes.ContainsAny(rest[:i], "[") || bytes.Count(line[:len(line)-len(rest)+i], []byte("{")) > 1 {
			return id
		}
		rest = bytes.TrimLeft(rest[i+4:], " \t")
		if len(rest) == 0 || rest[0] != ':' {
			continue
		}
		value := scalar(bytes.TrimLeft(rest[1:], " \t"))
		if value == nil || string(id) != "null" {
			return nullID()
		}
		id = value
	}
}

// scalar cuts the number or string that text begins with.
func scalar(text []byte) []byte {
	if len(text) > 0 && text[0] == '"' {
		end := bytes.IndexByte(text[1:], '"')
		if end < 0 || bytes.IndexByte(text[1:1+end], '\\') >= 0 {
			return nil
		}
		return text[:end+2]
	}
	end := bytes.IndexAny(text, ",} \t")
	if end <= 0 || schemas.Valid(text[:end]) != nil || !validID(text[:end]) {
		return nil
	}
	return text[:end]
}

// serial returns the number of our own request that raw is the id of.
func serial(raw []byte) (uint64, bool) {
	digits, ok := bytes.CutPrefix(raw, []byte(ourPrefix))
	if !ok || len(digits) < 2 || digits[0] == '0' || digits[len(digits)-1] != '"' {
		return 0, false
	}
	var n uint64
	for _, c := range digits[:len(digits)-1] {
		if c < '0' || c > '9' || n > 1<<56 {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

func appendSerial(dst []byte, n uint64) []byte {
	return append(strconv.AppendUint(append(dst, ourPrefix...), n, 10), '"')
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }
