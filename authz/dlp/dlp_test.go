package dlp

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/internal/match"
	"github.com/steerable-go/sidecar/authz/internal/match/matchtest"
)

// The published sizes of the two tables.
func TestCounts(t *testing.T) {
	if n := len(lightweight()); n != 15 {
		t.Errorf("%d lightweight patterns, want 15", n)
	}
	if n := len(heavy()); n != 6 {
		t.Errorf("%d heavy patterns, want 6", n)
	}
}

// Made-up tokens, in halves so that no scanner of this repository takes them
// for real ones.
const (
	openAI = "sk-" + "testAAAA1111BBBB2222CCCC3333"
	aws    = "AKIA" + "TESTTESTTESTTEST"
	github = "ghp_" + "abcd1234abcd1234abcd1234abcd1234abcd"
	jwt    = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln"
)

// examples has, for every category, texts in which it must be found and texts
// in which it must not.
func examples() map[string]struct{ yes, no []string } {
	hex40, b64 := strings.Repeat("0a1b2c3d4e", 4), strings.Repeat("abcd/EFGH+", 4)
	type e = struct{ yes, no []string }
	return map[string]e{
		"openai_key":        {[]string{openAI, "key=" + "sk-" + "proj-" + strings.Repeat("a1", 10), "sk-" + "ant-api03-Abcdefghijklmno1"}, []string{"sk-folding-cube-spinner-animation", "sk-short1A", "task-" + "testAAAA1111BBBB2222CCCC", "sk-a1-b2-c3-d4-e5-f6-g7-h8"}},
		"stripe_live_key":   {[]string{"sk_" + "live_x1y2x1y2x1", "rk_" + "live_x1y2x1y2x1"}, []string{"pk_" + "live_x1y2x1y2x1", "sk_" + "live_x1y2x1y2x", "ask_" + "live_x1y2x1y2x1"}},
		"stripe_test_key":   {[]string{"sk_" + "test_x1y2x1y2x1", "rk_" + "test_x1y2x1y2x1"}, []string{"pk_" + "test_x1y2x1y2x1", "sk_" + "prod_x1y2x1y2x1"}},
		"bearer_token":      {[]string{"Authorization: bearer " + "Ab1.Ab1.Ab1.Ab1.Ab1.", "BEARER\n" + "abcdefghijklmnop=="}, []string{"bearer of bad news", "bearer abcdefghijklmno", "forbearer " + "abcdefghijklmnop"}},
		"password":          {[]string{"DB_PASSWORD=\"hunter2hunter2\"", "passwd: /etc/hunter", "password: $2b$10$abcd1234", "pwd => 'hunter2'"}, []string{"password=********", "pwd := xgetwd()", "Password = $env:PFX_PASSWORD", "password is hunter2", "password: ${DB_PASSWORD}", "password=$(cat pw)", "password: <your-password>", "password: {{pw}}", "password: changeme", "password=short"}},
		"aws_access_key":    {[]string{aws, "\"ASIA" + "TESTTESTTESTTEST\""}, []string{"akia" + "testtesttesttest", aws + "T", "X" + aws}},
		"aws_secret_key":    {[]string{"aws_secret_access_key = " + b64, "AmazonKey: '" + b64 + "'", "secret-access-key=" + b64}, []string{"cache key: " + hex40, "aws_key=" + hex40, "aws_secret_key=" + b64 + "x", "aws secret " + b64}},
		"private_key":       {[]string{"-----BEGIN " + "PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----", "-----BEGIN " + "OPENSSH PRIVATE KEY-----\nabcdabcd\n", "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----"}, []string{"-----BEGIN PUBLIC KEY-----\nabcd\n-----END PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----"}},
		"connection_string": {[]string{"postgres://u:" + "hunter2@db/x", "amqp://:" + "pw@h", "x+y://a:" + "b@c, z"}, []string{"postgres://db.example.com:5432/x", "https://u@h/", "redis://u:${PW}@h", "http://h/a:b@c", "http://h?x=a:b c@d"}},
		"generic_secret":    {[]string{"api_key = \"a1b2c3d4a1b2c3d4a1b2c3d4\"", "CLIENT_SECRET=>a1b2c3d4e5f6g7h8", "access-key: q9w8e7r6t5y4u3i2"}, []string{"tokenizationId: 'tokenizer-settings-value'", "token=aaaaaaaaaaaaaaa1", "secret: only-letters-in-here", "token: 1234567890123456", "token = makeNewAccessToken2(x)", "secret=a1b2c3d4e5f6g7h"}},
		"payment_card":      {[]string{"ref 12 4111 1111 1111 1111", "2221000000000009", "3782 822463 10005", "6011-1111-1111-1117", "4111111111111111 99", "30569309025904", "4111 1111 1111 1111 abc"}, []string{"ts=1548138160707", "4111 1111 1111 1112", "0.4111111111111111", "9999999999999995", "a4111111111111111", "4111 1111 1111 111x"}},
		"ssn":               {[]string{"ssn 123-45-6789", "(123-45-6789)"}, []string{"000-45-6789", "666-45-6789", "987-65-4321", "123-00-6789", "123-45-0000", "0123-45-6789", "123-45-67890", "2026-01-2345"}},
		"github_token":      {[]string{github, "github_pat_" + strings.Repeat("a1", 30)}, []string{github[:39], "ghz_" + github[4:], "x" + github}},
		"slack_token":       {[]string{"xoxb-" + "1111111111-2222222222-abcd", "xoxe.xoxp-" + "1-abcdefghij", "xapp-" + "1-A0B1-123-abcdef"}, []string{"xoxz-1111111111-22", "xoxb-short", "xapp-x-A0-1-a"}},
		"jwt":               {[]string{jwt, "(" + jwt + ")", "eyJ" + "hbGciOiJI.eyJzdWIiOiIx."}, []string{"eyJ" + "hbGciOiJIUzI1NiJ9", "eyJ" + "hbGc.eyJzdWIiOiIxMjM0In0.c2ln", "x" + jwt, "eyJ" + "hbGciOiJI.eyJzdWIi.x"}},

		"email_address":      {[]string{"write to jane@example.com.", strings.Repeat("Z", 61) + "john@corp.example.com", "a@b.coa"}, []string{"clone git@github.com:acme/widgets.git", "a@b", "user@localhost", "@b.co"}},
		"us_phone":           {[]string{"or 555-123-4567", "(555)123-4567", "+1-555-123-4567", "1 555 123 4567"}, []string{"055-123-4567", "555-123-456", "5551234567", "1555-123-4567"}},
		"ipv4_address":       {[]string{"host 10.1.2.3", "[192.168.0.1]:80"}, []string{"upgrade to v1.2.3.4", "Version 1.2.3.4", "1.2.3.4.5", "1.2.3.400", "01.2.3.4"}},
		"date_of_birth":      {[]string{"DOB: 1990-01-02", "Date of birth - Jan 2 1990", "born on 1/2/1990"}, []string{"due 1990-01-02", "born free", "stubborn 1990-01-02"}},
		"ssn_loose":          {[]string{"SSN 123 45 6789", "ssn: 123456789", "social security number is 123.45.6789"}, []string{"SSN 000 45 6789", "ssn\n123456789", "123 45 6789", "assn 123456789"}},
		"payment_card_loose": {[]string{"4111.1111.1111.1111", "4111\u00a01111\u00a01111\u00a01111", "4111/1111/1111/1111", "x 4111_1111_1111_1111 y"}, []string{"0.4111111111111111", "4111.1111.1111.1112", "2026/01/02 03.04.05", "4111::1111::1111::1111"}},
	}
}

