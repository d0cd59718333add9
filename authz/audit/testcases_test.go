package audit_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// row is one line of testdata/cases.jsonl: vectors of the hash, of chains and
// of files, made by an independent implementation.
type row struct {
	Input struct {
		Op     string
		Record json.RawMessage
		Lines  []json.RawMessage
		Text   string
		Anchor *struct {
			Owner string
			Count uint64
			Head  string
		}
	}
	Want struct {
		Canonical  string
		EventHash  string `json:"event_hash"`
		OK         bool
		Records    *uint64
		At         *uint64
		Code       string
		TailPinned *bool
	}
	Why string
}

func rows(t *testing.T) []row {
	t.Helper()
	data, err := os.ReadFile("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []row
	for line := range bytes.Lines(data) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}
