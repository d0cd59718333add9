package conformance

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		name string
		want string
		got  string
		diff string // the first problem; empty when it matches
	}{
		{"equal", `{"a":[1,"x",null,true]}`, `{"a":[1,"x",null,true]}`, ""},
		{"order of members", `{"a":1,"b":2}`, `{"b":2,"a":1}`, ""},
		{"number by value", `{"a":5}`, `{"a":5.0}`, ""},
		{"large number", `{"a":9007199254740993}`, `{"a":9007199254740992}`, "a: want 9007199254740993, got 9007199254740992"},
		{"string for number", `{"a":5}`, `{"a":"5"}`, `a: want 5, got "5"`},
		{"null for absent", `{"a":null}`, `{}`, "a: missing, want null"},
		{"closed object", `{"a":1}`, `{"a":1,"b":2}`, "b: not expected: 2"},
		{"open object", `{"a":1,"...":"..."}`, `{"a":1,"b":2}`, ""},
		{"open is not deep", `{"o":{},"...":"..."}`, `{"o":{"x":1},"p":1}`, "o.x: not expected: 1"},
		{"object for array", `{"a":{}}`, `{"a":[]}`, "a: want {}, got []"},
		{"array length", `{"a":[1]}`, `{"a":[1,2]}`, "a: want 1 elements, got 2: [1,2]"},
		{"open array", `{"a":[1,"..."]}`, `{"a":[1,2,3]}`, ""},
		{"open array too short", `{"a":[1,2,"..."]}`, `{"a":[1]}`, "a: want 2 elements, got 1: [1]"},
		{"array element", `{"a":[1,{"b":2}]}`, `{"a":[1,{"b":3}]}`, "a[1].b: want 2, got 3"},
		{"array for object", `{"a":[]}`, `{"a":{}}`, "a: want [], got {}"},
		{"any", `{"a":"<any>"}`, `{"a":null}`, ""},
		{"any is present", `{"a":"<any>"}`, `{}`, `a: missing, want "<any>"`},
		{"string", `{"a":"<string>"}`, `{"a":""}`, ""},
		{"no string", `{"a":"<string>"}`, `{"a":1}`, "a: want string, got 1"},
		{"int", `{"a":"<int>"}`, `{"a":-3}`, ""},
		{"int with a zero fraction", `{"a":"<int>"}`, `{"a":3.0}`, ""},
		{"no int", `{"a":"<int>"}`, `{"a":3.5}`, "a: want int, got 3.5"},
		{"int as text", `{"a":"<int>"}`, `{"a":"3"}`, `a: want int, got "3"`},
		{"number", `{"a":"<number>"}`, `{"a":3.5}`, ""},
		{"no number", `{"a":"<number>"}`, `{"a":null}`, "a: want number, got null"},
		{"bool", `{"a":"<bool>"}`, `{"a":false}`, ""},
		{"no bool", `{"a":"<bool>"}`, `{"a":0}`, "a: want bool, got 0"},
		{"object", `{"a":"<object>"}`, `{"a":{"x":1}}`, ""},
		{"no object", `{"a":"<object>"}`, `{"a":[]}`, "a: want object, got []"},
		{"array", `{"a":"<array>"}`, `{"a":[]}`, ""},
		{"no array", `{"a":"<array>"}`, `{"a":{}}`, "a: want array, got {}"},
		{"absent", `{"a":"<absent>"}`, `{}`, ""},
		{"not absent", `{"a":"<absent>"}`, `{"a":null}`, "a: must be absent, got null"},
		{"pattern", `{"a":"<re:^b+$>"}`, `{"a":"bbb"}`, ""},
		{"pattern with a bracket", `{"a":"<re:a>b>"}`, `{"a":"xa>b"}`, ""},
		{"no pattern", `{"a":"<re:^b+$>"}`, `{"a":"bab"}`, `a: want a string like /^b+$/, got "bab"`},
		{"pattern on a number", `{"a":"<re:1>"}`, `{"a":1}`, "a: want a string like /1/, got 1"},
		{"text like a tag", `{"a":"<b>bold</b>"}`, `{"a":"<b>bold</b>"}`, ""},
		{"same capture", `{"a":"<id:x>","b":"<id:x>"}`, `{"a":"s","b":"s"}`, ""},
		{"other capture", `{"a":"<id:x>","b":"<id:x>"}`, `{"a":"s","b":"t"}`, `b: want "s" as before (x), got "t"`},
		{"capture is typed", `{"a":"<id:x>","b":"<id:x>"}`, `{"a":1,"b":"1"}`, `b: want 1 as before (x), got "1"`},
		{"capture with pattern", `{"a":"<id:x:^s_[0-9]+$>"}`, `{"a":"s_1"}`, ""},
		{"capture against pattern", `{"a":"<id:x:^s_[0-9]+$>"}`, `{"a":"t_1"}`, `a: want a string like /^s_[0-9]+$/, got "t_1"`},
		{"json", `{"a":{"<json>":{"b":1,"...":"..."}}}`, `{"a":"{\"b\":1,\"c\":2}"}`, ""},
		{"json differs", `{"a":{"<json>":{"b":1}}}`, `{"a":"{\"b\":2}"}`, "a(json).b: want 1, got 2"},
		{"json in no string", `{"a":{"<json>":{"b":1}}}`, `{"a":{"b":1}}`, `a: want a string that holds JSON, got {"b":1}`},
		{"no json", `{"a":{"<json>":{}}}`, `{"a":"{"}`, `a: want a string that holds JSON, got "{": EOF`},
		{"one of", `{"a":{"<oneof>":[1,"<string>"]}}`, `{"a":"x"}`, ""},
		{"none of", `{"a":{"<oneof>":[1,"<string>"]}}`, `{"a":2}`, `a: want one of [1,"<string>"], got 2`},
		{"one of forgets what failed", `{"a":{"<oneof>":[["<id:x>",1],["<any>",2]]},"b":"<id:x>"}`, `{"a":["p",2],"b":"q"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want, err := parseValue([]byte(tt.want))
			if err != nil {
				t.Fatal(err)
			}
			got, err := parseValue([]byte(tt.got))
			if err != nil {
				t.Fatal(err)
			}
			diff := ""
			for _, p := range (&scope{ids: map[string]string{}}).match("", want, got) {
				diff = p.String()
				break
			}
			if diff != tt.diff {
				t.Errorf("%s against %s: want %q, got %q", tt.got, tt.want, tt.diff, diff)
			}
		})
	}
}

func TestParseFrame(t *testing.T) {
	long := strings.Repeat("é", maxMessage)
	for _, tt := range []struct {
		line string
		want string // part of the error; empty when the frame is valid
	}{
		{`{"jsonrpc":"2.0","id":1,"result":null}`, ""},
		{`{"jsonrpc":"2.0","id":"srv_1","method":"tool.invoke","params":{}}`, ""},
		{`{"jsonrpc":"2.0","method":"stream.chunk"}`, ""},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad","kind":"parse","data":[1]}}`, ""},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"` + long + `"}}`, ""},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"` + long + `x"}}`, "1 to 1024 characters"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":""}}`, "1 to 1024 characters"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":"-1","message":"x"}}`, "error.code"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"x"}}`, "error.code"},
		{`{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}`, "error.code"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x","kind":"edit_failed"}}`, "error.kind"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x","kind":null}}`, "error.kind"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x","more":1}}`, `"more" has no place`},
		{`{"jsonrpc":"2.0","id":1,"error":"x"}`, "error is string"},
		{`{"jsonrpc":"2.0","id":1,"error":null,"result":1}`, "either result or error"},
		{`{"jsonrpc":"2.0","id":1}`, "either result or error"},
		{`{"jsonrpc":"2.0","result":1}`, "neither method nor id"},
		{`{"jsonrpc":"2.0","id":[1],"result":1}`, "id of a response"},
		{`{"jsonrpc":"2.0","id":1,"result":1,"params":{}}`, "params in a response"},
		{`{"jsonrpc":"2.0","id":null,"method":"x"}`, "id of a request"},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, "method is"},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, "method is"},
		{`{"jsonrpc":"2.0","method":"x","params":[]}`, "params are array"},
		{`{"jsonrpc":"2.0","id":1,"method":"x","result":1}`, "method and result"},
		{`{"id":1,"result":1}`, "jsonrpc is null"},
		{`{"jsonrpc":"2.1","id":1,"result":1}`, "jsonrpc is"},
		{`{"jsonrpc":"2.0","id":1,"result":1,"trace":1}`, `"trace" has no place`},
		{`{"jsonrpc":"2.0","id":1,"id":2,"result":1}`, `"id" is repeated`},
		{`{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`, `"a" is repeated`},
		{`{"jsonrpc":"2.0","id":1,"result":1} {}`, "more than one JSON value"},
		{"\ufeff" + `{"jsonrpc":"2.0","id":1,"result":1}`, "not JSON"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\"}", "not valid UTF-8"},
		{`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", maxFrame-36) + `"}`, ""},
		{`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", maxFrame-35) + `"}`, "over the limit of 1 MiB"},
		{"", "not JSON"},
		{"null", "a frame is an object"},
		{"[]", "a frame is an object"},
	} {
		_, err := parseFrame(tt.line)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: want a valid frame, got %v", clip(tt.line), err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: want an error with %q, got %v", clip(tt.line), tt.want, err)
		}
	}
}

// TestFormat shows that values survive being read and written.
func TestFormat(t *testing.T) {
	for _, text := range []string{
		`{"b":1,"a":[null,true,false,"<re:a&b>",1.50,-0,{}],"":[]}`, `"\u2028 \" \\ é"`, `12345678901234567890.000`, `[]`,
	} {
		v, err := parseValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := format(v); got != text {
			t.Errorf("want %s, got %s", text, got)
		}
	}
}

func FuzzParseFrame(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"result":{"a":[1,"x"]}}`)
	f.Add(`{"jsonrpc":"2.0","id":1.0,"error":{"code":-1,"message":"x"}}`)
	f.Add(`[[[`)
	f.Fuzz(func(t *testing.T, line string) {
		fr, err := parseFrame(line)
		if err != nil {
			return
		}
		again, err := parseFrame(format(fr.value))
		if err != nil {
			t.Fatalf("%q: does not survive formatting: %v", line, err)
		}
		if got, want := format(again.value), format(fr.value); got != want {
			t.Fatalf("%q: formatted once %s, twice %s", line, want, got)
		}
	})
}