// Every category is found where it should be, and not where it should not.
func TestShapes(t *testing.T) {
	s := New(Options{})
	all := examples()
	for _, set := range []*match.Set{s.light, s.heavy} {
		for i := range set.Len() {
			name := set.Name(i)
			if len(all[name].yes) == 0 || len(all[name].no) == 0 {
				t.Errorf("%s has no examples", name)
			}
			for _, text := range all[name].yes {
				if got := s.Scan(Text(text), authz.High).Categories(); !slices.Contains(got, name) {
					t.Errorf("%s is not found in %q, only %q", name, text, got)
				}
			}
			for _, text := range all[name].no {
				if got := s.Scan(Text(text), authz.High).Categories(); slices.Contains(got, name) {
					t.Errorf("%s is found in %q", name, text)
				}
			}
		}
	}
}

func TestHeavyOnlyWhenTheStakesAreHigh(t *testing.T) {
	s := New(Options{})
	for band := range 256 {
		b := authz.Band(band)
		want := b != authz.Low && b != authz.Medium // a band nobody knows is searched fully
		if got := s.Scan(Text("jane@example.com"), b).Blocked(); got != want {
			t.Errorf("band %d: blocked %v, want %v", band, got, want)
		}
		if !s.Scan(Text(github), b).Blocked() {
			t.Errorf("band %d: a token passes", band)
		}
	}
}

