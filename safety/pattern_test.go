package safety

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// goodRule is the example of the protocol's documentation.
const goodRule = `{
	"id": "my-org-no-prod-db", "label": "No direct prod DB",
	"description": "Block any psql/mysql against the prod hostname.",
	"pattern": "(psql|mysql).*--host.*prod-db", "category": "data", "severity": "critical", "platform": "all"
}`

func TestPatternDecoding(t *testing.T) {
	var got Pattern
	if err := json.Unmarshal([]byte(goodRule), &got); err != nil {
		t.Fatal(err)
	}
	want := Pattern{
		ID: "my-org-no-prod-db", Label: "No direct prod DB", Description: "Block any psql/mysql against the prod hostname.",
		Pattern: "(psql|mysql).*--host.*prod-db", Category: "data", Severity: Critical, Platform: PlatformAll,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	back, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var again Pattern
	if err := json.Unmarshal(back, &again); err != nil || again != got {
		t.Errorf("%s reads back as %+v, %v", back, again, err)
	}
}

func TestPatternDecodingIsStrict(t *testing.T) {
	edit := func(old, text string) string { return strings.Replace(goodRule, old, text, 1) }
	for _, tt := range []struct{ name, json, field, hint string }{
		{"unknown member", edit(`"id"`, `"extra": "x", "id"`), "extra", "not a field of a rule"},
		{"member in another case", edit(`"label"`, `"Label"`), "Label", "not a field of a rule"},
		{"missing member", edit(`"category": "data", `, ``), "category", "required"},
		{"repeated member", edit(`"category"`, `"id": "b", "category"`), "id", "given twice"},
		{"number", edit(`"data"`, `7`), "category", "must be a string"},
		{"null", edit(`"data"`, `null`), "category", "must be a string"},
		{"object", edit(`"data"`, `{"a":"b"}`), "category", "must be a string"},
		{"array instead of a rule", `[]`, "rule", "must be an object"},
		{"string instead of a rule", `"x"`, "rule", "must be an object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p Pattern
			err := p.UnmarshalJSON([]byte(tt.json))
			e, ok := errors.AsType[*PatternError](err)
			if !ok || e.Field != tt.field || e.Hint != tt.hint || !errors.Is(err, ErrPatternField) {
				t.Errorf("error %v, want field %s: %s", err, tt.field, tt.hint)
			}
		})
	}
	for _, broken := range []string{"", "{", `{"id"`, `{"id":`, `{"id":}`} {
		var p Pattern
		if err := p.UnmarshalJSON([]byte(broken)); err == nil {
			t.Errorf("%q decodes", broken)
		}
	}
}

func TestDecodePatterns(t *testing.T) {
	bad := strings.Replace(goodRule, "(psql", "(?=psql", 1)
	missing := strings.Replace(goodRule, `"platform"`, `"platforms"`, 1)
	got, err := DecodePatterns([]byte("[" + bad + "," + goodRule + "," + missing + "]"))
	if len(got) != 1 || got[0].ID != "my-org-no-prod-db" {
		t.Errorf("rules %v, want the good one", got)
	}
	if !errors.Is(err, ErrPatternSyntax) || !errors.Is(err, ErrPatternField) {
		t.Errorf("error %v, want both faults", err)
	}
	if got, err := DecodePatterns([]byte("[]")); err != nil || got != nil {
		t.Errorf("an empty list gives %v, %v", got, err)
	}
	for _, broken := range []string{"", "{}", "[", "[] []", `"x"`, "[]x"} {
		if _, err := DecodePatterns([]byte(broken)); err == nil {
			t.Errorf("%q is accepted", broken)
		}
	}
}

// testPattern is a valid rule with one thing changed.
func testPattern(change func(*Pattern)) Pattern {
	p := Pattern{ID: "x", Pattern: "a", Severity: Warning, Platform: PlatformAll}
	if change != nil {
		change(&p)
	}
	return p
}

