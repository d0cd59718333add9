package schemas

import (
	"encoding/json"
	"errors"
	"testing"
)

// fastSchemas are schemas in every form that a table understands.
func fastSchemas() []string {
	return []string{
		`true`, `false`, `{}`, `{"title":"t","description":"d","default":5,"examples":[1],"format":"date","deprecated":true}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"null"}`,
		`{"type":"integer"}`, `{"type":"number"}`, `{"type":["integer","string"]}`, `{"type":["integer","number"]}`, `{"type":["object","array","null","boolean"]}`,
		`{"enum":["a","é",null,true]}`, `{"enum":["a",null],"type":"string"}`, `{"const":"a\"b"}`, `{"const":false}`, `{"const":null}`, `{"type":["boolean","null"],"enum":[true,null,"x"]}`,
		`{"minLength":2}`, `{"maxLength":2}`, `{"minLength":1,"maxLength":1}`, `{"maxLength":0}`, `{"enum":["abc","d"],"minLength":2}`,
		`{"pattern":"^a+$"}`, `{"pattern":"\u00e9|\\n"}`, `{"pattern":"","maxLength":3}`,
		`{"minimum":1}`, `{"maximum":1}`, `{"exclusiveMinimum":1}`, `{"exclusiveMaximum":1}`, `{"minimum":-5,"exclusiveMaximum":9007199254740993}`, `{"type":"integer","minimum":0,"maximum":0}`,
		`{"properties":{"a":{"type":"string"},"b":false}}`, `{"required":["a"],"properties":{"a":true}}`, `{"additionalProperties":false}`,
		`{"properties":{"a":{}},"additionalProperties":{"type":"integer"}}`, `{"minProperties":1,"maxProperties":2}`, `{"properties":{"a":{"properties":{"a":{"type":"null"}},"required":["a"]}}}`,
		`{"properties":{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{},"g":{},"h":{},"i":{"type":"integer"},"\u00e9":{"type":"null"}},"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{},"b":{},"c":{}},"anyOf":[{"required":["a"]},{"required":["b","c"]}]}`,
		`{"type":"object","properties":{"a":{},"b":{},"c":{}},"oneOf":[{"required":["a"]},{"required":["b","c"]}]}`, `{"properties":{"a":{}},"oneOf":[{"required":["a"]}]}`,
		`{"items":{"type":"integer"}}`, `{"minItems":1,"maxItems":2}`, `{"items":false}`, `{"items":{"items":{"type":"string"}},"maxItems":1}`,
		`{"anyOf":[{"type":"string","maxLength":1},{"type":"null"}]}`, `{"oneOf":[{"type":"integer","minimum":2},{"type":"array","items":{"type":"string"}},{"type":"object","required":["a"],"properties":{"a":true}}]}`, `{"anyOf":[{"const":true},{"enum":["a","b"]}]}`,
		`{"$defs":{"x":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/x","description":"d"},"b":{"$ref":"#/$defs/x"}}}`, `{"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"maximum":1}},"$ref":"#/$defs/x"}`,
	}
}

// slowSchemas are valid schemas that are left to the complete engine.
func slowSchemas() []string {
	return []string{
		`{"not":{"type":"string"}}`, `{"allOf":[{"minimum":1},{"maximum":2}]}`, `{"if":{"type":"string"},"then":{"minLength":2}}`,
		`{"enum":[1,"a"]}`, `{"enum":[[1]]}`, `{"const":1.0}`, `{"const":{"a":1}}`, `{"enum":["a"],"const":"a"}`,
		`{"minimum":0.5}`, `{"multipleOf":2}`, `{"minLength":2.0}`, `{"uniqueItems":true}`, `{"prefixItems":[{"type":"string"}]}`, `{"contains":{"type":"null"}}`,
		`{"propertyNames":{"maxLength":1}}`, `{"patternProperties":{"^a":{"type":"null"}}}`, `{"dependentRequired":{"a":["b"]}}`, `{"required":["a"]}`, `{"unevaluatedProperties":false}`,
		`{"anyOf":[{"type":"string"},{"maxLength":2}]}`, `{"anyOf":[{"type":"integer"},{"type":"number"}]}`, `{"anyOf":[{"type":"string"},{"type":"null"}],"maxLength":1}`, `{"properties":{"a":{}},"anyOf":[{"required":["a"]},{"type":"null"}]}`,
		`{"properties":{"a":{}},"anyOf":[{"required":["a"]}],"oneOf":[{"required":["a"]}]}`, `{"anyOf":[{"required":["a"]}]}`, `{"properties":{"a":{"$defs":{"x":true}}}}`,
		`{"properties":{"a":{}},"oneOf":[{"required":["a"]},{"required":[]}]}`, `{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}`, `{"$defs":{"x":{"items":{"$ref":"#/$defs/x"}}},"$ref":"#/$defs/x"}`, `{"$ref":"#/$defs/x","maxLength":1,"$defs":{"x":{"type":"string"}}}`, `{"properties":{"a":{"type":"null"},"b":{"$ref":"#/properties/a"}}}`,
		`{"$id":"urn:x","type":"null"}`, `{"$anchor":"a","type":"null"}`, `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"null"}]}`, `{"x-note":1,"type":"string"}`, `{"$defs":{"a/b":{"type":"null"}},"$ref":"#/$defs/a~1b"}`,
	}
}

