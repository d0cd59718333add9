package safety

import "testing"

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
