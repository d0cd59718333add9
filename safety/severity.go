package safety

import "fmt"

// Severity is the grade of a command or of a rule. The zero value is not a
// valid grade; a gate must treat it, and any value it does not know, as
// [Critical].
type Severity string

// The grades, with the treatment the protocol asks for.
const (
	// Critical blocks by default; a person may be asked.
	Critical Severity = "critical"
	// Warning runs the command, shows a banner and is logged.
	Warning Severity = "warning"
	// Safe is the absence of a match. No rule has this severity.
	Safe Severity = "safe"
)

// rank orders grades from harmless to dangerous. Unknown grades rank highest,
// so that comparing never lowers one.
func (s Severity) rank() int {
	switch s {
	case Safe:
		return 0
	case Warning:
		return 1
	case Critical:
		return 2
	default:
		return 3
	}
}

// AtLeast reports whether s is as dangerous as other or more so. An unknown
// grade counts as more dangerous than [Critical].
func (s Severity) AtLeast(other Severity) bool { return s.rank() >= other.rank() }

// Platform names the command language a rule or a command belongs to.
type Platform string

// The platforms of CommandSafetyPattern.
const (
	// PlatformAll marks rules that hold everywhere. As the platform of a
	// command it means "unknown": every rule is tried in both languages.
	PlatformAll Platform = "all"
	// PlatformUnix is the POSIX shell language, read as Bash.
	PlatformUnix Platform = "unix"
	// PlatformWindows is cmd.exe and PowerShell.
	PlatformWindows Platform = "windows"
)

// ParsePlatform reads a platform name. The empty string is [PlatformAll], the
// strictest reading; any other unknown name is an error.
func ParsePlatform(s string) (Platform, error) {
	switch p := Platform(s); p {
	case PlatformAll, PlatformUnix, PlatformWindows:
		return p, nil
	case "":
		return PlatformAll, nil
	default:
		return "", fmt.Errorf("platform %q is not one of all, unix, windows", s)
	}
}

// covers reports whether a rule of platform p is evaluated for a command of
// platform other. Unknown platforms are covered: a caller's mistake must not
// switch rules off.
func (p Platform) covers(other Platform) bool {
	switch other {
	case PlatformUnix, PlatformWindows:
		return p == PlatformAll || p == other
	case PlatformAll:
		return true
	default:
		return true
	}
}

// unix and windows report which languages a command of platform p may be
// written in.
func (p Platform) unix() bool    { return p != PlatformWindows }
func (p Platform) windows() bool { return p != PlatformUnix }
