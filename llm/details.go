package llm

import "encoding/json"

// details gathers OpenRouter's reasoning_details. An entry may come in pieces of
// the same type and index; the server wants the whole entries back.
type details struct {
	list []*detail
}

// detail is one entry. Its text and summary arrive in pieces, the other members
// whole.
type detail struct {
	members       map[string]json.RawMessage
	text, summary literals
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
	if len(s.list) == 0 || !s.list[len(s.list)-1].continuedBy(piece) {
		s.list = append(s.list, &detail{members: map[string]json.RawMessage{}})
	}
	d := s.list[len(s.list)-1]
	for key, raw := range piece {
		switch {
		case key == "text" && isText(raw):
			d.text.add(raw)
		case key == "summary" && isText(raw):
			d.summary.add(raw)
		case d.members[key] == nil || !isNull(raw) && string(raw) != `""`:
			d.members[key] = raw
		}
	}
}

// continuedBy says whether a piece goes on with this entry. Encrypted entries
// come whole.
func (d *detail) continuedBy(piece map[string]json.RawMessage) bool {
	for _, key := range []string{"type", "index", "id"} {
		a, b := d.members[key], piece[key]
		if !isNull(a) && !isNull(b) && string(a) != string(b) {
			return false
		}
	}
	return piece["data"] == nil && d.members["data"] == nil
}

// encode returns the entries in the form of Message.Opaque, nil if there are
// none.
func (s *details) encode() json.RawMessage {
	if len(s.list) == 0 {
		return nil
	}
	list := make([]map[string]json.RawMessage, len(s.list))
	for i, d := range s.list {
		for name, pieces := range map[string]*literals{"text": &d.text, "summary": &d.summary} {
			pieces.flush()
			if whole := pieces.literal(); whole != nil {
				d.members[name] = whole
			}
		}
		list[i] = d.members
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return nil
	}
	return append(append([]byte(`{"`+opaqueDetails+`":`), raw...), '}')
}
