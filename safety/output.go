package safety

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"path"
	"strconv"
	"strings"
)

// What a few programs print can be computed without running them. It matters
// where the text is executed: `echo cm0… | base64 -d | sh`, `$(printf 'r\155')`.

// printHandlers are the programs whose output is followed.
func printHandlers() map[string]handler {
	return map[string]handler{
		"echo":    echoOutput,
		"printf":  printfOutput,
		"test":    testOutput,
		"[":       testOutput,
		"[[":      testOutput,
		"cat":     catOutput,
		"tac":     catOutput,
		"head":    catOutput,
		"tail":    catOutput,
		"sort":    catOutput,
		"uniq":    catOutput,
		"pv":      catOutput,
		"grep":    filterOutput,
		"sed":     sedCommand,
		"tr":      trOutput,
		"rev":     revOutput,
		"cut":     rewriteOutput,
		"base64":  base64Output,
		"base32":  base32Output,
		"xxd":     xxdOutput,
		"openssl": opensslCommand,
		"gzip":    decompressOutput, "gunzip": decompressOutput, "zcat": decompressOutput,
		"bzip2": decompressOutput, "bunzip2": decompressOutput, "bzcat": decompressOutput,
		"xz": decompressOutput, "unxz": decompressOutput, "xzcat": decompressOutput,
		"zstd": decompressOutput, "unzstd": decompressOutput, "zstdcat": decompressOutput,
		"uudecode": decompressOutput, "uncompress": decompressOutput, "lz4": decompressOutput,
		"ls": listOutput, "dirname": pathOutput, "basename": pathOutput,
		"wc": numberOutput, "sha256sum": numberOutput, "shasum": numberOutput, "md5sum": numberOutput, "sha1sum": numberOutput,
		"printenv": environmentOutput, "which": whichOutput, "type": whichOutput,
		"history": passOn, "fc": passOn,
		"seq": passOn, "yes": echoOutput,
		"true": silentOutput, "false": silentOutput, ":": silentOutput,
	}
}

// markWords adds the marks of the arguments to what a command prints.
func (c *call) markWords(out *output) {
	for _, w := range c.words[1:] {
		out.dyn = out.dyn || w.dyn
		out.mark(w.taint, w.source)
		if w.prog != nil {
			out.mark(w.prog.taint, w.prog.source)
		}
	}
}

// input is the standard input, never nil.
func (c *call) input() output {
	if c.f.stdin == nil {
		return output{dyn: true}
	}
	return *c.f.stdin
}

// silentOutput is that of commands that print nothing.
func silentOutput(*call) output { return output{} }

func echoOutput(c *call) output {
	words, newline, kind := c.words[1:], "\n", escapes(-1)
	for len(words) > 0 && len(words[0].text) > 1 && words[0].text[0] == '-' && strings.Trim(words[0].text[1:], "neE") == "" {
		if strings.Contains(words[0].text, "n") {
			newline = ""
		}
		if strings.Contains(words[0].text, "e") {
			kind = escapesEcho
		}
		words = words[1:]
	}
	out := output{text: joinWords(words)}
	if kind == escapesEcho {
		out.text = decodeEscapes(out.text, kind)
	}
	out.text += newline
	c.markWords(&out)
	out.operands = nil
	return out
}

// testOutput expands the index of an element that -v asks for.
func testOutput(c *call) output {
	for i, w := range c.words[1:] {
		if w.text == "-v" && i+2 < len(c.words) {
			c.a.subscript(c.words[i+2].text, c.f, c.sc)
		}
	}
	return passOn(c)
}

func printfOutput(c *call) output {
	if len(c.words) > 2 && c.words[1].text == "-v" {
		c.a.subscript(c.words[2].text, c.f, c.sc)
	}
	words := c.words[1:]
	name := ""
	if len(words) > 1 && words[0].text == "-v" {
		name, words = words[1].text, words[2:]
	}
	if len(words) > 0 && words[0].text == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return output{}
	}
	out := output{text: formatPrintf(words[0].text, words[1:])}
	c.markWords(&out)
	if name != "" {
		c.sc.set(name, value{fields: []word{{text: out.text, dyn: out.dyn, taint: out.taint, source: out.source}}})
		return output{}
	}
	return out
}

