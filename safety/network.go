package safety

import (
	"path"
	"strings"
)

// networkHandlers are the programs that fetch and send.
func networkHandlers() map[string]handler {
	out := map[string]handler{
		"curl": curlCommand, "wget": wgetCommand, "aria2c": downloadCommand, "axel": downloadCommand, "fetch": downloadCommand,
		"http": httpCommand, "lynx": fetchCommand, "w3m": fetchCommand, "links": fetchCommand, "elinks": fetchCommand,
		"lwp-request": fetchCommand, "GET": fetchCommand, "lwp-download": downloadCommand, "curlie": curlCommand, "wcurl": downloadCommand,
		"nc": ncCommand, "socat": socatCommand,
		"scp": scpCommand, "rclone": transferCommand,
		"aws": cloudCopyCommand, "gsutil": cloudCopyCommand, "gcloud": cloudCopyCommand, "s3cmd": transferCommand, "mc": transferCommand, "az": cloudCopyCommand,
		"gh": ghCommand, "glab": ghCommand,
	}
	for _, name := range []string{"mutt", "sendmail", "msmtp", "swaks"} {
		out[name] = pipeToNetwork
	}
	for _, name := range []string{"dig", "nslookup", "host", "ping", "ping6", "traceroute", "drill"} {
		out[name] = lookupCommand
	}
	return out
}

// sendsInput reports that a command sends what a shell prints, or credentials,
// from its input or in its arguments.
func (c *call) sendsInput() {
	if in := c.f.stdin; in != nil && isShell(in.program) {
		c.a.report("shell: "+c.name+" |", ViewPipe, c.f)
	}
	secret := c.f.stdin != nil && c.f.stdin.taint&taintSecret != 0
	for _, w := range c.words[1:] {
		secret = secret || w.taint&taintSecret != 0
	}
	if secret {
		c.a.sends(c.name, c.f)
	}
}

// remote is output that came over the network.
func (c *call) remote(source string) output {
	out := output{dyn: true, program: c.name}
	out.mark(taintRemote, source)
	return out
}

// saved records a file that was fetched.
func (c *call) saved(name, source string) {
	c.a.writes(word{text: name}, ViewArgv, c.f, c.sc)
	c.sc.write(name, c.remote(source), false)
}

// urlFile is the file name a downloader derives from a URL.
func urlFile(url string) string {
	url, _, _ = strings.Cut(url, "?")
	return path.Base(url)
}

// curlCommand fetches, and sends what its data options name.
func curlCommand(c *call) output {
	uploads := c.args.values("-d", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode", "-F", "--form",
		"-T", "--upload-file", "--json", "--url-query", "-b", "--cookie")
	files := c.args.values("-T", "--upload-file")
	for _, w := range uploads {
		text := w.text
		if i := strings.LastIndexAny(text, "@<"); i >= 0 {
			text, _, _ = strings.Cut(text[i+1:], ";")
			files = append(files, word{text: text})
		}
		if w.taint&taintSecret != 0 {
			c.a.sends("curl", c.f)
		}
	}
	for _, w := range files {
		if c.a.isSecret(w.text, c.sc) || w.prog != nil && w.prog.taint&taintSecret != 0 {
			c.a.sends("curl", c.f)
		}
	}
	if len(uploads) > 0 && c.f.stdin != nil && c.f.stdin.taint&taintSecret != 0 {
		c.a.sends("curl", c.f)
	}
	for _, w := range c.args.operands {
		if w.taint&taintSecret != 0 {
			c.a.sends("curl", c.f)
		}
	}
	return c.curlOutput()
}

// curlOutput records where curl puts what it fetched.
func (c *call) curlOutput() output {
	names := c.args.values("-o", "--output")
	for _, w := range names {
		if w.text != "-" {
			c.saved(w.text, "curl")
		}
	}
	if c.args.has("-O", "--remote-name", "--remote-name-all") {
		for _, w := range c.args.operands {
			c.saved(urlFile(w.text), "curl")
		}
		return output{dyn: true}
	}
	if len(names) > 0 && names[0].text != "-" {
		return output{dyn: true}
	}
	if len(c.args.operands) > 0 && strings.HasPrefix(c.args.operands[0].text, "file://") {
		return output{dyn: true}
	}
	return c.remote("curl")
}