// brokenSchemas are documents that are no schemas.
func brokenSchemas() []string {
	return []string{
		`null`, `5`, `"x"`, `[]`, `{"type":5}`, `{"type":"strin"}`, `{"type":[]}`, `{"type":["null","null"]}`, `{"title":5}`, `{"format":1}`, `{"examples":1}`, `{"deprecated":0}`,
		`{"enum":"a"}`, `{"minLength":-1}`, `{"minLength":"1"}`, `{"maxLength":1.5}`, `{"pattern":"("}`, `{"pattern":5}`, `{"minimum":"1"}`, `{"required":"a"}`, `{"required":["a","a"],"properties":{"a":true}}`,
		`{"required":[1]}`, `{"properties":[]}`, `{"properties":{"a":5}}`, `{"additionalProperties":"x"}`, `{"items":5}`, `{"items":[{"type":"null"}]}`, `{"anyOf":[]}`, `{"anyOf":{"a":1}}`, `{"oneOf":[{"type":"null"},5]}`, `{"$defs":[]}`, `{"$defs":{"a":{"type":1}}}`,
		`{"$ref":"#"}`, `{"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"$ref":"#/$defs/x"}},"$ref":"#/$defs/x"}`, `{"$ref":5}`, `{"$ref":"#/$defs/x"}`, `{"$ref":"#x"}`, `{"$schema":5}`, `{"$schema":"x"}`,
	}
}

// instances is what schemas are tried on.
func instances() []string {
	return []string{
		`null`, `true`, `false`, `""`, `"a"`, `"aa"`, `"aaa"`, `"é"`, `"éé"`, `"\u0061"`, `"\n"`, `"\ud83d\ude00"`, `"\ud83d\ude00\ud83d\ude00"`, `"\ud800"`, `"\ud800\ud800"`, `"abc"`, `"d"`, `"a\"b"`, `"b"`,
		`0`, `-0`, `1`, `2`, `-1`, `-5`, `-6`, `1.0`, `1.5`, `0.5`, `0.9999999999999999999999`, `1.0000000000000000000001`, `10e-1`, `100e-2`, `2e0`, `1e2`, `-1e-7`, `9007199254740992`, `9007199254740993`, `9007199254740994`,
		`123456789012345678`, `1234567890123456789`, `12345678901234567890123`, `-99999999999999999999`, `18446744073709551617`, `36893488147419103232`, `-18446744073709551615`, `1e400`, `1e401`, `1e999999999`, `-1e999999999`, `1e-999999999`, `0e999999999`, `0.0`, `5e-1`,
		`[]`, `[1]`, `[1,2]`, `[1,2,3]`, `["a"]`, `[["a"]]`, `[[1]]`, `[null]`, `[1,1]`, `[1,1.0]`, `[{"a":1}]`,
		`{}`, `{"a":1}`, `{"a":"x"}`, `{"a":null}`, `{"b":1}`, `{"b":1,"c":2}`, `{"a":1,"b":1,"c":2}`, `{"a":1,"c":2}`, `{"a":{"a":null}}`, `{"a":{"a":{"a":null}}}`, `{"A":1}`, `{"\u0061":1}`, `{"é":null}`, `{"\u00e9":5}`, `{"i":"x"}`, `{"i":1,"z":1}`, `{"ab":null,"b":1}`,
		``, `{"a":1,"a":2}`, `{"a":1}x`, `[1,]`, "\"\xff\"", `{"z":{"z":1,"z":1}}`, `[[[[[[[[]]]]]]]]`,
	}
}

