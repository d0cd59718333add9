package safety

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"
)

// sameTree compares the reading of a script without the parser with the parser's.
func sameTree(src string) (diff string, read bool) {
	a := &analysis{e: &engine{}, mem: &scratch{}}
	list, ok, open := a.readTree(src)
	if !ok && !open {
		return "", false
	}
	file, err := a.e.parse(src)
	if open {
		if err == nil {
			return "a quote without its pair", true
		}
		return "", false
	}
	if err != nil {
		return err.Error(), true
	}
	return cmp.Diff(treeText(reflect.ValueOf(file.Stmts)), treeText(reflect.ValueOf(list))), true
}

// treeText renders a tree with the offsets of its nodes, a node per line.
func treeText(v reflect.Value) string {
	if pos, ok := reflect.TypeAssert[syntax.Pos](v); ok {
		if !pos.IsValid() {
			return "nowhere"
		}
		return strconv.Itoa(int(pos.Offset()))
	}
	var b strings.Builder
	switch v.Kind() { //nolint:exhaustive // trees hold no others
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return "nil"
		}
		return treeText(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			b.WriteString(treeText(v.Index(i)) + "\n")
		}
	case reflect.Struct:
		b.WriteString(v.Type().Name() + "{")
		for i := range v.NumField() {
			b.WriteString(v.Type().Field(i).Name + ": " + treeText(v.Field(i)) + " ")
		}
		b.WriteString("}")
	default:
		fmt.Fprint(&b, v.Interface())
	}
	return b.String()
}

func TestReadTree(t *testing.T) {
	for _, src := range []string{
		"a", "a | b", "a|b|c", "a && b || c", "a; b;", "a & b &", "a\nb\n\nc", "a b 'c d' \"e f\"",
		"a > f", "a >>f b 2>&1", "a 2>/dev/null | b <in", ">f a", "a &> f", "a &>>f", "a 12>x", `a \; b\ c "d\"e" f'g'"h"i`,
		"a -x=y [ * ?", "[ -f x ] && b", `"a" b`, "a>&2", "a 2", "a 2b>c", `a "" ''`, "{a,b} c{1..3} {}", "find . -exec a {} + | b", "a '\n' \"\n\"",
		"a $b", "$a", `a "$b"`, `a "x$b y${c}z"`, "a ${b}c$d", "a $1 $@ $* $? ${1} ${@}", "a >$b", "x=1", "x=1 y='a b' c d", `x=$y "z"`, "x=a; b $x", "x=~ y==", "a b=$c",
		"a |& b", "a $(b)", `a "x$(b "c d")y"`, "x=$(b c); d", "a $(b | c && d; e)$(f)g", "a $(\nb\n)", "a $(b $(c) &)", "(a)", "( a; b\n) | c", "(a) >x &", "( (a) | b)",
		"a <(b)", "diff <(a b) <(c)", "a >(b) c", "a > >(b)", "a < <(b | c)", "a \\\n b", "a \\\n  -c \\\n >d", "a \\\n", "a C:\\", `a \`,
	} {
		switch diff, read := sameTree(src); {
		case !read:
			t.Errorf("%q is left to the parser", src)
		case diff != "":
			t.Errorf("%q (-parser +tree):\n%s", src, diff)
		}
	}
	for _, src := range []string{
		"", "a |", "| a", "a &&", "a;;b", "a |& ", "! a", "if a", "a[1]=2", "export x", "a `b`", "(a) b", "(a", "()", "((a))", "{ a; }", "}", "a }", "a {b}>c",
		"a # b", "a <<E", "a <<<b", "a<(b)", "a <(b)c", "a 2>(b)", "a <(b", "a >| b", "a <> b", "a <&3", "a '", "a \"", "a\\\n b", "a \\\n# b", "é", "a\r", "a &", "time a", "a >", "a > ; b", "a() b", "a &! b",
		"a $(b", "a $(b`c`)", "a $()", "a $(<b)", "a )", "a $((1))", "a $(b)(", "\\ [ a", "a $12", "a ${b:-c}", "a ${#b}", "a $", "a $'b'", `a "$"`, "a $((1))", "a $b[1]", "x=", "x=(a)", "x+=1", "x=1 if", "x[1]=a", "a ${b", "a $b(c)",
	} {
		list, ok, _ := (&analysis{mem: &scratch{}}).readTree(src)
		if ok && len(list) > 0 && src != "a &" {
			t.Errorf("%q is read as %d statements", src, len(list))
		}
	}
}

// FuzzReadTree demands that the reader agrees with the parser on all it takes.
func FuzzReadTree(f *testing.F) {
	addCorpus(f)
	f.Fuzz(func(t *testing.T, src string, _ bool) {
		if strings.TrimSpace(src) == "" {
			return
		}
		if diff, _ := sameTree(src); diff != "" {
			t.Fatalf("%q (-parser +tree):\n%s", src, diff)
		}
	})
}

// Reading statement by statement finds what reading the whole script does.
func TestStreamTreeEqualsReadTree(t *testing.T) {
	e := newEngine()
	read := func(walk func(a *analysis, f frame)) *recorder {
		r := &recorder{}
		a := &analysis{e: e, mem: &scratch{}}
		a.start(strings.Repeat("x", MaxLine), r) // a budget for every script here
		walk(a, frame{kind: ViewArgv})
		return r
	}
	script, scripts := "", 0
	for _, file := range corpora {
		for _, row := range readRows(t, file) {
			line := row.Cmd + "\n"
			if _, ok, _ := (&analysis{mem: &scratch{}}).readTree(line); ok && !strings.Contains(line, ">(") {
				script += line
			}
			if len(script) <= longScript {
				continue
			}
			whole := read(func(a *analysis, f frame) {
				list, ok, _ := a.readTree(script)
				if !ok {
					t.Fatalf("%q takes the parser", script)
				}
				a.stmts(list, f, &a.root)
			})
			stream := read(func(a *analysis, f frame) {
				if _, ok := a.streamTree(script, f, &a.root); !ok {
					t.Fatalf("%q takes the parser", script)
				}
			})
			if diff := cmp.Diff(whole.commands, stream.commands) + cmp.Diff(whole.lines, stream.lines); diff != "" {
				t.Errorf("(-whole +stream):\n%s", diff)
			}
			script, scripts = "", scripts+1
		}
	}
	if scripts < 5 {
		t.Errorf("only %d scripts", scripts)
	}
	broken := read(func(a *analysis, f frame) {
		if _, ok := a.streamTree("rm x\necho `y`\n", f, &a.root); ok {
			t.Error("an expansion was read without the parser")
		}
	})
	if len(broken.commands) > 0 {
		t.Errorf("walked %q before the parser reads the script", broken.commands)
	}
}