// formatPrintf renders a printf format; the format repeats while arguments are
// left.
func formatPrintf(format string, args []word) string {
	var b strings.Builder
	for {
		used := 0
		for i := 0; i < len(format); i++ {
			if format[i] != '%' || i+1 >= len(format) {
				b.WriteByte(format[i])
				continue
			}
			i = formatVerb(&b, format, i+1, args, &used)
		}
		if used == 0 || used >= len(args) || b.Len() > maxValue {
			return decodeEscapes(b.String(), escapesPrintf)
		}
		args = args[used:]
	}
}

// formatVerb renders the verb at i, after the percent sign, and returns the
// index of its last byte.
func formatVerb(b *strings.Builder, format string, i int, args []word, used *int) int {
	for i < len(format)-1 && strings.IndexByte("-+ #0123456789.*", format[i]) >= 0 {
		i++
	}
	if format[i] == '%' {
		b.WriteByte('%')
		return i
	}
	arg := ""
	if *used < len(args) {
		arg = args[*used].text
		*used++
	}
	switch format[i] {
	case 'b':
		arg = decodeEscapes(arg, escapesEcho)
	case 'c':
		arg = arg[:min(1, len(arg))]
	case 'x':
		if n, err := strconv.Atoi(arg); err == nil {
			arg = strconv.FormatInt(int64(n), 16)
		}
	case 'o':
		if n, err := strconv.Atoi(arg); err == nil {
			arg = strconv.FormatInt(int64(n), 8)
		}
	}
	// The result is decoded once more by the caller, as a format; arguments are
	// protected from that.
	b.WriteString(strings.ReplaceAll(arg, `\`, `\\`))
	return i
}

// catOutput is the output of programs that copy files or their input, perhaps
// leaving out or reordering lines.
func catOutput(c *call) output {
	out := output{program: c.name}
	if len(c.args.operands) == 0 {
		out.join(c.input())
	}
	for _, w := range c.args.operands {
		switch known, ok := c.sc.read(w.text); {
		case w.text == "-" || w.text == "/dev/stdin":
			out.join(c.input())
		case w.prog != nil:
			out.join(*w.prog)
		case ok:
			out.join(known)
		default:
			out.dyn = true
		}
	}
	out.program = c.name
	c.markWords(&out)
	c.markSecrets(&out)
	return out
}

// markSecrets marks the output of a command that reads credential files.
func (c *call) markSecrets(out *output) {
	for _, w := range c.args.operands {
		if c.a.isSecret(w.text, c.sc) {
			out.mark(taintSecret, "")
		}
	}
}

// filterOutput is the output of grep: lines of its input or files.
func filterOutput(c *call) output {
	out := c.input()
	out.dyn, out.program = true, c.name
	c.markWords(&out)
	c.markSecrets(&out)
	return out
}

// rewriteOutput is the output of a program that turns its input into other text.
// If the input was literal, that is a way to spell what it says.
func rewriteOutput(c *call) output {
	in := c.input()
	out := output{dyn: true, taint: in.taint, source: in.source, program: c.name}
	if in.text != "" && !in.dyn {
		out.mark(taintDecoded, "")
	}
	return out
}

func trOutput(c *call) output {
	in := c.input()
	out := rewriteOutput(c)
	if len(c.args.operands) == 2 && len(c.args.opts) == 0 {
		out.text = translate(in.text, c.args.operands[0].text, c.args.operands[1].text)
	} else if c.args.has("-d", "-s") {
		out.text = in.text
	}
	if out.text == in.text {
		out.dyn = in.dyn
	}
	return out
}

// translate is tr with two sets.
func translate(text, from, to string) string {
	src, dst := expandSet(from), expandSet(to)
	if len(src) == 0 || len(dst) == 0 {
		return text
	}
	var table [256]byte
	for i := range table {
		table[i] = byte(i)
	}
	for i := range len(src) {
		table[src[i]] = dst[min(i, len(dst)-1)]
	}
	out := []byte(text)
	for i, c := range out {
		out[i] = table[c]
	}
	return string(out)
}

// expandSet expands the ranges of a tr set.
func expandSet(set string) string {
	set = decodeEscapes(set, escapesANSI)
	var b strings.Builder
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' && set[i] <= set[i+2] {
			for c := set[i]; c < set[i+2]; c++ {
				b.WriteByte(c)
			}
			b.WriteByte(set[i+2])
			i += 2
			continue
		}
		b.WriteByte(set[i])
	}
	return b.String()
}

func revOutput(c *call) output {
	in := c.input()
	lines := strings.Split(in.text, "\n")
	for i, line := range lines {
		r := []rune(line)
		for l, h := 0, len(r)-1; l < h; l, h = l+1, h-1 {
			r[l], r[h] = r[h], r[l]
		}
		lines[i] = string(r)
	}
	out := rewriteOutput(c)
	out.text = strings.Join(lines, "\n")
	return out
}

// decoded is the output of a decoder: known text if the input is known.
func (c *call) decoded(decode func(string) ([]byte, error)) output {
	in := c.input()
	out := output{dyn: true, taint: in.taint, source: in.source, program: c.name}
	out.mark(taintDecoded, "")
	if text, err := decode(in.text); err == nil && in.text != "" {
		out.text = string(text)
		out.dyn = in.dyn
	}
	return out
}

// stripSpace removes all white space, as decoders do.
func stripSpace(s string) string { return strings.Join(strings.Fields(s), "") }

func base64Output(c *call) output {
	if !c.args.has("-d", "-D", "--decode", "-di", "-i") {
		return encodedOutput(c)
	}
	return c.decoded(func(s string) ([]byte, error) {
		return base64.RawStdEncoding.DecodeString(strings.TrimRight(stripSpace(s), "="))
	})
}

func base32Output(c *call) output {
	if !c.args.has("-d", "--decode") {
		return encodedOutput(c)
	}
	return c.decoded(func(s string) ([]byte, error) {
		return base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(stripSpace(s), "="))
	})
}

func xxdOutput(c *call) output {
	if !c.args.has("-r") {
		return encodedOutput(c)
	}
	return c.decoded(func(s string) ([]byte, error) { return hex.DecodeString(stripSpace(s)) })
}

// encodedOutput is the output of an encoder: not code, but as secret as its input.
func encodedOutput(c *call) output {
	out := passOn(c)
	c.markSecrets(&out)
	return out
}

// decompressOutput is the output of a decompressor. Compressed text cannot be
// told from any other encoding of a script.
func decompressOutput(c *call) output {
	out := encodedOutput(c)
	if c.f.stdin != nil && (c.name != "gzip" && c.name != "xz" && c.name != "bzip2" && c.name != "zstd" && c.name != "lz4" || c.args.has("-d", "--decompress", "-dc", "--uncompress")) {
		out.mark(taintDecoded, "")
	}
	return out
}

// listOutput lists directories: its operands are what xargs will see.
func listOutput(c *call) output {
	return output{dyn: true, operands: c.args.operands, program: c.name}
}

// numberOutput is a digest or a count, which carries nothing of the input.
func numberOutput(*call) output { return output{dyn: true} }

// pathOutput prints a part of a path.
func pathOutput(c *call) output {
	out := output{program: c.name}
	for _, w := range c.args.operands {
		part := path.Dir(w.text)
		if c.name == "basename" {
			part = path.Base(w.text)
		}
		out.text += part + "\n"
		out.dyn = out.dyn || w.dyn
		out.mark(w.taint, w.source)
	}
	return out
}

// whichOutput is where a program is: as good as its name.
func whichOutput(c *call) output {
	out := output{program: c.name}
	for _, w := range c.args.operands {
		out.text += w.text + "\n"
	}
	return out
}

// environmentOutput prints the environment, where tokens live.
func environmentOutput(c *call) output {
	out := output{dyn: true, program: c.name}
	if len(c.args.operands) == 0 {
		out.mark(taintSecret, "")
	}
	return out
}
