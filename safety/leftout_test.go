package safety

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// A shell runs a substitution wherever it stands, also where the analysis has
// no use for its value.
func TestSubstitutionsRunEverywhere(t *testing.T) {
	c := newClassifier(t, SetDefault)
	for _, cmd := range []string{
		`echo $(( $(rm -rf /) ))`, "echo $((x + `rm -rf /`))", `(( x[$(rm -rf /)] ))`, `((a = $(rm -rf /)))`,
		`echo ${x[$(rm -rf /)]}`, `echo ${x:$(rm -rf /):1}`, `x=a; echo ${x:0:$(rm -rf /)}`, `echo $[ $(rm -rf /) ]`,
		`a[$(rm -rf /)]=1`, `a[$(rm -rf /)]+=1 true`, `x=( [$(rm -rf /)]=1 )`, `declare -A m=([$(rm -rf /)]=1)`,
		`let x=$(rm -rf /)`, `let "x[$(rm -rf /)]"`, `let 'x[$(rm -rf /)]'`,
		`for ((i=$(rm -rf /);;)); do :; done`, `for ((;i<$(rm -rf /);)); do :; done`,
		`[[ $(rm -rf /) ]]`, `[[ a -eq $(rm -rf /) ]]`, `case $(rm -rf /) in a) ;; esac`, `case a in $(rm -rf /)) ;; esac`,
		`select x in $(rm -rf /); do :; done`, `x=y; echo ${x:+$(rm -rf /)}`, `echo ${x/$(rm -rf /)/b}`, `x=1; echo ${x/a/$(rm -rf /)}`,
		`echo ${!x[$(rm -rf /)]}`, `echo ${#x[$(rm -rf /)]}`, `echo "$(( $(( $(rm -rf /) )) ))"`,
		`f() { echo $(( $(rm -rf /) )); }; f`, `bash -c 'echo $(( $(rm -rf /) ))'`, `cat <<< $(( $(rm -rf /) ))`,
		"cat <<E\n$(( $(rm -rf /) ))\nE", `echo x > $(( $(rm -rf /) ))`, `echo {a,$(rm -rf /)}`, `: <(rm -rf /)`, `((x)) > >(rm -rf /)`,
	} {
		if got := c.Classify(cmd, PlatformUnix); got.Severity != Critical {
			t.Errorf("%s: %s %v", cmd, got.Severity, got.MatchedRules)
		}
	}
	for _, cmd := range []string{
		`echo $(( 1 + 2 ))`, `x=$(( $(nproc) * 2 )); make -j$x`, `let x=1+2`, `let 'x = (1 + 2)'`, `for ((i=0; i<$(wc -l <f); i++)); do echo $i; done`,
		`echo '$(( $(rm -rf /) ))'`,
	} {
		if got := c.Classify(cmd, PlatformUnix); got.Severity != Safe {
			t.Errorf("%s: %s %v", cmd, got.Severity, got.MatchedRules)
		}
	}
}

// Programs run what they are given in options and behind their own words.
func TestCommandsBehindPrograms(t *testing.T) {
	c := newClassifier(t, SetDefault)
	for _, cmd := range []string{
		`bwrap --bind / / rm -rf /`, `bwrap --dev-bind / / --chdir /x --setenv A b sh -c 'rm -rf /'`, `chpst -u root rm -rf /`, `envdir d rm -rf /`,
		`setuidgid u rm -rf /`, `mapfile -C 'rm -rf / #' -c1 a < f`, `compgen -C 'rm -rf /' x`, `rg --pre 'rm -rf /' x`,
		`go test -exec 'rm -rf /' ./...`, `go build -toolexec='rm -rf /' .`, `sort --compress-program='rm -rf /' f`, `runuser -u a -- rm -rf /`,
		`ld.so /bin/rm -rf /`, `/lib64/ld-linux-x86-64.so.2 --library-path x /bin/rm -rf /`,
		`sed 'y/a/b/;s/.*/rm -rf \//e' f`, `sed ':a;e rm -rf /' f`, `sed 'ba;e rm -rf /' f`, `sed 's/[/]/rm -rf \//e' f`,
	} {
		if got := c.Classify(cmd, PlatformUnix); got.Severity != Critical {
			t.Errorf("%s: %s %v", cmd, got.Severity, got.MatchedRules)
		}
	}
	for _, cmd := range []string{
		`go test -run X ./...`, `go build -o bin/ ./cmd/x`, `sort -k 2 -t , f`, `rg -e 'rm -rf /' .`, `mapfile -t a < f`, `complete -W 'a b' x`,
	} {
		if got := c.Classify(cmd, PlatformUnix); got.Severity != Safe {
			t.Errorf("%s: %s %v", cmd, got.Severity, got.MatchedRules)
		}
	}
	for _, cmd := range []string{
		`echo ‘"’ ; Remove-Item -Recurse -Force C:\ ; ‘"’`, `echo "a“ ; Remove-Item -Recurse -Force C:\ ; “b"`,
	} {
		for _, p := range []Platform{PlatformWindows, PlatformAll} {
			if got := c.Classify(cmd, p); got.Severity != Critical {
				t.Errorf("%s on %q: %s %v", cmd, p, got.Severity, got.MatchedRules)
			}
		}
	}
}

// Trees that were read without the parser hold no substitution that the walk
// passes over: nothing looks for those.
func TestTreesLeaveNothingOut(t *testing.T) {
	e := newEngine()
	substitutions := 0
	check := func(cmd string) {
		a := &analysis{e: e, mem: &scratch{}}
		a.start(strings.Repeat("x", MaxLine), &recorder{}) // a budget for every script here
		a.noting = true
		list, ok, _ := a.readTree(cmd)
		if !ok {
			return
		}
		a.stmts(list, frame{kind: ViewArgv}, &a.root)
		for _, st := range list {
			syntax.Walk(st, func(n syntax.Node) bool {
				switch n.(type) {
				case *syntax.CmdSubst, *syntax.ProcSubst:
					substitutions++
					if !a.walked[n] && !a.stopped {
						t.Errorf("%q: the substitution at %d was not walked", cmd, n.Pos().Offset())
					}
				}
				return true
			})
		}
	}
	for _, file := range corpora {
		for _, row := range readRows(t, file) {
			check(row.Cmd)
			check("x=$(" + row.Cmd + ") y > >(" + row.Cmd + ") 2>\"$(" + row.Cmd + ")\"")
			check("(a {b,c}\"$(" + row.Cmd + ")\" <(" + row.Cmd + ")) < <(" + row.Cmd + ")")
		}
	}
	if substitutions < 1000 {
		t.Errorf("only %d substitutions", substitutions)
	}
}
