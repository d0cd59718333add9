//go:build !linux

package auditlog

import "os"

// datasync flushes everything; on Darwin os.File.Sync also empties the cache
// of the disk.
func datasync(f *os.File) error { return f.Sync() }
