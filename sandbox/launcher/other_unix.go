//go:build unix && !linux && !darwin

package launcher

// run refuses: no rung of the ladder is for this system.
func (l *launch) run() (int, error) {
	return 0, &wrapperError{what: "no sandbox backend on this platform"}
}