func TestPatternValidation(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Pattern)
		field  string // empty if valid
	}{
		{"texts may be empty", nil, ""},
		{"longest expression", func(p *Pattern) { p.Pattern = strings.Repeat("a", MaxPattern) }, ""},
		{"no id", func(p *Pattern) { p.ID = "" }, "id"},
		{"no expression", func(p *Pattern) { p.Pattern = "" }, "pattern"},
		{"safe is no severity of a rule", func(p *Pattern) { p.Severity = Safe }, "severity"},
		{"no severity", func(p *Pattern) { p.Severity = "" }, "severity"},
		{"severity in another case", func(p *Pattern) { p.Severity = "Critical" }, "severity"},
		{"no platform", func(p *Pattern) { p.Platform = "" }, "platform"},
		{"unknown platform", func(p *Pattern) { p.Platform = "macos" }, "platform"},
		{"expression too long", func(p *Pattern) { p.Pattern = strings.Repeat("a", MaxPattern+1) }, "pattern"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := testPattern(tt.change).Validate()
			if tt.field == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if e, ok := errors.AsType[*PatternError](err); !ok || e.Field != tt.field || !errors.Is(err, ErrPatternField) {
				t.Errorf("error %v, want field %s", err, tt.field)
			}
		})
	}
}

