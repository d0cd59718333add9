package schemas

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestToolSchema(t *testing.T) {
	const read = `{"type":"object","properties":{"path":{"type":"string","minLength":1},"limit":{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}]},
		"mode":{"enum":["text","binary"]}},"required":["path"],"additionalProperties":false}`
	const edit = `{"type":"object","properties":{"ranges":{"type":"array","items":{"type":"object","properties":{"from":{"type":"integer","multipleOf":2}}},"uniqueItems":true},
		"mail":{"type":"string","format":"email"}},"required":["ranges"],"not":{"required":["force"]}}`
	for _, tt := range []struct{ name, schema, args, pointer, keyword string }{
		{"fits", read, `{"path":"a","limit":5,"mode":"text"}`, "", ""},
		{"null alternative", read, `{"path":"a","limit":null}`, "", ""},
		{"missing", read, `{"limit":5}`, "", "required"},
		{"too short", read, `{"path":""}`, "/path", "minLength"},
		{"wrong alternative", read, `{"path":"a","limit":"5"}`, "/limit", "anyOf"},
		{"bound in an alternative", read, `{"path":"a","limit":0}`, "/limit", "minimum"},
		{"unknown", read, `{"path":"a","Limit":5}`, "/Limit", "additionalProperties"},
		{"no object", read, `["a"]`, "", "type"},
		{"v5 fits", edit, `{"ranges":[{"from":2}]}`, "", ""},
		{"v5 takes format as an annotation", edit, `{"ranges":[],"mail":"nobody"}`, "", ""},
		{"v5 missing", edit, `{}`, "", "required"},
		{"v5 multiple", edit, `{"ranges":[{"from":2},{"from":3}]}`, "/ranges/1/from", "multipleOf"},
		{"v5 unique", edit, `{"ranges":[{"from":2},{"from":2}]}`, "/ranges", "uniqueItems"},
		{"v5 not", edit, `{"ranges":[],"force":true}`, "", "not"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tool, err := CompileTool(json.RawMessage(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			err = tool.Check([]byte(tt.args))
			var v *ValidationError
			switch {
			case tt.keyword == "":
				if err != nil {
					t.Errorf("%v, want it accepted", err)
				}
			case !errors.As(err, &v) || v.Pointer != tt.pointer || v.Keyword != tt.keyword:
				t.Errorf("%+v, want %s at %q", err, tt.keyword, tt.pointer)
			case len(v.Error()) > 300:
				t.Errorf("%d bytes are too much for a model", len(v.Error()))
			}
			var s *SyntaxError
			if err := tool.Check([]byte(tt.args + ",")); !errors.As(err, &s) {
				t.Errorf("broken arguments: %v", err)
			}
		})
	}
}

// TestToolSchemaShortensNames concerns names that a model made up, in both
// engines.
func TestToolSchemaShortensNames(t *testing.T) {
	name := strings.Repeat("é", 100)
	short := "/" + strings.Repeat("é", 32) + "…"
	for _, tt := range []struct{ schema, pointer, message string }{
		{`{"additionalProperties":false}`, short, "unknown member"},
		{`{"additionalProperties":{"type":"null"}}`, short, "must be of type null"},
		{`{"not":{"type":"null"},"additionalProperties":false}`, "", "has an unknown member"},
		{`{"not":{"type":"null"},"additionalProperties":{"type":"null"}}`, short, "expected null, but got number"},
	} {
		tool, err := CompileTool(json.RawMessage(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		var v *ValidationError
		if err := tool.Check([]byte(`{"` + name + `":5}`)); !errors.As(err, &v) || v.Pointer != tt.pointer || v.Message != tt.message {
			t.Errorf("%s: %+v, want %q at %q", tt.schema, err, tt.message, tt.pointer)
		}
	}
}

func TestCompileToolRefuses(t *testing.T) {
	deep := strings.Repeat(`{"not":`, maxToolDepth+1) + `{}` + strings.Repeat(`}`, maxToolDepth+1)
	for _, tt := range []struct{ name, schema, want string }{
		{"web reference", `{"$ref":"https://example.com/x.json"}`, "reference to https://example.com/x.json"},
		{"file reference", `{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, "reference to"},
		{"relative reference", `{"$ref":"other.json"}`, ""},
		{"reference to our own schemas", `{"$ref":"urn:steerable:schema:0.1.0:chat/Usage"}`, "reference to urn:steerable"},
		{"reference behind an own base", `{"$id":"https://example.com/","$ref":"x.json"}`, "reference to"},
		{"dynamic reference", `{"$dynamicRef":"https://example.com/x.json#a"}`, "reference to"},
		{"own meta-schema", `{"$schema":"https://example.com/meta"}`, "reference to"},
		{"too large", `{"description":"` + strings.Repeat("x", MaxToolSchema) + `"}`, "larger than"},
		{"too deep", deep, "nested deeper than"},
		{"number out of range", `{"minimum":1e999999999}`, "number"},
		{"look-ahead", `{"pattern":"^(?=a)"}`, ""},
		{"look-ahead in a name", `{"patternProperties":{"(?!a)":{}}}`, ""},
		{"wrong type", `{"properties":{"a":{"type":"strng"}}}`, "/properties/a/type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tool, err := CompileTool(json.RawMessage(tt.schema))
			if !errors.Is(err, ErrToolSchema) || tool != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want an unusable schema and %q", err, tt.want)
			}
			if err != nil && len(err.Error()) > 400 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
	for _, text := range []string{``, `{`, `{"type":"null","type":"object"}`, `{} {}`} {
		var s *SyntaxError
		if _, err := CompileTool(json.RawMessage(text)); !errors.As(err, &s) {
			t.Errorf("%q: %v, want a syntax error", text, err)
		}
	}
}

// TestToolSchemaWorkIsBounded has references that double the work on each of 30
// levels.
func TestToolSchemaWorkIsBounded(t *testing.T) {
	var defs []string
	for k := range 30 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, k, k+1, k+1))
	}
	schema := `{"if":{"type":"number"},"then":{"$ref":"#/$defs/d0"},"$defs":{` + strings.Join(defs, ",") + `,"d30":{"not":{"type":"string"}}}}`
	tool, err := CompileTool(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := tool.Check([]byte(`1`)); err == nil {
		t.Error("arguments that were not fully checked are accepted")
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	// The next check starts with a full allowance.
	if err := tool.Check([]byte(`"x"`)); err != nil {
		t.Error(err)
	}
}

func TestToolSchemaNumberBombs(t *testing.T) {
	for _, schema := range []string{`{"type":"integer","minimum":0}`, `{"type":"integer","multipleOf":3}`, `{"items":{"type":"integer"},"uniqueItems":true}`} {
		tool, err := CompileTool(json.RawMessage(schema))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for _, args := range []string{`1e999999999`, `-1e999999999`, `1e-999999999`, strings.Repeat("9", 1<<20), `0.` + strings.Repeat("1", 1<<20), `[1e999999999,1e999999998]`} {
			_ = tool.Check([]byte(args))
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s took %v", schema, took)
		}
	}
}

// TestRational pins what becomes of numbers beyond exact arithmetic.
func TestRational(t *testing.T) {
	for _, tt := range []struct {
		text    string
		sign    int
		integer bool
	}{
		{"0", 0, true},
		{"-0.0", 0, true},
		{"0e999999999", 0, true},
		{"1.50", 1, false},
		{"15e-1", 1, false},
		{"20e-1", 1, true},
		{"1e400", 1, true},
		{"1e401", 1, true},
		{"-1e999999999", -1, true},
		{"1e99999999999999999999", 1, true},
		{"1e-401", 1, false},
		{"-1E-999999999", -1, false},
		{strings.Repeat("9", 200), 1, true},
		{"-" + strings.Repeat("9", 400), -1, true},
		{"0." + strings.Repeat("0", 400) + "1", 1, false},
	} {
		v := rational(tt.text)
		if v.Sign() != tt.sign || v.IsInt() != tt.integer {
			t.Errorf("%.30s: sign %d, integer %t; want %d, %t", tt.text, v.Sign(), v.IsInt(), tt.sign, tt.integer)
		}
	}
}

func TestToolSchemaConcurrently(t *testing.T) {
	for _, schema := range []string{`{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}`, `{"allOf":[{"required":["a"]}],"properties":{"a":{"type":"integer"}}}`} {
		tool, err := CompileTool(json.RawMessage(schema))
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for k := range 8 {
			wg.Go(func() {
				for range 50 {
					args, want := `{"a":1}`, true
					if k%2 == 0 {
						args, want = `{"a":"x"}`, false
					}
					if err := tool.Check([]byte(args)); (err == nil) != want {
						t.Errorf("%s: %v", args, err)
					}
				}
			})
		}
		wg.Wait()
	}
}
