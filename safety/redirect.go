package safety

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// target is a file that a statement writes its output to.
type target struct {
	name   string
	word   word
	add    bool
	stdout bool
}

// redirect walks the redirections of a statement. It sets the standard input of
// the frame and returns the files written.
func (a *analysis) redirect(redirs []*syntax.Redirect, f *frame, sc *scope) []target {
	var targets []target
	for _, r := range redirs {
		if in := a.inlineInput(r, *f, sc); in != nil {
			f.stdin = in
			continue
		}
		if r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut || r.Op == syntax.DplIn {
			a.redirectIn(r, f, sc)
			continue
		}
		if t, ok := a.redirectOut(r, f, sc); ok {
			targets = append(targets, t)
		}
	}
	return targets
}

// substitutedFile is the name that a process substitution stands for.
const substitutedFile = "/dev/fd/63"

// feed runs the commands of >(…) in a word with what was written to them: the
// contents recorded for the file, or else the output of the command.
func (a *analysis) feed(w word, out output, f frame, sc *scope) {
	if w.prog == nil || len(w.prog.reader) == 0 {
		return
	}
	if known, ok := sc.read(w.text); ok {
		out = known
	}
	f.stdin = a.mem.outputs.one(out)
	a.subshell(w.prog.reader, f, sc)
}

// inlineInput is the text of a here-document or here-string, nil for other
// redirections.
func (a *analysis) inlineInput(r *syntax.Redirect, f frame, sc *scope) *output {
	if r.Op == syntax.WordHdoc {
		w := a.joined(r.Word, f, sc)
		return &output{text: w.text + "\n", dyn: w.dyn, taint: w.taint, source: w.source}
	}
	if r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc {
		return nil
	}
	if r.Hdoc == nil {
		return &output{}
	}
	return a.document(r, f, sc)
}

// document expands a here-document. With a quoted delimiter the body is literal.
func (a *analysis) document(r *syntax.Redirect, f frame, sc *scope) *output {
	quoted := false
	for _, part := range r.Word.Parts {
		lit, ok := part.(*syntax.Lit)
		quoted = quoted || !ok || strings.Contains(lit.Value, `\`)
	}
	if quoted {
		var b strings.Builder
		for _, part := range r.Hdoc.Parts {
			if lit, ok := part.(*syntax.Lit); ok {
				b.WriteString(lit.Value)
			}
		}
		return &output{text: b.String()}
	}
	b := fieldBuilder{}
	a.addQuoted(&b, &syntax.DblQuoted{Parts: r.Hdoc.Parts}, f, sc)
	b.flush()
	out := &output{}
	for _, w := range b.fields {
		out.join(output{text: w.text, dyn: w.dyn, taint: w.taint, source: w.source})
	}
	return out
}

// redirectIn handles what a statement reads.
func (a *analysis) redirectIn(r *syntax.Redirect, f *frame, sc *scope) {
	w := a.joined(r.Word, *f, sc)
	in := output{dyn: true, taint: w.taint, source: w.source}
	switch {
	case r.Op == syntax.DplIn:
		if !sc.netFD {
			return
		}
		in.mark(taintRemote, "nc")
	case w.prog != nil:
		in = *w.prog
	case isNetDevice(w.text):
		f.net = true
		sc.netFD = true
		in.mark(taintRemote, "nc")
	default:
		if known, ok := sc.read(w.text); ok {
			in = known
		} else if a.isSecret(w.text, sc) {
			in.mark(taintSecret, "")
		}
	}
	if r.Op == syntax.RdrInOut && r.N != nil && r.N.Value != "0" {
		return
	}
	f.stdin = &in
}

// redirectOut handles a file that a statement writes.
func (a *analysis) redirectOut(r *syntax.Redirect, f *frame, sc *scope) (target, bool) {
	w := a.joined(r.Word, *f, sc)
	if r.Op == syntax.DplOut && (w.text == "-" || strings.Trim(w.text, "0123456789-") == "") {
		if sc.netFD {
			f.net = true
		}
		return target{}, false
	}
	if isNetDevice(w.text) {
		f.net = true
		sc.netFD = true
		a.report("send: /dev/tcp", ViewRedirect, *f)
		return target{name: w.text, stdout: true}, true
	}
	a.writes(w, ViewRedirect, *f, sc)
	return target{
		name:   w.text,
		word:   w,
		add:    r.Op == syntax.AppOut || r.Op == syntax.AppAll,
		stdout: r.N == nil || r.N.Value == "1",
	}, true
}

// isNetDevice recognises the sockets that Bash opens for a path.
func isNetDevice(p string) bool {
	return strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/")
}

// writes reports that a file is written, if it matters.
func (a *analysis) writes(w word, kind ViewKind, f frame, sc *scope) {
	class, clean := a.e.classify(w.text, sc.cwd)
	if !class.matters() {
		return
	}
	var b strings.Builder
	b.WriteString("write: <" + string(class) + ">")
	writeEscaped(&b, clean)
	a.report(b.String(), kind, f)
}

// isSecret reports whether a path holds something that must not be sent out.
func (a *analysis) isSecret(p string, sc *scope) bool {
	class, clean := a.e.classify(p, sc.cwd)
	return class == classSecret || class == classEnv || class == classAcct && (clean == "/etc/passwd" || clean == "/etc/sudoers")
}

// executes reports that an interpreter runs text that came over the network or
// out of a decoder.
func (a *analysis) executes(o output, interpreter string, f frame) {
	switch {
	case o.taint&taintRemote != 0:
		source := o.source
		if source != "curl" && source != "wget" {
			source = "fetch"
		}
		a.report("pipe: "+source+" | "+interpreter, ViewPipe, f)
	case o.taint&taintDecoded != 0:
		a.report("pipe: decode | "+interpreter, ViewPipe, f)
	}
}

// sends reports that credentials leave the machine.
func (a *analysis) sends(program string, f frame) {
	a.report("send: "+program+" secret", ViewArgv, f)
}
