package safety

import "strings"

// The classes of Windows paths, beside those that both systems have.
const (
	classDrive   pathClass = "drive"   // the root of a drive
	classWindows pathClass = "winsys"  // a system folder or something in one
	classProfile pathClass = "profile" // a user's folder or a top-level entry of it
	classHive    pathClass = "hive"    // the root of a registry hive or near it
)

// classifyWindows canonicalises an operand as a Windows path and classes it.
func (e *engine) classifyWindows(p, cwd string) (pathClass, string) {
	p = strings.ToLower(strings.ReplaceAll(p, "/", `\`))
	p = strings.TrimPrefix(strings.TrimPrefix(p, `\\?\`), "microsoft.powershell.core\\filesystem::")
	if strings.HasPrefix(p, `\\.\physicaldrive`) || strings.HasPrefix(p, `\\.\`) {
		return classDevice, p
	}
	if class, ok := hiveClass(p); ok {
		return class, p
	}
	// Git Bash and WSL spell drives as directories.
	for _, mount := range []string{`\mnt\`, `\`} {
		if rest, ok := strings.CutPrefix(p, mount); ok && len(rest) > 0 && isDriveLetter(rest[0]) && (len(rest) == 1 || rest[1] == '\\') {
			p = rest[:1] + ":" + rest[1:]
		}
	}
	full := p
	if cwd != "" && !isAbsoluteWindows(p) {
		full = cwd + `\` + p
	}
	full = cleanWindows(full)
	return e.windowsClass(trimWindowsWildcard(full)), full
}

// hiveClass classes registry paths. Two levels below a root lies what one
// program owns; above that lies what the system needs.
func hiveClass(p string) (pathClass, bool) {
	root, rest, _ := strings.Cut(strings.TrimPrefix(p, "registry::"), `\`)
	switch strings.TrimSuffix(root, ":") {
	case "hklm", "hkcu", "hkcr", "hku", "hkcc", "hkey_local_machine", "hkey_current_user", "hkey_classes_root", "hkey_users", "hkey_current_config":
	default:
		return classNone, false
	}
	rest = strings.Trim(strings.TrimRight(rest, "*"), `\`)
	system := root == "hklm" || root == "hklm:" || root == "hkey_local_machine"
	switch parts := strings.Count(rest, `\`); {
	case rest == "" || parts == 0:
		return classHive, true
	case system && (strings.HasPrefix(rest, `system\currentcontrolset`) || rest == `software\microsoft` || strings.HasPrefix(rest, `software\microsoft\windows`)):
		return classHive, true
	}
	return classNone, true
}

// isDriveLetter reports whether c can name a drive.
func isDriveLetter(c byte) bool { return 'a' <= c && c <= 'z' }

// isAbsoluteWindows reports whether p does not depend on the working directory.
func isAbsoluteWindows(p string) bool {
	return p != "" && (p[0] == '\\' || p[0] == '~') || len(p) > 1 && p[1] == ':'
}

// cleanWindows removes repeated separators and resolves dots.
func cleanWindows(p string) string {
	if strings.IndexByte(p, '\\') < 0 { // one component
		if isWindowsRoot([]string{p}) {
			return p + `\`
		}
		return p
	}
	var out []string
	parts := strings.Split(p, `\`)
	for i, part := range parts {
		switch {
		case part == "" && i > 0, part == "." && len(parts) > 1:
		case part == ".." && len(out) > 0 && out[len(out)-1] != "..":
			if !isWindowsRoot(out) {
				out = out[:len(out)-1]
			}
		default:
			out = append(out, part)
		}
	}
	switch {
	case len(out) == 0:
		return "."
	case isWindowsRoot(out):
		return out[0] + `\`
	}
	return strings.Join(out, `\`)
}

// isWindowsRoot reports whether path components are only a drive, or nothing in
// front of a separator.
func isWindowsRoot(parts []string) bool {
	return len(parts) == 1 && (parts[0] == "" || strings.HasSuffix(parts[0], ":"))
}

// trimWindowsWildcard removes trailing components that match everything.
func trimWindowsWildcard(p string) string {
	for {
		i := strings.LastIndexByte(p, '\\')
		last := p[i+1:]
		if last == "" || strings.Trim(last, "*.?") != "" || !strings.Contains(last, "*") {
			return p
		}
		if i < 0 {
			return "*"
		}
		p = p[:i]
		if i == 0 || strings.HasSuffix(p, ":") {
			return p + `\`
		}
	}
}

// windowsClass classes a clean path without trailing wildcards.
func (e *engine) windowsClass(p string) pathClass {
	switch {
	case p == ".":
		return classCwd
	case p == ".." || strings.HasPrefix(p, `..\`):
		return classOut
	case p == ".git" || strings.HasSuffix(p, `\.git`):
		return classGit
	case p[0] == '~':
		return e.profileClass(strings.Split(p, `\`)[1:])
	case p == `\` || len(p) == 3 && p[1:] == `:\`:
		return classDrive
	case len(p) > 3 && p[1] == ':' || p[0] == '\\' && !strings.HasPrefix(p, `\\`):
		return e.driveClass(strings.Split(strings.Trim(p[strings.IndexByte(p, ':')+1:], `\`), `\`))
	case e.isSecretName(p[strings.LastIndexByte(p, '\\')+1:]):
		return classEnv
	}
	return classNone
}

// driveClass classes the components of a path below the root of a drive.
func (e *engine) driveClass(parts []string) pathClass {
	switch top := parts[0]; {
	case (top == "users" || top == "documents and settings") && len(parts) > 1:
		return e.profileClass(parts[2:])
	case top == "temp", top == "tmp", top == "windows" && len(parts) > 1 && parts[1] == "temp":
		return classTmp
	case e.win.system[top]:
		return classWindows
	}
	return classNone
}

// profileClass classes what lies in a user's folder.
func (e *engine) profileClass(rest []string) pathClass {
	rel := strings.Join(rest, "/")
	switch {
	case len(rest) == 0:
		return classProfile
	case strings.HasPrefix(rel, "appdata/local/temp"):
		return classTmp
	case e.entryClass(rel) == classSecret:
		return classSecret
	case len(rest) == 1:
		return classProfile
	}
	return classNone
}
