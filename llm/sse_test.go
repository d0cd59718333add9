package llm

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll returns the events of a stream, one per line of text.
func readAll(src io.Reader, limit int) ([]string, error) {
	r := &eventReader{src: src, max: limit}
	var out []string
	note := func(ev event) {
		out = append(out, fmt.Sprintf("%s|%s|%v", ev.name, ev.data, ev.isError))
	}
	for {
		ev, ok := r.next()
		if ok {
			note(ev)
			continue
		}
		if err := r.fill(); err != nil {
			if !errors.Is(err, io.EOF) {
				return out, err
			}
			if ev, ok := r.last(); ok {
				note(ev)
			}
			return out, nil
		}
	}
}

// plainEvents is the standard's algorithm with all input at hand, and nothing of
// ours but the form of the result.
func plainEvents(stream string) []string {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.ReplaceAll(stream, "\r\n", "\n")
	stream = strings.ReplaceAll(stream, "\r", "\n")
	lines := strings.Split(stream, "\n")
	var out, data []string
	name := ""
	for i, line := range lines {
		if line != "" {
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "data":
				data = append(data, value)
			case "event":
				name = value
			}
			if i < len(lines)-1 {
				continue
			}
		}
		if len(data) > 0 {
			out = append(out, fmt.Sprintf("%s|%s|false", name, strings.Join(data, "\n")))
		}
		data, name = nil, ""
	}
	return out
}

func TestEventReader(t *testing.T) {
	for _, tc := range []struct {
		name, stream string
		want         []string
	}{
		{"LF", "data: a\n\ndata: b\n\n", []string{"|a|false", "|b|false"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"|a|false", "|b|false"}},
		{"CR", "data: a\r\rdata: b\r\r", []string{"|a|false", "|b|false"}},
		{"BOM only at the start", "\ufeffdata: a\n\n\ufeffdata: b\n\n", []string{"|a|false"}},
		{"one space goes", "data:  a\n\ndata:\tb\n\n", []string{"| a|false", "|\tb|false"}},
		{"several data lines", "data: a\ndata:\ndata: b\n\n", []string{"|a\n\nb|false"}},
		{"names", "event: x\ndata: a\n\ndata: b\n\nevent: y\n\ndata: c\n\n", []string{"x|a|false", "|b|false", "|c|false"}},
		{"no final blank line", "data: a\ndata: b", []string{"|a\nb|false"}},
		{"line separators of other worlds", "data: a\u2028b\u0085c\vd\fe\n\n", []string{"|a\u2028b\u0085c\vd\fe|false"}},
		{"error field", "event: x\nerror: boom\ndata: a\n\n", []string{"x|boom|true", "x|a|false"}},
		{"bare object", "{\"a\":1}\ndata: b\n\n", []string{"|{\"a\":1}|false", "|b|false"}},
		{"bare object over lines", "{\n\"a\":{\n}\n\n}\n", []string{"|{\n\"a\":{\n}\n\n}|false"}},
		{"bare object that never ends", "{\"a\":\ndata: b\n\n", []string{"|b|false"}},
		{"brace inside data is data", "data: {\n{x\ndata: }\n\n", []string{"|{\n}|false"}},
		{"comments and unknown fields", ": c\nfoo: bar\ndatax: 1\ndata : 2\nretry: 5\n\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, src := range []io.Reader{
				strings.NewReader(tc.stream),
				iotest.OneByteReader(strings.NewReader(tc.stream)),
				iotest.DataErrReader(strings.NewReader(tc.stream)),
			} {
				got, err := readAll(src, 1<<20)
				if err != nil || strings.Join(got, "\n--\n") != strings.Join(tc.want, "\n--\n") {
					t.Errorf("%q\n got %q %v\nwant %q", tc.stream, got, err, tc.want)
				}
			}
		})
	}
}

// TestEventReaderGrows holds that events of any size come through, up to the
// cap, and that beyond it there is an error and not an event.
func TestEventReaderGrows(t *testing.T) {
	for _, size := range []int{1, 4095, 16 << 10, 64<<10 + 1, 3 << 20} {
		long := strings.Repeat("x", size)
		stream := "data: a\n\ndata: " + long + "\n\ndata: " + long + "\ndata: b\n\ndata: c\n\n"
		for _, src := range []io.Reader{strings.NewReader(stream), iotest.HalfReader(strings.NewReader(stream))} {
			got, err := readAll(src, 8<<20)
			if err != nil || len(got) != 4 || got[1] != "|"+long+"|false" || got[2] != "|"+long+"\nb|false" || got[3] != "|c|false" {
				t.Errorf("size %d: %d events, %v", size, len(got), err)
			}
		}
	}
	for name, stream := range map[string]string{
		"one line":    "data: " + strings.Repeat("x", 2<<20) + "\n\n",
		"many lines":  strings.Repeat("data: xxxxxxxxxxxxxxxxxxxx\n", 1<<17) + "\n",
		"no line end": strings.Repeat("x", 2<<20),
		"bare":        "{\n" + strings.Repeat("xxxxxxxxxxxxxxxxxxxx\n", 1<<17) + "\n",
	} {
		got, err := readAll(strings.NewReader(stream), 1<<20)
		if !errors.Is(err, errEventTooLarge) || len(got) != 0 {
			t.Errorf("%s: %d events, %v", name, len(got), err)
		}
	}
}

// TestEventReaderError holds that a failing source is not the end of the input.
func TestEventReaderError(t *testing.T) {
	boom := errors.New("boom")
	got, err := readAll(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(boom)), 1<<20)
	if !errors.Is(err, boom) || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
	got, err = readAll(readerFunc(func([]byte) (int, error) { return 0, nil }), 1<<20)
	if !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("%q, %v", got, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// FuzzEventReader compares with the standard's algorithm, whatever the cuts.
func FuzzEventReader(f *testing.F) {
	f.Add("data: a\n\n", 1)
	f.Add("\ufeffdata: a\r\ndata\r\r\nevent: x\rdata:b", 2)
	f.Add("event: a\nevent: b\ndata: c\n\r\n", 3)
	f.Fuzz(func(t *testing.T, stream string, size int) {
		if size < 1 || len(stream) > 1<<12 {
			return
		}
		for line := range strings.SplitSeq(strings.ReplaceAll(strings.TrimPrefix(stream, "\ufeff"), "\r", "\n"), "\n") {
			if strings.HasPrefix(line, "{") || strings.HasPrefix(line, "error") {
				return // ours alone
			}
		}
		want := plainEvents(stream)
		got, err := readAll(&splitBody{rest: []byte(stream), next: func() int { return size }, end: io.EOF}, 1<<20)
		if err != nil || strings.Join(got, "\n--\n") != strings.Join(want, "\n--\n") {
			t.Errorf("%q by %d\n got %q %v\nwant %q", stream, size, got, err, want)
		}
	})
}
