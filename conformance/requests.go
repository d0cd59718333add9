package conformance

import "fmt"

// checkRequests compares what the model was sent.
func (s *session) checkRequests() error {
	if s.t.requests == nil {
		return nil
	}
	n := numbered{line: 0, text: "-- requests --"}
	bodies := s.model.received()
	got := make([]any, 0, len(bodies))
	for _, body := range bodies {
		v, err := parseValue([]byte(body))
		if err != nil {
			return s.mismatch(n, "", "the model was sent something that is not JSON: "+err.Error())
		}
		got = append(got, v)
	}
	problems := s.scope.match("requests", s.t.requests, got)
	if len(problems) == 0 {
		return nil
	}
	texts := make([]string, 0, len(problems)+len(bodies))
	for _, p := range problems {
		texts = append(texts, p.String())
	}
	for i, body := range bodies {
		texts = append(texts, fmt.Sprintf("request %d was %s", i, clip(body)))
	}
	return s.mismatch(n, "", texts...)
}
