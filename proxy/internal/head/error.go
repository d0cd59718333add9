package head

// Error is a head that is refused: the status to answer and a stable word for
// logs. The word never repeats a byte of the request.
type Error struct {
	Status int
	Detail string
}

func (e *Error) Error() string { return "request head: " + e.Detail }

// The refusals. Their texts are log vocabulary.
var (
	ErrTooLarge      = &Error{431, "head_too_large"}
	ErrVersion       = &Error{505, "http_version"}
	ErrControl       = &Error{400, "control_character"}
	ErrLineEnd       = &Error{400, "line_end"}
	ErrTruncated     = &Error{400, "truncated_head"}
	ErrRequestLine   = &Error{400, "request_line"}
	ErrMethod        = &Error{400, "method"}
	ErrTarget        = &Error{400, "target"}
	ErrField         = &Error{400, "field_line"}
	ErrHost          = &Error{400, "host_fields"}
	ErrContentLength = &Error{400, "content_length"}
	ErrFraming       = &Error{400, "framing"}
	ErrAuthority     = &Error{400, "authority"}
	ErrUserinfo      = &Error{400, "userinfo"}
)