// Every construct of PCRE, Python and JavaScript that package regexp lacks, or
// reads otherwise, is refused with its place.
func TestForeignExpressions(t *testing.T) {
	for _, tt := range []struct {
		pattern, construct string
		offset             int
	}{
		{`a(?=b)`, `(?=`, 1},
		{`a(?!b)`, `(?!`, 1},
		{`(?<=a)b`, `(?<=`, 0},
		{`x(?<!a)b`, `(?<!`, 1},
		{`(a)\1`, `\1`, 3},
		{`(?P<n>a)(?P=n)`, `(?P=`, 8},
		{`(?<n>a)\k<n>`, `\k`, 7},
		{`(?<n>a)\g{n}`, `\g`, 7},
		{`(?>a+)b`, `(?>`, 0},
		{`(?P>n)`, `(?P>`, 0},
		{`(?R)`, `(?R`, 0},
		{`(?&n)`, `(?&`, 0},
		{`(?|a|b)`, `(?|`, 0},
		{`(?(1)a|b)`, `(?(`, 0},
		{`a++`, `++`, 1},
		{`a*+b`, `*+`, 1},
		{`a?+b`, `?+`, 1},
		{`a{2}+b`, `}+`, 3},
		{`\u0041`, `\u`, 0},
		{`a\cA`, `\c`, 1},
		{`a\Z`, `\Z`, 1},
		{`\e[0m`, `\e`, 0},
		{`a\hb`, `\h`, 1},
		{`a\R`, `\R`, 1},
		{`a\Kb`, `\K`, 1},
		{`\Ga`, `\G`, 0},
		{`\X`, `\X`, 0},
		{`\N`, `\N`, 0},
		{`[a\e]`, `\e`, 2},
		{`a(?#note)b`, `(?#`, 1},
		{`(?x)a b`, `(?x)`, 0},
		{`(?ix:a)`, `(?ix:`, 0},
		{`[^]`, `[^]`, 0},
		{`x[]a]`, `[]`, 1},
		{`a{,3}`, `{,3}`, 1},
		{`a{1001}`, `{1001}`, 1},
		{`a{2,5000}`, `{2,5000}`, 1},
		{`a\`, `\`, 1},
	} {
		err := testPattern(func(p *Pattern) { p.Pattern = tt.pattern }).Validate()
		e, ok := errors.AsType[*PatternError](err)
		if !ok || !errors.Is(err, ErrPatternSyntax) {
			t.Errorf("%s: error %v, want a refused construct", tt.pattern, err)
			continue
		}
		if e.ID != "x" || e.Field != "pattern" || e.Construct != tt.construct || e.Offset != tt.offset || e.Hint == "" {
			t.Errorf("%s: got %q at %d (%s), want %q at %d", tt.pattern, e.Construct, e.Offset, e.Hint, tt.construct, tt.offset)
		}
		for _, part := range []string{`"x"`, "at offset", e.Hint} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not name %s", tt.pattern, err, part)
			}
		}
	}
}

func TestInvalidExpressionsOfEveryDialect(t *testing.T) {
	for pattern, offset := range map[string]int{"a(b": 0, "a)": 0, "[z-a]": 1, "ab**": 1, "a[[:nope:]]": 2, `\pX{`: 0} {
		err := testPattern(func(p *Pattern) { p.Pattern = pattern }).Validate()
		e, ok := errors.AsType[*PatternError](err)
		if !ok || !errors.Is(err, ErrPatternSyntax) || e.Hint == "" {
			t.Errorf("%s: error %v, want a syntax error", pattern, err)
			continue
		}
		if _, compile := regexp.Compile(pattern); compile == nil {
			t.Errorf("%s compiles; the case is wrong", pattern)
		}
		if e.Offset > len(pattern) || e.Offset < 0 {
			t.Errorf("%s: offset %d, want about %d", pattern, e.Offset, offset)
		}
	}
}

func TestAcceptedExpressions(t *testing.T) {
	for _, pattern := range []string{
		`(?<n>a)`, `(?P<n>a)`, `a\/b\-c\_d`, `(?i)a`, `(?:a|b)`, `(?i:a)b`, `a+?`, `a*?b`, `a{2,}?`, `a{2}`, `{`, `a{`, `a{x}`, `a{b,c}`,
		`[[:alpha:]_]`, `[\]]`, `[^\]]`, `\Qa++(?=\E`, `\Qa`, `a+\+`, `[+]+`, `(a)+`, `\bword\b`, `\x41`, `\pL`, `a{1000}`, `^$`, `[a-z]*`, `(?s).`, `a|b`,
	} {
		if err := testPattern(func(p *Pattern) { p.Pattern = pattern }).Validate(); err != nil {
			t.Errorf("%s is refused: %v", pattern, err)
		}
	}
}

func TestPlatforms(t *testing.T) {
	for in, want := range map[string]Platform{"": PlatformAll, "all": PlatformAll, "unix": PlatformUnix, "windows": PlatformWindows} {
		if got, err := ParsePlatform(in); err != nil || got != want {
			t.Errorf("ParsePlatform(%q) = %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"Unix", "linux", " unix"} {
		if _, err := ParsePlatform(in); err == nil {
			t.Errorf("ParsePlatform(%q) is accepted", in)
		}
	}
	for _, tt := range []struct {
		rule, command Platform
		want          bool
	}{
		{PlatformAll, PlatformUnix, true},
		{PlatformUnix, PlatformUnix, true},
		{PlatformWindows, PlatformUnix, false},
		{PlatformUnix, PlatformWindows, false},
		{PlatformWindows, PlatformAll, true},
		{PlatformWindows, "beos", true}, // a mistake switches nothing off
		{PlatformUnix, "", true},
	} {
		if got := tt.rule.covers(tt.command); got != tt.want {
			t.Errorf("%s covers %q: %v, want %v", tt.rule, tt.command, got, tt.want)
		}
	}
}

func TestSeverityOrder(t *testing.T) {
	order := []Severity{Safe, Warning, Critical, "catastrophic"}
	for i, a := range order {
		for j, b := range order {
			if got := a.AtLeast(b); got != (i >= j) {
				t.Errorf("%s at least %s: %v", a, b, got)
			}
		}
	}
	if Severity("").AtLeast(Critical) != true {
		t.Error("the zero severity is less than critical")
	}
}

// FuzzPattern demands that whatever validates also compiles and never panics.
func FuzzPattern(f *testing.F) {
	f.Add(goodRule)
	for _, p := range []string{`a(?=b)`, `[^]`, `\Qa\E`, `a{,3}`, `(?x)`, `a\`} {
		data, _ := json.Marshal(testPattern(func(r *Pattern) { r.Pattern = p }))
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		var p Pattern
		if p.UnmarshalJSON([]byte(text)) != nil || p.Validate() != nil {
			return
		}
		if _, err := regexp.Compile(p.Pattern); err != nil {
			t.Errorf("%q validates but does not compile: %v", p.Pattern, err)
		}
		c, err := newClassifier(t, SetReference).With(p)
		if errors.Is(err, ErrPatternDuplicate) {
			return
		}
		if err != nil {
			t.Fatalf("%q validates but is not registered: %v", text, err)
		}
		slow := regexp.MustCompile(p.expression())
		for _, cmd := range []string{text, p.Pattern, strings.ToUpper(p.Pattern), "ls"} {
			cmd = strings.TrimSpace(cmd)
			got := c.Classify(cmd, PlatformAll).MatchedRules
			if want := cmd != "" && slow.MatchString(cmd); want != (len(got) > 0 && got[len(got)-1] == p.ID) && len(cmd) <= MaxLine {
				t.Errorf("rule %q on %q: %v, want %v", p.Pattern, cmd, got, want)
			}
		}
	})
}
