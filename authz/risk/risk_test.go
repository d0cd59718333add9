package risk

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/internal/match"
	"github.com/steerable-go/sidecar/authz/internal/match/matchtest"
)

// The published sizes of the five tables.
func TestCounts(t *testing.T) {
	for name, tt := range map[string]struct {
		table []match.Pattern
		want  int
	}{
		"secrets":       {secrets(), 9},
		"personal data": {personal(), 6},
		"leaving":       {leaving(), 19},
		"irreversible":  {irreversible(), 14},
		"reversible":    {reversible(), 10},
	} {
		if len(tt.table) != tt.want {
			t.Errorf("%s: %d patterns, want %d", name, len(tt.table), tt.want)
		}
	}
}

func TestCases(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	s := New()
	// "~~" keeps scanners of this repository from taking made-up tokens for real.
	for line := range bytes.Lines(bytes.ReplaceAll(data, []byte("~~"), nil)) {
		var row struct {
			Input struct{ Kind, Description, Content string }
			Want  struct{ Band, SideEffect string }
			Why   string
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		kind, err := authz.ParseKind(row.Input.Kind)
		if err != nil {
			t.Fatal(err)
		}
		a := s.Score(Input{Kind: kind, Description: row.Input.Description, Content: row.Input.Content})
		if a.Band().String() != row.Want.Band || a.SideEffect().String() != row.Want.SideEffect {
			t.Errorf("%s: %+v is %v %v %v, want %+v", row.Why, row.Input, a.Band(), a.SideEffect(), a.Signals(), row.Want)
		}
	}
}

// examples has, for every signal, texts in which it must be found and texts in
// which it must not. Tokens are written in halves so that no scanner of this
// repository takes them for real ones.
func examples() map[string]struct{ yes, no []string } {
	type e = struct{ yes, no []string }
	return map[string]e{
		"api_key_assignment":    {[]string{"api_key=abcd1234", `"client-secret": "s3cr3t-value"`, "SERVICE_TOKEN => abcdefgh", "accessKey:=abcdefgh", "x_api-key = 'abcdefgh'"}, []string{"api key abcdefgh", "api_key=short", "api_key=${API_KEY}", "auth_token = getToken()", "access_token: required", "secret_key: xxxxxxxx"}},
		"bearer_token":          {[]string{"Bearer " + "abcdefghijklmnop", "authorization: BEARER\tabcdefghij123456=="}, []string{"bearer of good news", "bearer abcdefghijklmno", "forbearer abcdefghijklmnop"}},
		"aws_key_id":            {[]string{"AKIA" + "TESTTESTTESTTEST", "(ASIA" + "0123456789ABCDEF)"}, []string{"akia" + "testtesttesttest", "AKIA" + "TESTTESTTESTTES", "XAKIA" + "TESTTESTTESTTEST", "AKIA" + "TESTTESTTESTTESTT"}},
		"password":              {[]string{"password=hunter2x", "Passwd: 'hunter2x'", "the password is hunter2x", "DB_PASSWORD=$2b$10$abcdef", "pwd => /etc/x"}, []string{"password", "password=", "password: ********", "password=${PASS}", "password is short", "password is required", "pwd := getwd()", "passwordless login"}},
		"private_key_block":     {[]string{"-----BEGIN " + "PRIVATE KEY-----", "-----BEGIN RSA " + "PRIVATE KEY-----", "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----"}, []string{"-----BEGIN PUBLIC KEY-----", "----BEGIN PRIVATE KEY----", "-----BEGIN CERTIFICATE-----"}},
		"database_url":          {[]string{"postgres://u:" + "hunter2@db/x", "mongodb+srv://u:" + "p4ss@h", "rediss://:" + "pw@h:1", "jdbc:mysql://u:" + "pw@h"}, []string{"postgres://db:5432/x", "postgres://u@h", "postgres://u:${PW}@h", "https://u:pw@h"}},
		"github_token":          {[]string{"ghp_" + strings.Repeat("a1", 18), "github_pat_" + strings.Repeat("a", 60)}, []string{"ghp_" + strings.Repeat("a", 35), "ghx_" + strings.Repeat("a", 36), "xghp_" + strings.Repeat("a", 36)}},
		"jwt":                   {[]string{"eyJ" + "hbGciOiJI.eyJzdWIiOiIx.sig", "eyJ" + "hbGciOiJI.eyJzdWIiOiIx."}, []string{"eyJ" + "short.eyJzdWIiOiIx.sig", "eyJ" + "hbGciOiJI.eyJzdWIiOiIx", "eyJ" + "hbGciOiJIUzI1NiJ9"}},
		"literal_secret_phrase": {[]string{"my secret is swordfish", "My  Secret\nIs xyz"}, []string{"my secretary is in", "my secret is redacted", "my secret", "dummy secret is x"}},

		"ssn":           {[]string{"123-45-6789", "ssn:899-99-9999"}, []string{"000-12-3456", "666-12-3456", "900-12-3456", "123-00-4567", "123-45-0000", "1234-45-6789", "123-45-67890", "2026-11-3000"}},
		"payment_card":  {[]string{"4111 1111 1111 1111", "ref 12 4111111111111111", "3782-822463-10005", "5555555555554444"}, []string{"4111 1111 1111 1112", "1548138160707", "0.4111111111111111", "4111 1111 1111", "x4111111111111111", "1234567812345670"}},
		"email":         {[]string{"a.b+c@sub.example.com", "<x@y.org>"}, []string{"git@github.com:a/b", "a@b", "@example.com", "a@.com", "x@y.1a"}},
		"us_phone":      {[]string{"555-123-4567", "(555) 123-4567", "+1 555.123.4567"}, []string{"155-123-4567", "555-1234", "5551234567", "555-123-45678"}},
		"ipv4":          {[]string{"10.0.0.1", "at 8.8.8.8."}, []string{"v1.2.3.4", "version 1.2.3.4", "1.2.3.4.5", "1.2.3", "256.1.1.1", "0.1.2.3.4"}},
		"date_of_birth": {[]string{"DOB: 1990-01-02", "born on Jan 2, 1990", "date of birth 1/2/90"}, []string{"1990-01-02", "newborn 1990-01-02", "born in a barn"}},

		"send":        {[]string{"send it", "SENT", "sending"}, []string{"sender", "resend", "sends2"}},
		"upload":      {[]string{"uploaded"}, []string{"uploader", "reupload"}},
		"post":        {[]string{"a post", "posting"}, []string{"postal", "outpost"}},
		"email_to":    {[]string{"e-mail it", "emailed  them"}, []string{"email address", "emailto"}},
		"forward":     {[]string{"forwarding"}, []string{"straightforward"}},
		"share":       {[]string{"share", "sharing"}, []string{"shareholder", "shard"}},
		"publish":     {[]string{"publishes"}, []string{"publisher"}},
		"transmit":    {[]string{"transmitted"}, []string{"transmitter"}},
		"export":      {[]string{"exports"}, []string{"exporter"}},
		"submit":      {[]string{"submitted"}, []string{"submitter"}},
		"push_to":     {[]string{"push to", "git  push", "pushed up"}, []string{"push", "git pull", "gitpush"}},
		"sync_to":     {[]string{"sync to", "back up to", "mirrored to"}, []string{"sync", "backup"}},
		"webhook":     {[]string{"web-hook", "webhooks"}, []string{"webhooked"}},
		"external":    {[]string{"third-party", "off-site", "publicly"}, []string{"republic", "externality"}},
		"http_url":    {[]string{"http://x", "HTTPS://y"}, []string{"http:", "https://"}},
		"recipient":   {[]string{"to: jane@example.com", "bcc<j@e.org", "to j@e.org"}, []string{"into j@e.org", "to jane", "to    j at e.org"}},
		"bucket_uri":  {[]string{"s3://b", "abfss://x", "ftps://h"}, []string{"xs3://b", "s3:/b", "s3:// "}},
		"remote_copy": {[]string{"scp a b", "nc -l", "netcat"}, []string{"sync", "ncx", "func"}},
		"http_client": {[]string{"curl x", "Invoke-WebRequest"}, []string{"curly", "wgets"}},

		"delete_permanently":  {[]string{"permanently delete", "delete the whole old thing permanently", "permanent removal"}, []string{"delete", "delete one two three four five permanently", "permanently"}},
		"hard_delete":         {[]string{"hard-delete", "hard deleting"}, []string{"hard  delete", "hard to delete"}},
		"purge":               {[]string{"purge"}, []string{"spurge", "purger"}},
		"wipe_or_shred":       {[]string{"wiped", "shredding"}, []string{"wiper", "shreds2"}},
		"destroy":             {[]string{"destroys"}, []string{"destroyer"}},
		"drop_table":          {[]string{"DROP  TABLE x"}, []string{"drop tables", "drop it"}},
		"truncate_table":      {[]string{"truncate table x"}, []string{"truncate x"}},
		"rm_recursive":        {[]string{"rm -rf x", "rm --force --recursive x", "rm -v -R x", "rm  -fr"}, []string{"rm note.txt", "rm -f x", "farm -r x"}},
		"format_disk":         {[]string{"mkfs.ext4", "format the disk", "dd if=/dev/zero of=/dev/sda"}, []string{"format text", "dd if=a of=b", "add of=/dev/x"}},
		"wire_transfer":       {[]string{"wire transfer", "transfer all my money"}, []string{"transfer files", "wireless transfer"}},
		"pay_or_purchase":     {[]string{"pay", "place an order"}, []string{"payload", "place it", "buyer"}},
		"deploy_production":   {[]string{"deploy to prod", "released the new build to production"}, []string{"deploy to staging", "deploy production"}},
		"revoke_or_terminate": {[]string{"revoke access", "cancelled my old subscription", "terminate instances"}, []string{"cancel the meeting", "close the door"}},
		"force_push":          {[]string{"git push --force", "git push origin -f", "force-pushed"}, []string{"git push origin main", "git push --follow"}},

		"draft":              {[]string{"drafting"}, []string{"overdraft", "drafty"}},
		"preview":            {[]string{"previewed"}, []string{"previewer"}},
		"save":               {[]string{"saving"}, []string{"saver"}},
		"edit_or_update":     {[]string{"edit", "updating", "modify"}[:1], []string{"editor", "credit"}},
		"rename":             {[]string{"renames"}, []string{"renamer"}},
		"move":               {[]string{"moved"}, []string{"mover", "remove"}},
		"archive":            {[]string{"archiving"}, []string{"archivist"}},
		"label_or_tag":       {[]string{"labelled", "tagging", "star"}, []string{"stage", "flagship"}},
		"create_or_add":      {[]string{"created", "adds", "insert"}, []string{"creator", "address"}},
		"schedule_or_snooze": {[]string{"schedule", "snoozed"}, []string{"scheduler"}},
	}
}

// Every signal is found where it should be, and not where it should not.
func TestSignals(t *testing.T) {
	s := New()
	found := func(text, name string) bool {
		for _, h := range s.set.First(text) {
			if s.set.Name(h.Pattern) == name {
				return true
			}
		}
		return false
	}
	all := examples()
	for i := range s.set.Len() {
		name := s.set.Name(i)
		if len(all[name].yes) == 0 || len(all[name].no) == 0 {
			t.Errorf("%s has no examples", name)
		}
		for _, text := range all[name].yes {
			if !found(text, name) {
				t.Errorf("%s is not found in %q", name, text)
			}
		}
		for _, text := range all[name].no {
			if found(text, name) {
				t.Errorf("%s is found in %q", name, text)
			}
		}
	}
}

// The ladder, over every combination of signals and kinds.
func TestLadder(t *testing.T) {
	const secret, person, leave, forever, undo = "my secret is swordfish", "123-45-6789", "upload", "purge", "draft"
	s := New()
	for kind := authz.KindUnknown; kind <= authz.KindSend+1; kind++ {
		for mask := range 1 << 7 {
			has := func(bit int) bool { return mask&(1<<bit) != 0 }
			var parts []string
			for bit, text := range []string{secret, person, leave, forever, undo} {
				if has(bit) {
					parts = append(parts, text)
				}
			}
			want := authz.Low
			switch {
			case has(0):
				want = authz.Critical
			case has(1) && has(2), has(3), has(5):
				want = authz.High
			case has(1), has(2), has(4), has(6), kind != authz.KindRead && kind != authz.KindWrite && kind != authz.KindSend:
				want = authz.Medium
			}
			side := authz.NoSideEffect
			if has(4) {
				side = authz.Reversible
			}
			if has(3) || has(5) {
				side = authz.Irreversible
			}
			text := strings.Join(parts, ", ")
			for _, in := range []Input{{Description: text}, {Content: text}} {
				in.Kind, in.CommandCritical, in.CommandWarning = kind, has(5), has(6)
				a := s.Score(in)
				if a.Band() != want || a.SideEffect() != side || a.HasSecrets() != has(0) || a.HasPersonal() != has(1) || a.Leaves() != has(2) {
					t.Fatalf("%+v: %v %v %v, want %v %v", in, a.Band(), a.SideEffect(), a.Signals(), want, side)
				}
			}
		}
	}
}

func TestAssessmentIsFrozen(t *testing.T) {
	a := New().Score(Input{Kind: authz.KindSend, Description: "send, draft"})
	a.Signals()[0] = "changed"
	if got := strings.Join(a.Signals(), " "); got != "send draft" {
		t.Errorf("signals %q", got)
	}
	var zero Assessment
	if zero.Band() != authz.BandUnknown || zero.SideEffect() != authz.SideEffectUnknown {
		t.Errorf("zero assessment is %v %v", zero.Band(), zero.SideEffect())
	}
}

func exprs() []string {
	var out []string
	for _, table := range [][]match.Pattern{secrets(), personal(), leaving(), irreversible(), reversible()} {
		for _, p := range table {
			out = append(out, p.Expr)
		}
	}
	return out
}

// The filter finds exactly what the expressions find alone.
func TestFilterEqualsExpressions(t *testing.T) {
	s := New()
	for _, e := range examples() {
		for _, text := range append(e.yes, e.no...) {
			matchtest.Equal(t, s.set, text)
			matchtest.Equal(t, s.set, "é "+strings.ToUpper(text)+" ſ")
		}
	}
	g := matchtest.NewGenerator(1, exprs())
	for range 3000 {
		matchtest.Equal(t, s.set, g.Text())
	}
}

func FuzzFilterEqualsExpressions(f *testing.F) {
	s := New()
	for _, e := range examples() {
		for _, text := range append(e.yes, e.no...) {
			f.Add(text, uint64(0))
		}
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		matchtest.Equal(t, s.set, text)
		matchtest.Equal(t, s.set, text+matchtest.NewGenerator(seed, exprs()).Text()+text)
	})
}