// Disguises that a receiver would undo.
func TestReadings(t *testing.T) {
	s := New(Options{})
	b64 := base64.StdEncoding.EncodeToString
	for name, tt := range map[string]struct {
		payload string // JSON
		want    string
	}{
		"plain":                          {`"` + github + `"`, "github_token"},
		"escaped":                        {`"\u0067hp_` + github[4:] + `"`, "github_token"},
		"after an escaped newline":       {`"x\n` + github + `"`, "github_token"},
		"as a name":                      {`{"` + aws + `":1}`, "aws_access_key"},
		"as the name of nothing":         {`{"` + aws + `":{}}`, "aws_access_key"},
		"name and value":                 {`{"password":"hunter2hunter2"}`, "password"},
		"name and value in an array":     {`{"password":["hunter2hunter2"]}`, "password"},
		"number":                         {`{"n":4111111111111111}`, "payment_card"},
		"deep":                           {strings.Repeat(`[`, 200) + `"` + github + `"` + strings.Repeat(`]`, 200), "github_token"},
		"repeated member":                {`{"a":"` + github + `","a":"x"}`, "github_token"},
		"zero-width space":               {`"gh\u200bp_` + github[4:] + `"`, "github_token"},
		"soft hyphen":                    {`"gh\u00adp_` + github[4:] + `"`, "github_token"},
		"text direction":                 {`"gh\u202ep_` + github[4:] + `"`, "github_token"},
		"variation selector":             {`"gh\ufe0fp_` + github[4:] + `"`, "github_token"},
		"fullwidth":                      {`"ｇｈｐ_` + github[4:] + `"`, "github_token"},
		"long s and kelvin sign":         {`"pa\u017fsword: hunter2hunter2"`, "password"},
		"kelvin sign":                    {`"to\u212aen=a1b2c3d4e5f6g7h8"`, "generic_secret"},
		"base64":                         {`"x ` + b64([]byte("key "+github)) + `"`, "github_token"},
		"base64 of another alphabet":     {`"` + base64.RawURLEncoding.EncodeToString([]byte("key?>"+github)) + `"`, "github_token"},
		"hexadecimal":                    {`"` + hex.EncodeToString([]byte(github)) + `"`, "github_token"},
		"percent":                        {`"https://x/?k=gh%70_` + github[4:] + `"`, "github_token"},
		"percent and stray signs":        {`"100% gh%70_` + github[4:] + ` 5%"`, "github_token"},
		"invisible base64":               {`"x ` + b64([]byte(github))[:10] + `\u200b` + b64([]byte(github))[10:] + `"`, "github_token"},
		"split over members":             {`{"a":"gh","b":"p_` + github[4:] + `"}`, "github_token"},
		"split over elements":            {`["gh","p_",["x"],"` + github[4:] + `"]`, "github_token"},
		"card split over members is not": {`{"a":"4111 1111","b":" 1111 1111"}`, ""},
		"address by chance":              {`{"a":"http://h","b":"x:y@z"}`, ""},
		"digest":                         {`"11bd719011bd719011bd719011bd719011bd7190"`, ""},
		"path":                           {`"usr/share/doc/packages/readme/index"`, ""},
		"null":                           {`null`, ""},
		"nothing":                        {`{"a":[],"b":{},"c":"","d":true}`, ""},
	} {
		p, err := JSON([]byte(tt.payload))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		report := s.Scan(p, authz.Low)
		if got := strings.Join(report.Categories(), ","); got != tt.want {
			t.Errorf("%s: %s gives %q, want %q", name, tt.payload, got, tt.want)
		}
		clean := s.Redact(p, authz.Low)
		if got := s.Scan(clean, authz.Low).Categories(); len(got) > 0 {
			t.Errorf("%s: %s redacted to %s still gives %q", name, tt.payload, clean, got)
		}
		if tt.want == "" && clean.String() != p.String() {
			t.Errorf("%s: %s was changed to %s without a finding", name, p, clean)
		}
		out, err := json.Marshal(clean)
		if err != nil || !json.Valid(out) {
			t.Errorf("%s: %s redacted to invalid JSON %s: %v", name, tt.payload, out, err)
		}
	}
}

