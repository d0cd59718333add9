package auditlog

// CheckExposure returns [ErrExposed] when a log in dir lies in one of roots, or
// one of them in the log. Both are compared with symbolic links resolved. A
// server that learns of writable roots with each request asks before it lets
// the request begin.
func CheckExposure(dir string, roots []string) error { return checkExposure(dir, roots) }
