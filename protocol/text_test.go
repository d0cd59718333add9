package protocol

import (
	"testing"
	"unicode/utf8"
)

func TestTruncate(t *testing.T) {
	for _, tt := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcdef", 5, "ab…"},
		{"aé€𝄞", 9, "aé€…"}, // 10 bytes: the note does not fit beside the ellipsis
		{"a€€€", 9, "a€…"},  // the cut falls into the second sign
		{"abcdef", 3, "…"},  // room for the ellipsis only
		{"\xff\xff\xff\xff\xff", 4, "\xff…"},
	} {
		got := Truncate(tt.in, tt.limit)
		if got != tt.want || len(got) > max(tt.limit, len("…")) {
			t.Errorf("Truncate(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
		}
		if utf8.ValidString(tt.in) && !utf8.ValidString(got) {
			t.Errorf("Truncate(%q, %d) is not UTF-8: %q", tt.in, tt.limit, got)
		}
	}
}

func TestMarshalKeepsCommandsReadable(t *testing.T) {
	got, err := Marshal(map[string]string{"command": "a && b <c >d"})
	if want := `{"command":"a && b <c >d"}`; err != nil || string(got) != want {
		t.Errorf("Marshal: %s, %v; want %s", got, err, want)
	}
	if _, err := Marshal(func() {}); err == nil {
		t.Error("a function was encoded")
	}
}