func TestRedactJSON(t *testing.T) {
	for _, tt := range []struct{ in, want, strict string }{
		{`{"b":"x","a":"` + github + `"}`, `{"b":"x","a":"ghp_…cd"}`, ""},
		{`{"password":"hunter2hunter2","n":1.50}`, `{"password":"hunt…r2","n":1.50}`, `{"password":"***","n":1.50}`},
		{`{"n":4111111111111111}`, `{"n":"4111…11"}`, `{"n":"4111…11"}`},
		{`{"` + aws + `":["<&>"]}`, `{"AKIA…ST":["<&>"]}`, ""},
		{`"x gh\u200bp_` + github[4:] + `"`, `x ghp_…cd`, ""},
		{`"x gh%70_` + github[4:] + `"`, `x ghp_…cd`, ""},
		{`["gh","p_` + github[4:] + `",7]`, `["***","***",7]`, ""},
		{`"password=hunter22"`, `password=hunt…22`, `password=***`},
		{`{"t":"two ` + github + ` and ` + github + `"}`, `{"t":"two ghp_…cd and ghp_…cd"}`, ""},
		{`{"t":"password=api_key=a1b2c3d4a1b2c3d4"}`, `{"t":"password=api_…d4"}`, ""},
	} {
		p, err := JSON([]byte(tt.in))
		if err != nil {
			t.Fatal(err)
		}
		before := p.String()
		if got := New(Options{}).Redact(p, authz.Low).String(); got != tt.want {
			t.Errorf("%s redacted to %s, want %s", tt.in, got, tt.want)
		}
		if tt.strict != "" {
			if got := New(Options{StrictMask: true}).Redact(p, authz.Low).String(); got != tt.strict {
				t.Errorf("%s strictly redacted to %s, want %s", tt.in, got, tt.strict)
			}
		}
		if p.String() != before {
			t.Errorf("redacting changed its input to %s", p)
		}
	}
}

