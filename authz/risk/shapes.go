package risk

import (
	"strings"

	"github.com/steerable-go/sidecar/authz/internal/match"
	"github.com/steerable-go/sidecar/authz/internal/shapes"
)

// words splits a list of keywords.
func words(list string) []string { return strings.Split(list, " | ") }

// keyNames returns every name that api_key_assignment can begin with.
func keyNames() []string {
	var names []string
	for _, owner := range words("api | access | secret | auth | client | service") {
		for _, glue := range []string{"", "_", "-"} {
			for _, kind := range words("key | token | secret") {
				names = append(names, owner+glue+kind)
			}
		}
	}
	return names
}

// followedByBlank rejects "my" where no blank follows.
func followedByBlank(text string, _, end int) bool {
	return end < len(text) && strings.IndexByte(" \t\n\r\f", text[end]) >= 0
}

// secrets are the shapes whose presence alone makes an action critical.
func secrets() []match.Pattern {
	return []match.Pattern{
		{
			Name: "api_key_assignment", Expr: `(?i)(?:api|access|secret|auth|client|service)[_-]?(?:key|token|secret)["']?\s{0,4}(?::=|=>|=|:)\s{0,4}["']?([A-Za-z0-9_./+=~-]{8,})`, Value: 1,
			Keywords: keyNames(),
			Likely:   shapes.LikelyValue(8, shapes.TokenByte),
			Check:    shapes.Secret,
		},
		{
			Name: "bearer_token", Expr: `(?i)\bbearer\s+[A-Za-z0-9._~+/-]{16,}=*`,
			Keywords: words("bearer"),
		},
		{
			Name: "aws_key_id", Expr: `\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b`,
			Keywords: words("AKIA | ASIA | ABIA | ACCA | A3T"),
		},
		{
			Name: "password", Expr: `(?i)(?:password|passwd|passphrase|pwd)["']?\s{0,4}(?::=|=>|=|:|\bis\b)\s{0,4}["']?([^\s"',;…]{6,})`, Value: 1,
			Keywords: words("password | passwd | passphrase | pwd"),
			Check:    shapes.Secret,
		},
		{
			Name: "private_key_block", Expr: `-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----`,
			Keywords: []string{"-----BEGIN "},
		},
		{
			Name: "database_url", Expr: `(?i)\b(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|amqps?|mssql|sqlserver|clickhouse|jdbc:[a-z0-9]+)://[^\s/:@"'<>]*:([^\s/@"'<>…]+)@[^\s"'<>]+`, Value: 1,
			Keywords: words("postgres | mysql | mariadb | mongodb | redis | amqp | mssql | sqlserver | clickhouse | jdbc:"),
			Check:    shapes.Secret,
		},
		{
			Name: "github_token", Expr: `\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})`,
			Keywords: words("ghp_ | gho_ | ghu_ | ghs_ | ghr_ | github_pat_"),
		},
		{
			Name: "jwt", Expr: `\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`,
			Keywords: words("eyJ"),
			Finder:   shapes.JWTFinder,
		},
		{
			Name: "literal_secret_phrase", Expr: `(?i)\bmy\s+secret\s+is\s+(\S+)`, Value: 1,
			Keywords: words("my"),
			Likely:   followedByBlank,
			Check:    shapes.Secret,
		},
	}
}

// personal are the shapes of personal data. Alone they are no more than
// medium; together with a sign that something leaves, high.
func personal() []match.Pattern {
	return []match.Pattern{
		{
			Name: "ssn", Expr: `\b\d{3}-\d{2}-\d{4}\b`,
			Digits:  3,
			Reach:   11,
			Between: "-",
			Likely:  shapes.LikelySSN,
			Check:   shapes.SSN,
		},
		{
			Name: "payment_card", Expr: `\b\d(?:[ -]?\d){12,}\b`,
			Digits:  4,
			Reach:   13,
			Between: " -",
			Likely:  shapes.LikelyCard,
			Finder:  shapes.CardFinder,
			Check:   shapes.Card,
		},
		{
			Name: "email", Expr: `[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b`,
			Keywords: words("@"),
			Likely:   shapes.LikelyEmail,
			Around:   shapes.AroundEmail,
			Check:    shapes.Email,
		},
		{
			Name: "us_phone", Expr: `(?:\+?1[ .-]?)?(?:\([2-9]\d{2}\) ?|\b[2-9]\d{2}[ .-])\d{3}[ .-]\d{4}\b`,
			Digits:  3,
			Reach:   8,
			Between: " .-",
			Likely:  shapes.LikelyPhone,
			Around:  shapes.AroundPhone,
		},
		{
			Name: "ipv4", Expr: `\b(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\b`,
			Dots:    true,
			Reach:   7,
			Between: ".",
			Likely:  shapes.LikelyIPv4,
			Around:  shapes.AroundIPv4,
			Check:   shapes.IPv4,
		},
		{
			Name: "date_of_birth", Expr: `(?i)\b(?:dob|date\s+of\s+birth|birth\s?date|born(?:\s+on)?)\b\W{0,5}(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+\d{1,2},?\s+\d{4})`,
			Keywords: words("dob | date | birth | born"),
		},
	}
}
