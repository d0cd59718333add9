package schemas

// fault is what ended a scan. Either reason or keyword is set.
type fault struct {
	offset  int
	reason  Reason
	keyword string
	message string
	path    []string // of the offending value, innermost name first
}

// fail records broken JSON and returns the index that stands for a fault.
func (s *scanner) fail(offset int, reason Reason) int {
	s.fault.offset, s.fault.reason = min(offset, len(s.raw)), reason
	return -1
}
