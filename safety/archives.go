package safety

import (
	"slices"
	"strings"
)

// archiveHandlers unpack into directories that they name.
func archiveHandlers() map[string]handler {
	return map[string]handler{"unzip": unpackCommand, "7z": unpackCommand, "7za": unpackCommand, "unrar": passOn, "install": installCommand}
}

// unpackCommand writes the directory that -d or -o names, glued on or not.
func unpackCommand(c *call) output {
	option := "-d"
	if c.name != "unzip" {
		option = "-o"
	}
	for i, w := range c.words {
		dir, ok := strings.CutPrefix(w.text, option)
		if ok && dir == "" && option == "-d" && i+1 < len(c.words) {
			dir = c.words[i+1].text
		}
		if ok && dir != "" {
			c.a.writes(word{text: dir}, ViewArgv, c.f, c.sc)
		}
	}
	return passOn(c)
}

// installCommand copies a program; with a mode such as 4755 it will run as its
// owner, whoever starts it.
func installCommand(c *call) output {
	for _, mode := range c.args.values("-m", "--mode") {
		special := strings.Contains(mode.text, "s") || len(strings.TrimLeft(mode.text, "0")) > 3
		if special && len(c.args.operands) > 0 {
			target := c.args.operands[len(c.args.operands)-1]
			c.a.emit(c.a.arguments("chmod", []word{{text: "chmod"}, mode, target}), c.f, c.sc)
		}
	}
	return copyCommand(c)
}

// unpacks walks what a tar command unpacks, and what it removes.
func (c *call) unpacks() {
	ops := c.args.operands
	letters := ""
	if len(c.words) > 1 && !strings.HasPrefix(c.words[1].text, "-") { // tar xf: letters without a dash
		letters = c.words[1].text
	}
	if c.args.has("-x", "--extract", "--get") || strings.Contains(letters, "x") {
		dirs := c.args.values("-C", "--directory")
		if strings.Contains(letters, "C") && len(ops) > 0 {
			dirs = append(dirs, ops[len(ops)-1])
		}
		for _, w := range dirs {
			c.a.writes(w, ViewArgv, c.f, c.sc)
		}
	}
	if c.args.has("--remove-files") {
		c.removes(ops)
	}
}

// removes reports that a command deletes what it has packed.
func (c *call) removes(ops []word) {
	if len(ops) > 0 {
		c.a.emit(&arguments{name: "rm", opts: []option{{name: "-r"}, {name: "-f"}}, operands: slices.Clone(ops)}, c.f, c.sc)
	}
}

// editsInPlace reports the files that an interpreter rewrites.
func (c *call) editsInPlace(files []word) {
	for _, w := range files {
		c.a.writes(w, ViewArgv, c.f, c.sc)
	}
}