// wgetCommand fetches into a file unless told otherwise.
func wgetCommand(c *call) output {
	for _, w := range c.args.values("--post-file", "--body-file") {
		if c.a.isSecret(w.text, c.sc) {
			c.a.sends("wget", c.f)
		}
	}
	for _, w := range c.args.values("--use-askpass") {
		c.runScript(w)
	}
	c.sendsInput()
	names := c.args.values("-O", "--output-document")
	for _, w := range names {
		if w.text == "-" || w.text == "/dev/stdout" {
			return c.remote("wget")
		}
		c.saved(w.text, "wget")
	}
	dir := ""
	for _, w := range c.args.values("-P", "--directory-prefix") {
		dir = strings.TrimSuffix(w.text, "/") + "/"
	}
	if len(names) == 0 {
		for _, w := range c.args.operands {
			c.saved(dir+urlFile(w.text), "wget")
		}
	}
	return output{dyn: true}
}

// downloadCommand fetches into a file.
func downloadCommand(c *call) output {
	names := c.args.values("-o", "--out", "--output")
	for _, w := range names {
		if w.text == "-" {
			return c.remote("fetch")
		}
		c.saved(w.text, "fetch")
	}
	if len(names) == 0 {
		for _, w := range c.args.operands {
			c.saved(urlFile(w.text), "fetch")
		}
	}
	return output{dyn: true}
}

// httpCommand is HTTPie and its kin: operands of the form name@file are sent.
func httpCommand(c *call) output {
	for _, w := range c.args.operands {
		if i := strings.LastIndexByte(w.text, '@'); i >= 0 && c.a.isSecret(w.text[i+1:], c.sc) {
			c.a.sends("http", c.f)
		}
	}
	c.sendsInput()
	for _, w := range c.args.values("-o", "--output") {
		c.saved(w.text, "fetch")
		return output{dyn: true}
	}
	return c.remote("fetch")
}

// fetchCommand prints what it fetched.
func fetchCommand(c *call) output { return c.remote("fetch") }

// ncCommand is a raw connection: it prints what the peer sends, and with -e
// hands the peer a program.
func ncCommand(c *call) output {
	for _, w := range c.args.values("-e", "-c", "--exec", "--sh-exec", "--lua-exec") {
		c.a.report("shell: nc -e", ViewArgv, c.f)
		c.a.script(w.text, c.f.inner(), c.sc.fork())
	}
	c.sendsInput()
	if c.args.has("-z") {
		return output{dyn: true}
	}
	return c.remote("nc")
}

// isShell recognises names of interactive interpreters.
func isShell(name string) bool {
	switch name {
	case "sh", "bash", "zsh", "dash", "ksh", "ash", "fish":
		return true
	}
	return false
}

// socatCommand connects two addresses; EXEC and SYSTEM addresses are programs.
func socatCommand(c *call) output {
	c.sendsInput()
	network, program := false, ""
	for _, w := range c.args.operands {
		kind, rest, _ := strings.Cut(w.text, ":")
		switch strings.ToLower(kind) {
		case "exec", "system", "shell":
			program, _, _ = strings.Cut(rest, ",")
		case "tcp", "tcp4", "tcp6", "tcp-connect", "tcp-listen", "tcp4-connect", "tcp4-listen", "tcp-l", "udp", "udp-connect", "udp-listen", "openssl", "openssl-listen", "ssl", "sctp":
			network = true
		}
	}
	if program != "" {
		if network {
			c.a.report("shell: socat exec", ViewArgv, c.f)
		}
		c.a.script(program, c.f.inner(), c.sc.fork())
	}
	return c.remote("nc")
}

