package safety

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A line means the same with a comment behind it, which only the parser reads: so
// what reads lines without the parser must not change a grade.
func TestGradesDoNotDependOnTheReader(t *testing.T) {
	c := newClassifier(t, SetDefault)
	rnd := rand.New(rand.NewPCG(3, 4))
	pieces := []string{
		"x=1", "x+=1", "D=/", "C='rm -rf /'", "rm", "-rf", "/", "$D", `"$D"`, "sh", "-c", "'$C'", `'rm -rf "$D"'`, "eval", "--", "env", "-", "a.b=1",
		"ls", ";", "|", "&&", "2>&1", ">f", "cat", "sudo", "xargs", "-i", "$(ls)", "bash", `'eval "$C"'`, "echo", "git push --force", "\n",
	}
	same := func(line string) bool {
		a := &analysis{e: c.engine(), mem: &scratch{}}
		_, plain := a.plainCommand(line)
		_, tree, _ := a.readTree(line)
		if _, err := a.e.parse(line); err != nil || !plain && !tree {
			return false
		}
		if diff := compareResults(c.Classify(line+" #", PlatformUnix), c.Classify(line, PlatformUnix)); diff != "" {
			t.Errorf("%q (-parser +reader):\n%s", line, diff)
		}
		return true
	}
	read := 0
	for range 20000 {
		var words []string
		for range 1 + rnd.IntN(8) {
			words = append(words, pieces[rnd.IntN(len(pieces))])
		}
		if same(strings.Trim(strings.Join(words, " "), " \n")) {
			read++
		}
	}
	for _, file := range corpora {
		for _, r := range readRows(t, file) {
			same(strings.TrimSpace(r.Cmd))
		}
	}
	if read < 5000 {
		t.Errorf("only %d of the lines were read without the parser", read)
	}
}
