package head

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
)

// scanAll feeds buf in steps of n bytes.
func scanAll(buf []byte, n int) (int, error) {
	var s Scanner
	for end := n; ; end += n {
		got, err := s.Scan(buf[:min(end, len(buf))])
		if err != nil || got > 0 || end >= len(buf) {
			return got, err
		}
	}
}

func TestScan(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want int
		err  error
	}{
		"whole":                  {"A b HTTP/1.1\r\n\r\nrest", 16, nil},
		"with fields":            {"A b HTTP/1.1\r\nX: y\r\n\r\n", 22, nil},
		"unfinished":             {"A b HTTP/1.1\r\nX: y\r\n", 0, nil},
		"nothing":                {"", 0, nil},
		"lone LF":                {"A b\n", 0, ErrLineEnd},
		"lone CR":                {"A\rb", 0, ErrLineEnd},
		"CR CR":                  {"A\r\r\n", 0, ErrLineEnd},
		"NUL":                    {"A\x00", 0, ErrControl},
		"DEL":                    {"A\x7f", 0, ErrControl},
		"tab in the first line":  {"A\tb", 0, ErrControl},
		"tab in a field":         {"A b\r\nX:\ty\r\n\r\n", 13, nil},
		"empty first line":       {"\r\n\r\n", 4, nil},
		"at the limit":           {strings.Repeat("a", MaxBytes-4) + "\r\n\r\n", MaxBytes, nil},
		"a byte over":            {strings.Repeat("a", MaxBytes-3) + "\r\n\r\n", 0, ErrTooLarge},
		"no end":                 {strings.Repeat("a", MaxBytes+1), 0, ErrTooLarge},
		"not over yet":           {strings.Repeat("a", MaxBytes), 0, nil},
		"high bytes are for all": {"A b\r\nX: \xff\r\n\r\n", 13, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, step := range []int{1, 3, len(tc.in) + 1} {
				got, err := scanAll([]byte(tc.in), step)
				if got != tc.want || !errors.Is(err, tc.err) && (err != nil || tc.err != nil) {
					t.Errorf("in steps of %d: %d, %v; want %d, %v", step, got, err, tc.want, tc.err)
				}
			}
		})
	}
}