// pipeToNetwork sends its input.
func pipeToNetwork(c *call) output {
	c.sendsInput()
	for _, w := range append(c.args.values("-a", "-A"), c.args.operands...) {
		if c.a.isSecret(w.text, c.sc) {
			c.a.sends(c.name, c.f)
		}
	}
	return c.remote("nc")
}

// lookupCommand sends names to servers; a name computed from a secret sends it.
func lookupCommand(c *call) output {
	c.sendsInput()
	return c.remote("fetch")
}

// scpCommand copies files over ssh.
func scpCommand(c *call) output {
	c.connection()
	return transferCommand(c)
}

// transferCommand copies files; a secret copied to a remote name is sent.
func transferCommand(c *call) output {
	ops := c.args.operands
	if len(ops) >= 2 && isRemoteName(ops[len(ops)-1].text) {
		for _, w := range ops[:len(ops)-1] {
			if c.a.isSecret(w.text, c.sc) {
				c.a.sends(c.name, c.f)
			}
		}
	}
	if c.f.stdin != nil {
		c.sendsInput()
	}
	if len(ops) >= 2 && isRemoteName(ops[0].text) {
		name := ops[len(ops)-1].text
		if name == "." || strings.HasSuffix(name, "/") { // into a directory
			name = path.Join(name, path.Base(ops[0].text[strings.IndexByte(ops[0].text, ':')+1:]))
		}
		c.saved(name, "fetch")
	}
	return output{dyn: true}
}

// cloudCopyCommand handles the copy commands of cloud tools; "-" prints.
func cloudCopyCommand(c *call) output {
	ops := c.args.operands
	if c.name == "aws" && c.args.sub() == "ssm" {
		for _, w := range c.args.values("--parameters") {
			if _, line, ok := strings.Cut(w.text, "commands="); ok && !strings.ContainsAny(line, `"'`) {
				c.runScript(word{text: strings.Trim(line, "[]")})
			}
			for _, t := range lexCode(w.text) {
				if t.kind == tokenString {
					c.runScript(word{text: t.text})
				}
			}
		}
	}
	if c.args.sub() != "s3" && c.args.sub() != "storage" && c.name != "gsutil" {
		return passOn(c)
	}
	if n := len(ops); n >= 1 && (ops[n-1].text == "-" || c.args.command() == "gsutil cat" || c.args.command() == "gcloud storage cat") {
		return c.remote("fetch")
	}
	return transferCommand(c)
}

// ghCommand: some subcommands print what others wrote, some publish files.
func ghCommand(c *call) output {
	switch c.args.command() {
	case "gh api", "gh gist view", "gh release download", "glab api":
		return c.remote("fetch")
	case "gh gist create", "glab snippet create":
		for _, w := range c.args.operands {
			if c.a.isSecret(w.text, c.sc) {
				c.a.sends("gh", c.f)
			}
		}
		c.sendsInput()
	}
	if len(c.args.rest) > 0 { // of gh codespace ssh
		return c.a.script(joinWords(c.args.rest), c.f.inner().wrap(c.name), newScope())
	}
	if subs := c.args.subs; len(subs) > 0 && subs[0] == "api" {
		return c.remote("fetch")
	}
	return output{dyn: true, program: c.name}
}

// opensslCommand decodes, encrypts and connects.
func opensslCommand(c *call) output {
	sub := ""
	if len(c.words) > 1 {
		sub = c.words[1].text
	}
	decodes, base64 := false, sub == "base64"
	for _, w := range c.words[1:] {
		decodes = decodes || w.text == "-d"
		base64 = base64 || w.text == "-base64" || w.text == "-a"
	}
	switch {
	case sub == "s_client":
		c.sendsInput()
		return c.remote("nc")
	case decodes && base64:
		c.args.opts = append(c.args.opts, option{name: "-d"})
		return base64Output(c)
	case decodes:
		return c.decoded(func(string) ([]byte, error) { return nil, nil })
	}
	return encodedOutput(c)
}
