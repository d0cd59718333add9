package safety

import (
	"strings"
	"testing"
)

// denyRow is a line and what a deny rule answers: denied, no, or uncertain with
// the word that is not known.
type denyRow struct{ prefix, cmd, want string }

func testDenyRows(t *testing.T, platform Platform, rows []denyRow) {
	t.Helper()
	m := NewMatcher(platform)
	for _, tt := range rows {
		got := m.Match(strings.Fields(tt.prefix), tt.cmd, DecisionDeny)
		answer := "no"
		switch {
		case got.Matches && got.Reason == ReasonDenied:
			answer = "denied"
		case !got.Matches && got.Reason == ReasonUncertain:
			answer = "uncertain: " + got.Detail
		case got.Matches || got.Reason != ReasonNotCovered:
			answer = string(got.Reason)
		}
		if answer != tt.want {
			t.Errorf("deny %s on %s: %s, want %s", tt.prefix, tt.cmd, answer, tt.want)
		}
	}
}

// What is not known is neither denied nor let through: a deny rule says so.
func TestDenyOfUnknownWords(t *testing.T) {
	testDenyRows(t, PlatformUnix, []denyRow{
		{"git push", "$CC -c foo.c", "uncertain: $CC"},
		{"git push", "$GO test ./...", "uncertain: $GO"},
		{"git push", `"${BUILD_CMD[@]}" --target release`, "uncertain: $BUILD_CMD"},
		{"git push", `exec "$@"`, "uncertain: $@"},
		{"git push", `timeout 10 "$@"`, "uncertain: $@"},
		{"git push", `run(){ "$@"; }; run go build`, "uncertain: $@"},
		{"git push", "env $(cat .env | xargs) node server.js", "uncertain: $()"},
		{"git push", "docker run --rm img $ARGS", "uncertain: $ARGS"},
		{"git push", "nice $N make", "uncertain: $N"},
		{"git push", "timeout $T make", "uncertain: $T"},
		{"git push", `eval "$(cat x)"`, "uncertain: what eval runs"},
		{"git push", `bash -c "$(cat x)"`, "uncertain: what bash runs"},
		{"git push", "bash <(curl x)", "uncertain: what bash runs"},
		{"git push", "cat x | bash", "uncertain: what bash runs"},
		{"git push", "bash < x", "uncertain: what bash runs"},
		{"git push", "xargs git < x", "uncertain: $()"},
		{"git push", "xargs -I% git % < x", "uncertain: $()"},
		{"git push", "xargs -I% % push < x", "uncertain: $()"},
		{"git push", `find . -exec git {} \;`, "uncertain: $()"},
		{"git push", `find / -name git -exec {} push \;`, "uncertain: $()"},
		{"git push", "git push --force $X; $Y", "denied"},
		{"git push", "$X; git push", "denied"},
		{"git push", "git pu?h", "denied"},
		{"git push", "git p$X", "uncertain: p$X"},
		{"git push", "git $X status", "uncertain: $X"},
		{"git push", "git -C $D status", "no"},
		{"git push", "git status $X", "no"},
		{"git push", "git log $(git rev-parse HEAD)", "no"},
		{"git push", "${CROSS_COMPILE}gcc -c x.c", "no"},
		{"git push", `"${CROSS_COMPILE}gcc" -c x.c`, "no"},
		{"git push", "echo ls | bash", "no"},
		{"git push", "bash x.sh", "no"},
		{"git push", "xargs wc -l < x", "no"},
		{"git push", "find . -exec wc {} +", "no"},
		{"rm", "for s in $(ls scripts); do ./scripts/$s; done", "no"},
		{"rm", "scripts/$S", "no"},
		{"rm", "$D/build", "no"},
		{"rm", "$D/rm x", "denied"},
		{"rm", "/usr/bin/$S x", "uncertain: /usr/bin/$S"},
		{"rm", "../$S x", "uncertain: ../$S"},
		{"rm", "/bin/r? x", "denied"},
		{"rm", "alias rm='rm -i'", "no"},
		{"rm", "alias x='rm -i'; x y", "denied"},
		{"rm", "alias rm='rm -i'; rm y", "denied"},
		{"git push --force", "git push --f$X", "uncertain: --f$X"},
		{"git push --force", "git push $X", "uncertain: $X"},
		{"git push --force", "git push --f*", "denied"},
		{"git push --force", "git push --d$X", "no"},
		{"git push --force", "git push origin", "no"},
		{"rm -rf", "rm -r$X x", "uncertain: -r$X"},
		{"rm -rf", "rm -r? x", "denied"},
		{"rm -rf", "rm -r[ab] x", "no"},
		{"rm -rf", "rm -r[ef] x", "denied"},
		{"rm -rf", "xargs rm < x", "uncertain: $()"},
		{"rm -rf", `find . -exec rm {} \;`, "no"},
	})
}

func TestDenyOfUnknownWordsOnWindows(t *testing.T) {
	testDenyRows(t, PlatformWindows, []denyRow{
		{"git push", "& $git -C x push", "uncertain: $git"},
		{"git push", "& $cmd", "uncertain: $cmd"},
		{"git push", "%X% a", "uncertain: $()"},
		{"git push", "git %x%", "uncertain: $()"},
		{"git push", "git @args", "uncertain: $()"},
		{"git push", "iex $cmd", "uncertain: $cmd"},
		{"git push", "git $env:X", "uncertain: $X"},
		{"git push", "cmd /c %X%", "uncertain: $()"},
		{"git push", "cmd /c \"git %x% push\"", "uncertain: $()"},
		{"git push", "git push %x%", "denied"},
		{"git push", "$x", "no"},
		{"git push", "$x.Count", "no"},
		{"git push", "$x -eq 1", "no"},
		{"git push", "echo %X%", "no"},
		{"git push", "git status %X%", "no"},
		{"git push", "Get-ChildItem $dir", "no"},
	})
}
