package dlp

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/steerable-go/sidecar/authz"
)

func TestCases(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{})
	// "~~" keeps scanners of this repository from taking made-up tokens for real.
	for line := range bytes.Lines(bytes.ReplaceAll(data, []byte("~~"), nil)) {
		var row struct {
			Input struct {
				Op, Band, Payload, Value string
				Args                     json.RawMessage
			}
			Want map[string]any
			Why  string
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		band, err := authz.ParseBand(row.Input.Band)
		if err != nil && row.Input.Op != "mask" {
			t.Fatal(err)
		}
		payload := Text(row.Input.Payload)
		if row.Input.Args != nil {
			if payload, err = JSON(row.Input.Args); err != nil {
				t.Fatal(err)
			}
		}
		got := map[string]any{}
		switch row.Input.Op {
		case "mask":
			got["masked"] = Mask(row.Input.Value)
		case "redact":
			clean := s.Redact(payload, band)
			got["redacted"], got["rescanClean"] = clean.String(), !s.Scan(clean, band).Blocked()
		default:
			report := s.Scan(payload, band)
			categories := []any{}
			for _, c := range report.Categories() {
				categories = append(categories, c)
			}
			got["blocked"], got["categories"] = report.Blocked(), categories
		}
		if diff := cmp.Diff(row.Want, got); diff != "" {
			t.Errorf("%s: %s (-want +got)\n%s", row.Why, line, diff)
		}
	}
}
