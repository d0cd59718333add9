//go:build unix

package approvals

import (
	"io/fs"
	"syscall"
)

// sharesInode reports whether a file has a second name, which could be the
// name of a secret outside the workspace.
func sharesInode(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || stat.Nlink > 1
}
