package head

// MaxBytes is the longest head accepted, the final CRLF CRLF included.
const MaxBytes = 16384

// Scanner finds the end of a head in bytes that arrive piecemeal. The zero
// value is ready. It must not be copied between calls.
type Scanner struct {
	pos    int  // bytes looked at
	line   int  // index of the first byte of the current line
	cr     bool // the last byte was a CR
	fields bool // the request line is behind us
}

// Scan looks at buf, which holds everything read so far, from where the last
// call stopped. It returns the length of the head once that is complete, 0
// while more is needed, and an [*Error] as soon as no continuation could be
// accepted.
func (s *Scanner) Scan(buf []byte) (int, error) {
	for ; s.pos < len(buf); s.pos++ {
		if s.pos == MaxBytes {
			return 0, ErrTooLarge
		}
		c := buf[s.pos]
		if s.cr {
			if c != '\n' {
				return 0, ErrLineEnd
			}
			if s.pos-s.line == 1 && s.fields {
				s.pos++
				return s.pos, nil
			}
			s.cr, s.fields, s.line = false, true, s.pos+1
			continue
		}
		switch {
		case c == '\r':
			s.cr = true
		case c == '\n':
			return 0, ErrLineEnd
		case c < 0x20 && (c != '\t' || !s.fields) || c == 0x7f:
			return 0, ErrControl
		}
	}
	return 0, nil
}
