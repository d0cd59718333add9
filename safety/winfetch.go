package safety

import (
	"slices"
	"strings"
)

// winFetch is a web request: it prints or saves what it fetched.
func winFetch(c *winCall) (inner []word, out output, done bool) {
	out = output{dyn: true, program: c.name}
	out.mark(taintRemote, "fetch")
	names := c.fetchedFiles()
	for _, name := range names {
		c.save(name, out)
	}
	if strings.HasPrefix(strings.ToLower(c.words[0].text), "curl") {
		c.a.simple(c.portableWords(), c.f, c.sc)
	}
	if len(names) > 0 {
		return nil, output{dyn: true}, true
	}
	return nil, out, true
}

// fetchedFiles lists the files a web request writes.
func (c *winCall) fetchedFiles() []string {
	g := c.a.winArguments("invoke-webrequest", c.words)
	names := texts(g.values("-outfile"))
	byURL := c.hasFlag("-O", "-OJ", "-LO", "--remote-name")
	for i, w := range c.words {
		last := i+1 == len(c.words)
		switch {
		case !last && (w.text == "-o" || w.text == "-O" || w.text == "--output") && !strings.HasPrefix(c.words[i+1].text, "-"):
			names = append(names, c.words[i+1].text)
		case byURL && strings.Contains(w.text, "://"):
			names = append(names, urlFile(w.text))
		}
	}
	return names
}

// hasFlag reports whether one of the exact words was given.
func (c *winCall) hasFlag(flags ...string) bool {
	return slices.ContainsFunc(c.words[1:], func(w word) bool { return slices.Contains(flags, w.text) })
}

// save records a fetched file under the names it can be started by.
func (c *winCall) save(name string, o output) {
	lower := strings.ToLower(name)
	c.sc.write(lower, o, false)
	c.sc.write(strings.TrimLeft(lower, `.\/`), o, false)
	c.sc.write(lower[strings.LastIndexAny(lower, `\/`)+1:], o, false)
}

// winCertutil fetches with -urlcache and decodes with -decode.
func winCertutil(c *winCall) (inner []word, out output, done bool) {
	o := output{dyn: true}
	switch {
	case c.hasSwitch("urlcache") || c.hasSwitch("verifyctl"):
		o.mark(taintRemote, "fetch")
	case c.hasSwitch("decode") || c.hasSwitch("decodehex"):
		o.mark(taintDecoded, "")
	default:
		return nil, output{dyn: true}, true
	}
	if n := len(c.words); n > 2 {
		c.save(c.words[n-1].text, o)
	}
	return nil, output{dyn: true}, true
}

// hasSwitch reports whether a switch was given with a dash or a slash.
func (c *winCall) hasSwitch(name string) bool {
	for _, w := range c.words[1:] {
		if strings.EqualFold(w.text, "-"+name) || strings.EqualFold(w.text, "/"+name) {
			return true
		}
	}
	return false
}

// winDownload saves to its last operand.
func winDownload(c *winCall) (inner []word, out output, done bool) {
	o := output{dyn: true}
	o.mark(taintRemote, "fetch")
	if n := len(c.words); n > 2 {
		c.save(c.words[n-1].text, o)
	}
	return nil, output{dyn: true}, true
}

// winRemoteProgram runs programs and scripts by URL.
func winRemoteProgram(c *winCall) (inner []word, out output, done bool) {
	for _, w := range c.words[1:] {
		lower := strings.ToLower(w.text)
		if strings.Contains(lower, "http://") || strings.Contains(lower, "https://") || strings.HasPrefix(lower, "javascript:") || strings.HasPrefix(lower, "vbscript:") {
			c.a.report("pipe: fetch | "+c.name, ViewPipe, c.f)
		}
		if known, ok := c.sc.read(lower); ok {
			c.a.executes(known, c.name, c.f)
		}
	}
	return nil, output{dyn: true}, true
}
