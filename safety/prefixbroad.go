package safety

import (
	"slices"
	"strings"
)

// Broad reports whether an allow for this prefix would allow almost anything,
// with the reason. Such an allow may be applied once but must not be kept.
func (m *Matcher) Broad(prefix []string) (reason string, broad bool) {
	if len(prefix) == 0 || strings.TrimSpace(prefix[0]) == "" {
		return "an empty prefix covers every command", true
	}
	e := m.engine()
	name := e.canonicalName(strings.ToLower(e.win.winName(prefix[0])))
	kind, prefix := broadStart(name, prefix)
	if kind == "" {
		return "", false
	}
	if p := e.program(name); p != nil && p.Wrap {
		inner := texts(e.arguments(name, wordsOf(prefix)).rest)
		for len(inner) > 0 && isAssignment(inner[0]) { // env NAME=value
			inner = inner[1:]
		}
		if len(inner) > 0 {
			return m.Broad(inner)
		}
		return kind, true
	}
	if slices.ContainsFunc(prefix[1:], isBroadLimit) {
		return "", false
	}
	return kind, true
}

// broadStart returns why a program alone is too broad a prefix, and the prefix
// without the words of programs that run others which do not narrow it.
func broadStart(name string, prefix []string) (kind string, rest []string) {
	kind = broadKind(name)
	if runs, _ := runsOthers(name); kind == "" && runs {
		kind = "it runs the command it is given"
		for len(prefix) > 1 && (isAssignment(prefix[1]) || isRunVerb(prefix[1])) {
			prefix = prefix[1:]
		}
	}
	return kind, prefix
}

// isBroadLimit reports whether a word narrows a prefix: it is no option. cmd.exe
// has short ones such as /c.
func isBroadLimit(text string) bool {
	return text != "" && text[0] != '-' && (text[0] != '/' || len(text) > 2)
}

// broadKind says why a program alone is too broad a prefix; empty if it is not.
func broadKind(name string) string {
	switch name {
	case "sh", "bash", "zsh", "dash", "ksh", "ash", "mksh", "fish", "csh", "tcsh", "rbash", "yash", "nu", "elvish", "osh", "busybox",
		"cmd", "powershell", "pwsh", "wsl", "invoke-expression", "eval", "source", ".", "script", "tmux", "screen", "expect":
		return "a shell runs any command"
	case "python", "node", "perl", "ruby", "php", "lua", "Rscript", "rscript", "osascript", "groovy", "julia", "deno", "bun", "ts-node", "tsx", "tclsh", "wish", "elixir", "erl", "scala", "java", "guile", "awk", "sed", "wscript", "cscript", "mshta", "rundll32", "py":
		return "an interpreter runs any program text"
	case "env", "command", "builtin", "exec", "nohup", "time", "timeout", "nice", "ionice", "stdbuf", "setsid", "flock", "chroot", "watch", "xargs", "parallel", "unshare", "nsenter", "systemd-run", "strace", "ltrace", "entr", "hyperfine", "taskset", "start", "start-process", "call", "forfiles", "coproc", "!", "trap", "gdb", "lldb", "valgrind", "perf":
		return "a wrapper runs the command it is given"
	case "sudo", "doas", "su", "pkexec", "run0", "gosu", "su-exec", "runas", "sudoedit", "psexec", "machinectl", "sg":
		return "it runs any command as another user"
	case "ssh", "mosh", "pdsh", "sshpass", "plink", "ansible", "salt", "telnet", "nc", "socat":
		return "it runs any command on another machine"
	case "npx", "uvx", "pipx", "npm", "pnpm", "yarn", "uv", "poetry", "pipenv", "bundle", "conda", "nix", "mise", "direnv", "cargo", "go", "dotnet":
		return "it downloads and runs any package, or any script"
	case "docker", "kubectl", "vagrant", "lxc", "multipass", "adb", "crictl", "ctr", "flatpak", "helm", "terraform", "pulumi", "aws", "gcloud", "az", "gh", "glab", "systemctl", "launchctl":
		return "its subcommands reach everything it manages"
	case "git", "find", "fd", "rsync", "tar", "vim", "emacs", "nano", "ed", "man", "less", "more":
		return "its options run any command"
	}
	return ""
}

// isRunVerb recognises the subcommands that are followed by a command.
func isRunVerb(text string) bool {
	switch text {
	case "exec", "run", "enter", "unshare":
		return true
	}
	return false
}

// Suggest proposes a prefix for an allow that covers commands like cmd: the
// program with its subcommands, up to the first option. There is none for a
// line of more than one command, for one that does not parse, and where only a
// broad prefix would be left.
func (m *Matcher) Suggest(cmd string) (prefix []string, ok bool) {
	words, ok := m.single(cmd)
	if !ok {
		return nil, false
	}
	e := m.engine()
	name := e.canonicalName(words[0].text)
	if m.isPlainWrapper(name) || m.isPlainWrapper(e.win.winName(words[0].text)) || m.runsNext(name, words) {
		return nil, false // what it runs is better approved by itself
	}
	n := 1 + e.subcommands(name, words)
	for n < len(words) && n < 4 {
		if _, broad := m.Broad(texts(words[:n])); !broad {
			break
		}
		if text := words[n].text; strings.HasPrefix(text, "-") && text != "-m" || len(text) == 2 && text[0] == '/' {
			return nil, false
		}
		n++
	}
	prefix = texts(words[:min(n, len(words))])
	if _, broad := m.Broad(prefix); broad {
		return nil, false
	}
	if r := m.Match(prefix, cmd, DecisionAllow); !r.Matches {
		return nil, false
	}
	return prefix, true
}

// runsNext reports whether a program that runs others is given a command, or may
// be: the word after it is no subcommand of another kind.
func (m *Matcher) runsNext(name string, words []word) bool {
	runs, subcommands := runsOthers(name)
	if !runs || !subcommands || len(words) < 2 {
		return runs
	}
	first := words[1].text
	return first == "" || first[0] == '-' || isAssignment(first) || isRunVerb(first) || m.isKnown(first)
}

// subcommands counts the words after the program that name what it does. They
// must follow it directly: a prefix is contiguous.
func (e *engine) subcommands(name string, words []word) int {
	args := e.arguments(name, words)
	n := 0
	for n < len(args.subs) && n+1 < len(words) && words[n+1].text == args.subs[n] {
		n++
	}
	switch args.command() {
	case "npm run", "pnpm run", "yarn run", "bun run", "cargo run", "uv run", "poetry run", "make", "just", "task", "rake", "composer run":
		if n+1 < len(words) && !strings.HasPrefix(words[n+1].text, "-") {
			n++
		}
	}
	return n
}

// single returns the words of a line that is one simple command without
// expansions.
func (m *Matcher) single(cmd string) ([]word, bool) {
	line := strings.TrimSpace(cmd)
	if line == "" || len(line) > MaxLine || nestedTooDeep(line) {
		return nil, false
	}
	if m.platform == PlatformWindows {
		return m.singleWindows(line)
	}
	return m.singleUnix(line)
}