func TestParse(t *testing.T) {
	h, err := Parse([]byte("pOsT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\nX-A:  b \r\nConnection: Keep-Alive, X-Drop\r\nx-a: c\r\n\r\n"))
	if err != nil || string(h.Method) != "POST" || string(h.Target) != "/x" || h.Minor != 1 || h.ContentLength != 12 || h.HasTransferEncoding {
		t.Fatalf("got %+v, %v", h, err)
	}
	if v, n := h.Get("x-a"); v != "b" || n != 2 {
		t.Errorf("Get: %q, %d", v, n)
	}
	if !h.HasToken("connection", "keep-alive") || !h.HasToken("connection", "x-drop") || h.HasToken("connection", "close") || h.HasToken("host", "x") {
		t.Error("HasToken")
	}
	count := 0
	for range h.Fields {
		count++
		break
	}
	if count != 1 {
		t.Error("Fields goes on after a break")
	}
	for name, tc := range map[string]struct {
		lines string
		err   error
	}{
		"truncated":            {"GET / HTTP/1.1\r\n", ErrTruncated},
		"no line end":          {"GET / HTTP/1.1", ErrTruncated},
		"long method":          {strings.Repeat("A", 33) + " / HTTP/1.1\r\n\r\n", ErrMethod},
		"empty method":         {" / HTTP/1.1\r\n\r\n", ErrMethod},
		"blank method":         {"  /x HTTP/1.1\r\n\r\n", ErrRequestLine},
		"version 3":            {"GET / HTTP/3.0\r\n\r\n", ErrVersion},
		"no version":           {"GET / FTP/1.1\r\n\r\n", ErrRequestLine},
		"space in name":        {"GET / HTTP/1.1\r\nA b: c\r\n\r\n", ErrField},
		"no name":              {"GET / HTTP/1.1\r\n: c\r\n\r\n", ErrField},
		"fold":                 {"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", ErrField},
		"control in value":     {"GET / HTTP/1.1\r\nA: b\x01\r\n\r\n", ErrField},
		"high byte in target":  {"GET /\xff HTTP/1.1\r\n\r\n", ErrTarget},
		"two hosts":            {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", ErrHost},
		"two lengths":          {"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", ErrContentLength},
		"list of lengths":      {"GET / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", ErrContentLength},
		"hex length":           {"GET / HTTP/1.1\r\nContent-Length: 0x1\r\n\r\n", ErrContentLength},
		"length of 19 digits":  {"GET / HTTP/1.1\r\nContent-Length: 1000000000000000000\r\n\r\n", ErrContentLength},
		"length and coding":    {"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", ErrFraming},
		"coding, blank, colon": {"GET / HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n", ErrField},
	} {
		if _, err := Parse([]byte(tc.lines)); !errors.Is(err, tc.err) {
			t.Errorf("%s: %v, want %v", name, err, tc.err)
		}
	}
	if ErrField.Error() != "request head: field_line" {
		t.Error(ErrField)
	}
}

func TestTransferCodings(t *testing.T) {
	for line, want := range map[string]bool{
		"HTTP/1.1\r\nTransfer-Encoding: chunked": true, "HTTP/1.1\r\ntransfer-encoding: CHUNKED": true,
		"HTTP/1.1\r\nTransfer-Encoding: gzip, chunked": false, "HTTP/1.1\r\nTransfer-Encoding: xchunked": false,
		"HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked": false, "HTTP/1.0\r\nTransfer-Encoding: chunked": false,
		"HTTP/1.1\r\nTransfer-Encoding:": false,
	} {
		h, err := Parse([]byte("POST / " + line + "\r\n\r\n"))
		if err != nil || !h.HasTransferEncoding || h.Chunked != want || !errors.Is(h.CheckConnect(), ErrFraming) {
			t.Errorf("%q: %+v, %v", line, h, err)
		}
	}
}

func TestParseURI(t *testing.T) {
	for in, want := range map[string]struct {
		host string
		port uint16
		path string
	}{
		"http://h/a?b=c":          {"h", 0, "/a?b=c"},
		"HTTP://H.Example.:80":    {"h.example", 80, "/"},
		"http://h?x":              {"h", 0, "/?x"},
		"http://[::1]:8080/":      {"[::1]", 8080, "/"},
		"http://[::ffff:1.2.3.4]": {"1.2.3.4", 0, "/"},
		"http://h//evil/x":        {"h", 0, "//evil/x"},
		"http://h/%41%7E":         {"h", 0, "/%41%7E"},
		"http://h/a?%zz":          {"h", 0, "/a?%zz"},
	} {
		u, err := ParseURI([]byte(in))
		if err != nil || u.Scheme != "http" || u.Host.String() != want.host || u.Port != want.port || u.Path != want.path {
			t.Errorf("%q: %+v %s, %v; want %+v", in, u, u.Host, err, want)
		}
	}
	for in, want := range map[string]error{
		"/origin": ErrAuthority, "*": ErrAuthority, "h:443": ErrAuthority, "://h/": ErrAuthority, "1http://h/": ErrAuthority, "ht tp://h": ErrAuthority,
		"http://": ErrAuthority, "http:///x": ErrAuthority, "http://h:/": ErrAuthority, "http://h:0/": ErrAuthority, "http://h:x/": ErrAuthority, "http://127.1/": ErrAuthority, "http://a b/": ErrAuthority,
		"http://u@h/": ErrUserinfo, "http://u:p@h:80/": ErrUserinfo, "http://h/a#f": ErrTarget, "http://h#f": ErrTarget,
		"http://h/%zz": ErrTarget, "http://h/%4": ErrTarget, "http://h/%": ErrTarget,
	} {
		if u, err := ParseURI([]byte(in)); !errors.Is(err, want) {
			t.Errorf("%q: %+v, %v; want %v", in, u, err, want)
		}
	}
}

// FuzzHead checks the scanner and parser against net/http: whatever is
// accepted here, net/http accepts as well and reads the same.
func FuzzHead(f *testing.F) {
	for _, s := range []string{
		"CONNECT h:443 HTTP/1.1\r\n\r\n", "connect [::1]:1 HTTP/1.0\r\nHost: x\r\n\r\n", "POST http://h/a?b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
		"GET http://h/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", "GET http://h/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n",
		"GET http://h/\xff HTTP/1.1\r\n\r\n", "CONNECT h:0443 HTTP/1.1\r\nConnection: close\r\n\r\n", "GET http://h:80/%41 HTTP/1.1\r\nX: \xe9\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		end, err := scanAll(in, 7)
		whole, err2 := scanAll(in, len(in)+1)
		if end != whole || !errors.Is(err, err2) && (err != nil || err2 != nil) {
			t.Fatalf("scanning in pieces gives %d, %v; at once %d, %v", end, err, whole, err2)
		}
		if err != nil || end == 0 {
			return
		}
		h, err := Parse(bytes.Clone(in[:end]))
		if err != nil || !accepted(&h) {
			return
		}
		oracle := bytes.Clone(in[:end])
		copy(oracle, h.Method)
		req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(oracle)))
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", oracle, err)
		}
		if req.Method != string(h.Method) || req.ProtoMinor != h.Minor || !h.Chunked && req.ContentLength != max(h.ContentLength, 0) {
			t.Fatalf("%q: net/http reads %s 1.%d length %d, here %s 1.%d length %d", oracle, req.Method, req.ProtoMinor, req.ContentLength, h.Method, h.Minor, h.ContentLength)
		}
	})
}

// accepted reports whether the proxy would go on with h.
func accepted(h *Head) bool {
	if string(h.Method) == "CONNECT" {
		_, _, err := Authority(h.Target)
		return err == nil && h.CheckConnect() == nil
	}
	_, err := ParseURI(h.Target)
	_, trailers := h.Get("trailer")
	return err == nil && (!h.HasTransferEncoding || h.Chunked && trailers == 0)
}

func BenchmarkParse(b *testing.B) {
	in := []byte("CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\nUser-Agent: x\r\nProxy-Connection: keep-alive\r\n\r\n")
	b.ReportAllocs()
	for b.Loop() {
		var s Scanner
		end, err := s.Scan(in)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Parse(in[:end]); err != nil {
			b.Fatal(err)
		}
	}
}
