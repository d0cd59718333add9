package schemas

import (
	"encoding/json"
	"errors"
	"testing"
)

// TestVerdicts states, keyword by keyword, what JSON Schema says, without asking
// either engine. want is the keyword that is violated, or empty.
func TestVerdicts(t *testing.T) {
	for _, tt := range []struct{ schema, instance, pointer, want string }{
		{`true`, `{"a":[1,"x",null]}`, "", ""},
		{`false`, `null`, "", "false"},
		{`{}`, `[]`, "", ""},

		{`{"type":"integer"}`, `5`, "", ""},
		{`{"type":"integer"}`, `5.0`, "", ""},
		{`{"type":"integer"}`, `50e-1`, "", ""},
		{`{"type":"integer"}`, `5.5`, "", "type"},
		{`{"type":"integer"}`, `1e-400`, "", "type"},
		{`{"type":"integer"}`, `"5"`, "", "type"},
		{`{"type":"number"}`, `5.5`, "", ""},
		{`{"type":"number"}`, `true`, "", "type"},
		{`{"type":"boolean"}`, `false`, "", ""},
		{`{"type":"boolean"}`, `0`, "", "type"},
		{`{"type":"boolean"}`, `null`, "", "type"},
		{`{"type":"null"}`, `null`, "", ""},
		{`{"type":"null"}`, `false`, "", "type"},
		{`{"type":"object"}`, `[]`, "", "type"},
		{`{"type":"array"}`, `{}`, "", "type"},
		{`{"type":"string"}`, `{}`, "", "type"},
		{`{"type":["string","null"]}`, `null`, "", ""},
		{`{"type":["string","null"]}`, `1`, "", "type"},

		{`{"const":"a"}`, `"\u0061"`, "", ""},
		{`{"const":"a"}`, `"A"`, "", "const"},
		{`{"const":true}`, `true`, "", ""},
		{`{"const":true}`, `false`, "", "const"},
		{`{"const":null}`, `null`, "", ""},
		{`{"enum":["a","b",null]}`, `"b"`, "", ""},
		{`{"enum":["a","b",null]}`, `null`, "", ""},
		{`{"enum":["a","b",null]}`, `"c"`, "", "enum"},
		{`{"enum":["a","b",null]}`, `["a"]`, "", "enum"},

		{`{"minLength":2}`, `"é"`, "", "minLength"},
		{`{"minLength":2}`, `"éé"`, "", ""},
		{`{"minLength":2}`, `"\ud83d\ude00"`, "", "minLength"},
		{`{"minLength":1}`, `""`, "", "minLength"},
		{`{"minLength":1}`, `"\n"`, "", ""},
		{`{"minLength":2}`, `5`, "", ""},
		{`{"maxLength":2}`, `"éé"`, "", ""},
		{`{"maxLength":2}`, `"\u00e9\u00e9"`, "", ""},
		{`{"maxLength":2}`, `"\u00e9\u00e9\u00e9"`, "", "maxLength"},
		{`{"maxLength":1}`, `"\ud83d\ude00"`, "", ""},
		{`{"maxLength":0}`, `"x"`, "", "maxLength"},
		{`{"pattern":"^a\\d$"}`, `"a1"`, "", ""},
		{`{"pattern":"^a\\d$"}`, `"a\u0031"`, "", ""},
		{`{"pattern":"^a\\d$"}`, `"a1\n"`, "", "pattern"},
		{`{"pattern":"a"}`, `"bab"`, "", ""},
		{`{"pattern":"a"}`, `1`, "", ""},

		{`{"minimum":1}`, `1`, "", ""},
		{`{"minimum":1}`, `0.99999999999999999999`, "", "minimum"},
		{`{"minimum":1}`, `-99999999999999999999`, "", "minimum"},
		{`{"exclusiveMinimum":1}`, `1`, "", "exclusiveMinimum"},
		{`{"exclusiveMinimum":1}`, `1.00000000000000000001`, "", ""},
		{`{"maximum":1}`, `1.0`, "", ""},
		{`{"maximum":1}`, `18446744073709551617`, "", "maximum"},
		{`{"maximum":1}`, `1e999999999`, "", "maximum"},
		{`{"exclusiveMaximum":1}`, `1e0`, "", "exclusiveMaximum"},
		{`{"exclusiveMaximum":1}`, `0.9`, "", ""},
		{`{"maximum":1}`, `"5"`, "", ""},

		{`{"properties":{"a":{"type":"null"}}}`, `{"a":1}`, "/a", "type"},
		{`{"properties":{"a":{"type":"null"}}}`, `{"A":1}`, "", ""},
		{`{"properties":{"a":{"type":"null"}}}`, `{"\u0061":1}`, "/a", "type"},
		{`{"properties":{"a":false}}`, `{"a":1}`, "/a", "false"},
		{`{"properties":{"a":true},"required":["a"]}`, `{"b":1}`, "", "required"},
		{`{"properties":{"a":true},"required":["a"]}`, `{"a":null}`, "", ""},
		{`{"properties":{"a":true},"required":["a"]}`, `[]`, "", ""},
		{`{"properties":{"a":true},"additionalProperties":false}`, `{"a":1,"b":1}`, "/b", "additionalProperties"},
		{`{"additionalProperties":{"type":"null"}}`, `{"x":{"y":1}}`, "/x", "type"},
		{`{"additionalProperties":{"additionalProperties":{"type":"null"}}}`, `{"x":{"y/~":1}}`, "/x/y~1~0", "type"},
		{`{"minProperties":2}`, `{"a":1}`, "", "minProperties"},
		{`{"minProperties":2}`, `{"a":1,"b":1}`, "", ""},
		{`{"maxProperties":1}`, `{"a":1,"b":1}`, "", "maxProperties"},

		{`{"items":{"type":"null"}}`, `[null,null,0]`, "/2", "type"},
		{`{"items":false}`, `[]`, "", ""},
		{`{"items":false}`, `[0]`, "/0", "false"},
		{`{"minItems":1}`, `[]`, "", "minItems"},
		{`{"maxItems":1}`, `[1]`, "", ""},
		{`{"maxItems":1}`, `[1,2]`, "", "maxItems"},
		{`{"maxItems":0}`, `[1]`, "", "maxItems"},
		{`{"maxItems":0}`, `{}`, "", ""},

		{`{"anyOf":[{"type":"null"},{"type":"string","minLength":1}]}`, `null`, "", ""},
		{`{"anyOf":[{"type":"null"},{"type":"string","minLength":1}]}`, `1`, "", "anyOf"},
		{`{"anyOf":[{"type":"null"},{"type":"array","items":{"type":"null"}}]}`, `[1]`, "/0", "type"},
		{`{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1,"b":1}`, "", ""},
		{`{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, "", "anyOf"},
		{`{"type":"object","properties":{"a":{},"b":{}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1,"b":1}`, "", "oneOf"},
		{`{"type":"object","properties":{"a":{},"b":{}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"b":1}`, "", ""},

		{`{"$defs":{"n":{"type":"null"}},"items":{"$ref":"#/$defs/n"}}`, `[null,1]`, "/1", "type"},
		{`{"format":"email","title":"t","default":7}`, `"nobody"`, "", ""},
	} {
		doc, err := decodeNumbers([]byte(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		root, err := buildAlone(doc)
		if err != nil {
			t.Errorf("%s: %v", tt.schema, err)
			continue
		}
		err = (&table{root: root}).check([]byte(tt.instance))
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s on %s: %v, want it accepted", tt.schema, tt.instance, err)
			}
			continue
		}
		var v *ValidationError
		if !errors.As(err, &v) || v.Pointer != tt.pointer || v.Keyword != tt.want {
			t.Errorf("%s on %s: %+v, want %s at %q", tt.schema, tt.instance, err, tt.want, tt.pointer)
		}
	}
}

// TestMessages pins the words for each keyword: they reach models and people.
func TestMessages(t *testing.T) {
	for _, tt := range []struct{ schema, instance, want string }{
		{`{"type":["string","null"]}`, `1`, "must be of type string or null"},
		{`{"const":"a"}`, `1`, `must be "a"`},
		{`{"enum":["a",null,true]}`, `1`, `must be "a" or null or true`},
		{`{"minLength":3}`, `"a"`, "must have at least 3 characters"},
		{`{"maxLength":3}`, `"aaaa"`, "must not have more than 3 characters"},
		{`{"pattern":"^b"}`, `"a"`, "must match ^b"},
		{`{"minimum":3}`, `1`, "must be at least 3"},
		{`{"maximum":-3}`, `1`, "must be at most -3"},
		{`{"exclusiveMinimum":3}`, `3`, "must be greater than 3"},
		{`{"exclusiveMaximum":3}`, `3`, "must be less than 3"},
		{`{"properties":{"a":{}},"required":["a"]}`, `{}`, "a is required"},
		{`{"additionalProperties":false}`, `{"b":1}`, "/b: unknown member"},
		{`{"minProperties":2}`, `{}`, "must have at least 2 members"},
		{`{"maxProperties":0}`, `{"a":1}`, "must not have more than 0 members"},
		{`{"minItems":2}`, `[]`, "must have at least 2 items"},
		{`{"maxItems":1}`, `[1,2]`, "must not have more than 1 items"},
		{`{"anyOf":[{"type":"null"},{"type":"string"}]}`, `1`, "matches none of the alternatives"},
		{`{"properties":{"a":{},"b":{},"c":{}},"anyOf":[{"required":["a","b"]},{"required":["c"]}]}`, `{}`, "must have a with b or c"},
		{`{"items":false}`, `[1]`, "/0: is not allowed"},
		{`{"not":{}}`, `1`, "not failed"},
		{`{"multipleOf":2}`, `3`, "does not satisfy multipleOf"},
	} {
		tool, err := CompileTool(json.RawMessage(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		if err := tool.Check([]byte(tt.instance)); err == nil || err.Error() != tt.want {
			t.Errorf("%s on %s: %v, want %s", tt.schema, tt.instance, err, tt.want)
		}
	}
}