func TestMask(t *testing.T) {
	for in, want := range map[string]string{
		"": "***", "abcdef": "***", "abcdefg": "abcd…fg", "日本語のトークン": "日本語の…クン", "🔑🔑🔑🔑🔑🔑": "***",
		strings.Repeat("x", 1000): "xxxx…xx", "a\xff\xff\xff\xffbc": "a\ufffd\ufffd\ufffd…bc",
	} {
		if got := Mask(in); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestJSONRefuses(t *testing.T) {
	for _, bad := range []string{"", "{", `{"a":}`, `{"a":1}{"b":2}`, `"a" x`, "nul", `[1,]`, strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)} {
		if _, err := JSON([]byte(bad)); !errors.Is(err, ErrPayload) {
			t.Errorf("JSON(%.40q): %v, want %v", bad, err, ErrPayload)
		}
	}
}

func TestPayloadText(t *testing.T) {
	p, err := JSON([]byte(`{"to":"a","n":[1,{"x":null}],"e":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Text(), "to: a\nn: 1\nx: null\ne: "; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	var zero Payload
	if zero.Text() != "" || zero.String() != "" || New(Options{}).Scan(zero, authz.High).Blocked() || New(Options{}).Redact(zero, authz.High).String() != "" {
		t.Error("the zero payload is not an empty text")
	}
	if js, err := json.Marshal(zero); err != nil || string(js) != `""` {
		t.Errorf("zero payload as JSON: %s, %v", js, err)
	}
	if got := Text("a\nb").Text(); got != "a\nb" {
		t.Errorf("text payload reads %q", got)
	}
}

func TestReportIsFrozen(t *testing.T) {
	r := New(Options{}).Scan(Text(github), authz.Low)
	r.Categories()[0] = "changed"
	if got := r.Categories(); !slices.Equal(got, []string{"github_token"}) {
		t.Errorf("categories %q", got)
	}
	if (Report{}).Categories() == nil {
		t.Error("categories of an empty report must encode as an empty list")
	}
}

// More text never hides what was found on its own lines.
func TestFindingsSurviveContext(t *testing.T) {
	s := New(Options{})
	var lines []string
	for _, e := range examples() {
		lines = append(lines, e.yes...)
		lines = append(lines, e.no...)
	}
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom(lines).Draw(t, "line")
		around := rapid.SampledFrom(lines)
		text := around.Draw(t, "before") + "\n;\n" + line + "\n;\n" + around.Draw(t, "after")
		all := s.Scan(Text(text), authz.High).Categories()
		for _, c := range s.Scan(Text(line), authz.High).Categories() {
			if !slices.Contains(all, c) {
				t.Fatalf("%s is found in %q but not in %q", c, line, text)
			}
		}
	})
}

func exprs() []string {
	var out []string
	for _, p := range append(lightweight(), heavy()...) {
		out = append(out, p.Expr)
	}
	return out
}

// The filter finds exactly what the expressions find alone.
func TestFilterEqualsExpressions(t *testing.T) {
	s := New(Options{})
	both := func(text string) {
		matchtest.Equal(t, s.light, text)
		matchtest.Equal(t, s.heavy, text)
	}
	for _, e := range examples() {
		for _, text := range append(e.yes, e.no...) {
			both(text)
			both("é " + strings.ToUpper(text) + text + "ſ")
		}
	}
	g := matchtest.NewGenerator(2, exprs())
	for range 4000 {
		both(g.Text())
	}
}

func FuzzFilterEqualsExpressions(f *testing.F) {
	s := New(Options{})
	for _, e := range examples() {
		for _, text := range append(e.yes, e.no...) {
			f.Add(text, uint64(0))
		}
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		made := matchtest.NewGenerator(seed, exprs()).Text()
		for _, x := range []string{text, text + made + text} {
			matchtest.Equal(t, s.light, x)
			matchtest.Equal(t, s.heavy, x)
		}
	})
}

// checkTerminal fails if a redacted payload triggers anything.
func checkTerminal(t *testing.T, s *Scanner, p Payload) {
	t.Helper()
	for _, band := range []authz.Band{authz.Low, authz.High} {
		clean := s.Redact(p, band)
		if got := s.Scan(clean, band).Categories(); len(got) > 0 {
			t.Fatalf("%q redacted to %q still gives %q", p, clean, got)
		}
		if !s.Scan(p, band).Blocked() && utf8.ValidString(p.String()) && clean.String() != p.String() {
			t.Fatalf("%q was changed to %q without a finding", p, clean)
		}
		if again := s.Redact(clean, band); again.String() != clean.String() {
			t.Fatalf("redacting twice: %q, then %q", clean, again)
		}
	}
}

func TestRedactionIsTerminal(t *testing.T) {
	s := New(Options{})
	g := matchtest.NewGenerator(3, exprs())
	for range 1500 {
		a, b := g.Text(), g.Text()
		checkTerminal(t, s, Text(a))
		js, err := json.Marshal(map[string]any{a: b, "x": []string{a, b}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := JSON(js)
		if err != nil {
			t.Fatal(err)
		}
		checkTerminal(t, s, p)
	}
}

func FuzzRedactionIsTerminal(f *testing.F) {
	s := New(Options{})
	f.Add("a@b.coa@b.co", uint64(1))
	f.Add("password=hunt…er", uint64(2))
	f.Add(`{"a":"gh","b":"p_`+github[4:]+`"}`, uint64(3))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		checkTerminal(t, s, Text(text))
		checkTerminal(t, s, Text(text+matchtest.NewGenerator(seed, exprs()).Text()+text))
		if p, err := JSON([]byte(text)); err == nil {
			checkTerminal(t, s, p)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,"b",null,true,{"c":1e5}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := JSON(data)
		if err != nil {
			if !errors.Is(err, ErrPayload) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		out, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := JSON(out)
		if err != nil || again.Text() != p.Text() {
			t.Fatalf("%q written as %q reads %q, want %q: %v", data, out, again.Text(), p.Text(), err)
		}
	})
}
