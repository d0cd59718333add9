package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/steerable-go/sidecar/schemas"
)

// Decode reads a JSON value into a struct by exact member names. encoding/json
// alone also takes "Mode" for "mode", which a schema does not look at: a member
// that nobody checked could then override one that was.
func Decode(raw []byte, into any) error {
	t := reflect.TypeOf(into)
	if t == nil || t.Kind() != reflect.Pointer {
		return fmt.Errorf("bug: decode into %T", into)
	}
	exact, err := keepExact(raw, t.Elem())
	if err != nil {
		return err
	}
	return json.Unmarshal(exact, into)
}

// keepExact leaves out the members of objects that no field is named for
// exactly. What it does not change it returns as it is.
func keepExact(raw []byte, t reflect.Type) ([]byte, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	raw = bytes.TrimSpace(raw)
	switch {
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return wholeNumber(raw), nil
	case len(raw) == 0 || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return raw, nil
	case t.Kind() == reflect.Struct && raw[0] == '{':
		return exactObject(raw, t)
	case t.Kind() == reflect.Slice && raw[0] == '[' && holdsStructs(t.Elem()):
		return exactArray(raw, t.Elem())
	}
	return raw, nil
}

// wholeNumber spells a whole number such as 2.0 or 1e3, which JSON Schema takes
// for an integer, the way encoding/json reads integers. Others stay as they are.
func wholeNumber(raw []byte) []byte {
	if !bytes.ContainsAny(raw, ".eE") || raw[0] == '"' {
		return raw
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	const exact = 1 << 53
	if err != nil || f != math.Trunc(f) || math.Abs(f) > exact {
		return raw
	}
	return strconv.AppendInt(nil, int64(f), 10)
}

func holdsStructs(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

func exactObject(raw []byte, t reflect.Type) ([]byte, error) {
	out := append(make([]byte, 0, len(raw)), '{')
	var inner error
	err := schemas.Scan(raw, func(key, value []byte) bool {
		field, ok := fieldOf(t, key)
		if !ok {
			return true
		}
		if value, inner = keepExact(value, field); inner != nil {
			return false
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(AppendString(out, string(key)), ':')
		out = append(out, value...)
		return true
	})
	if err != nil {
		return nil, err
	}
	return append(out, '}'), inner
}

func exactArray(raw []byte, t reflect.Type) ([]byte, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(raw)), '[')
	for i, item := range items {
		exact, err := keepExact(item, t)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, exact...)
	}
	return append(out, ']'), nil
}

// fieldOf finds the field whose JSON name is key, also in embedded structs.
func fieldOf(t reflect.Type, key []byte) (reflect.Type, bool) {
	for f := range t.Fields() {
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			if found, ok := fieldOf(f.Type, key); ok {
				return found, true
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if name == string(key) {
			return f.Type, true
		}
	}
	return nil, false
}
