package llm

import "encoding/json"

// details gathers OpenRouter's reasoning_details. Pieces of one entry carry the
// same type and index; the server wants the whole entries back.
type details struct {
	list []map[string]json.RawMessage
}

// add takes the list of one chunk.
func (s *details) add(raw []byte) {
	if !hasText(raw) || raw[0] != '[' {
		return
	}
	var list []map[string]json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, piece := range list {
		s.merge(piece)
	}
}

// merge adds a piece to the entry it continues.
func (s *details) merge(piece map[string]json.RawMessage) {
	if len(s.list) == 0 || !continuesEntry(s.list[len(s.list)-1], piece) {
		s.list = append(s.list, piece)
		return
	}
	last := s.list[len(s.list)-1]
	for key, raw := range piece {
		if (key == "text" || key == "summary") && isText(raw) && isText(last[key]) {
			raw = Quote(unquote(last[key]) + unquote(raw))
		}
		if last[key] == nil || !isNull(raw) && string(raw) != `""` {
			last[key] = raw
		}
	}
}

// continuesEntry says whether a piece goes on with an entry. Encrypted entries
// come whole.
func continuesEntry(last, piece map[string]json.RawMessage) bool {
	for _, key := range []string{"type", "index", "id"} {
		if !sameMember(last, piece, key) {
			return false
		}
	}
	return last != nil && piece != nil && piece["data"] == nil && last["data"] == nil
}

// sameMember says whether two objects do not differ in a member.
func sameMember(a, b map[string]json.RawMessage, key string) bool {
	return isNull(a[key]) || isNull(b[key]) || string(a[key]) == string(b[key])
}

// encode returns the entries in the form of Message.Opaque, nil if there are
// none.
func (s *details) encode() json.RawMessage {
	if len(s.list) == 0 {
		return nil
	}
	list, err := json.Marshal(s.list)
	if err != nil {
		return nil
	}
	return append(append([]byte(`{"`+opaqueDetails+`":`), list...), '}')
}