func TestTablesAgreeOnKeywords(t *testing.T) {
	for _, schema := range fastSchemas() {
		doc, err := decodeNumbers([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		root, err := buildAlone(doc)
		if err != nil {
			t.Errorf("%s: no table: %v", schema, err)
			continue
		}
		slow, err := newToolJudge([]byte(schema))
		if err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		for _, instance := range instances() {
			agree(t, schema, &table{root: root}, slow, []byte(instance))
		}
	}
}

func TestTablesRefuseWhatTheyDoNotKnow(t *testing.T) {
	for _, schema := range append(slowSchemas(), brokenSchemas()...) {
		doc, err := decodeNumbers([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		var unsupported *unsupportedError
		if _, err := buildAlone(doc); !errors.As(err, &unsupported) || unsupported.Error() == "" {
			t.Errorf("%s: %v, want it refused", schema, err)
		}
	}
	for _, schema := range slowSchemas() {
		if _, err := CompileTool(json.RawMessage(schema)); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
	for _, schema := range brokenSchemas() {
		if _, err := CompileTool(json.RawMessage(schema)); !errors.Is(err, ErrToolSchema) {
			t.Errorf("%s: %v, want it refused", schema, err)
		}
	}
}

// TestUnsupportedNamesThePlace keeps the reason for a slow schema findable.
func TestUnsupportedNamesThePlace(t *testing.T) {
	for _, tt := range []struct{ schema, want string }{
		{`{"not":{}}`, "#: unsupported not"},
		{`{"properties":{"a":{"multipleOf":2}}}`, "#/properties/a: unsupported multipleOf"},
		{`{"items":{"additionalProperties":{"minimum":0.5}}}`, "#/items/additionalProperties: unsupported minimum"},
		{`{"$defs":{"x":{"if":true}}}`, "#/$defs/x: unsupported if"},
		{`{"$ref":"#"}`, "#: unsupported cycle"},
		{`{"$ref":"urn:steerable:schema:0.1.0:chat/Usage"}`, "chat/Usage: unsupported $ref"},
		{`{"anyOf":[{"type":"string"},{"type":"string"}]}`, "#: unsupported anyOf"},
		{`{"properties":{"a":[]}}`, "#/properties/a: unsupported schema"},
	} {
		doc, err := decodeNumbers([]byte(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := buildAlone(doc); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.schema, err, tt.want)
		}
	}
}

// TestTooManyProperties is about the limit of a rule's sets.
func TestTooManyProperties(t *testing.T) {
	for _, n := range []int{64, 65} {
		props := map[string]any{}
		for k := range n {
			props[string(rune('A'+k))] = map[string]any{"type": "null"}
		}
		schema, err := json.Marshal(map[string]any{"properties": props, "additionalProperties": false})
		if err != nil {
			t.Fatal(err)
		}
		tool, err := CompileTool(schema)
		if err != nil {
			t.Fatal(err)
		}
		if _, fast := tool.engine.(*table); fast != (n <= 64) {
			t.Errorf("%d properties: table %t", n, fast)
		}
		last := string(rune('A' + n - 1))
		if err := tool.Check([]byte(`{"` + last + `":null}`)); err != nil {
			t.Errorf("%d properties: %v", n, err)
		}
		if err := tool.Check([]byte(`{"` + last + `":1}`)); err == nil {
			t.Errorf("%d properties: the last one is not checked", n)
		}
	}
}

// FuzzToolSchema compares the engines on any schema: what a table accepts must
// be a schema, and must mean the same.
func FuzzToolSchema(f *testing.F) {
	for k, schema := range append(append(fastSchemas(), slowSchemas()...), brokenSchemas()...) {
		f.Add([]byte(schema), []byte(instances()[k%len(instances())]))
		f.Add([]byte(schema), []byte(instances()[(k*7+3)%len(instances())]))
	}
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		tool, err := CompileTool(schema)
		if err != nil {
			return
		}
		fast, ok := tool.engine.(*table)
		if !ok {
			_ = tool.Check(args) // must not panic
			return
		}
		slow, err := newToolJudge(schema)
		if err != nil {
			t.Fatalf("%s has a table, but v5 says %v", schema, err)
		}
		agree(t, string(schema), fast, slow, args)
	})
}
