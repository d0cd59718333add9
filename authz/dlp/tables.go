package dlp

import (
	"strings"

	"github.com/steerable-go/sidecar/authz/internal/match"
	"github.com/steerable-go/sidecar/authz/internal/shapes"
)

// words splits a list of keywords.
func words(list string) []string { return strings.Split(list, " | ") }

// secretNames returns every name that generic_secret can begin with.
func secretNames() []string {
	names := words("secret | token | credential")
	for _, owner := range words("api | auth | access | private") {
		names = append(names, owner+"key", owner+"_key", owner+"-key")
	}
	return append(names, "clientsecret", "client_secret", "client-secret")
}

// lightweight are the shapes that are always looked for.
func lightweight() []match.Pattern { return append(named(), general()...) }

// named are the forms of one issuer's tokens and of assignments to passwords.
func named() []match.Pattern {
	return []match.Pattern{
		{
			Name: "openai_key", Expr: `\bsk-[A-Za-z0-9_-]{20,}`,
			Keywords: words("sk-"),
			Check:    shapes.OpenAIKey,
		},
		{
			Name: "stripe_live_key", Expr: `\b(?:sk|rk)_live_[A-Za-z0-9]{10,}`,
			Keywords: words("sk_live_ | rk_live_"),
		},
		{
			Name: "stripe_test_key", Expr: `\b(?:sk|rk)_test_[A-Za-z0-9]{10,}`,
			Keywords: words("sk_test_ | rk_test_"),
		},
		{
			Name: "bearer_token", Expr: `(?i)\bbearer\s+([A-Za-z0-9._~+/-]{16,}=*)`, Value: 1,
			Keywords: words("bearer"),
		},
		{
			Name: "password", Expr: `(?i)(?:password|passwd|passphrase|pwd)["']?\s{0,4}(?::=|=>|=|:)\s{0,4}["']?([^\s"',;…]{6,})`, Value: 1,
			Keywords: words("password | passwd | passphrase | pwd"),
			Likely:   shapes.LikelyValue(6, shapes.PasswordByte),
			Check:    shapes.Secret,
		},
		{
			Name: "aws_access_key", Expr: `\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b`,
			Keywords: words("AKIA | ASIA | ABIA | ACCA | A3T"),
		},
		{
			Name: "aws_secret_key", Expr: `(?i)(?:aws|amazon|secret)[a-z0-9_. -]{0,24}key["']?\s{0,4}(?::=|=>|=|:)\s{0,4}["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)`, Value: 1,
			Keywords: words("aws | amazon | secret"),
			Likely:   shapes.LikelyAWSSecret,
			Check:    shapes.AWSSecret,
		},
	}
}

// general are the forms that many issuers share, and numbers.
func general() []match.Pattern {
	keys := &shapes.KeyBlock{}
	return []match.Pattern{
		{
			Name: "private_key", Expr: `-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]*?-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\:,.-]*)`,
			Keywords: []string{"-----BEGIN "},
			Finder:   keys.Finder,
		},
		{
			Name: "connection_string", Expr: `(?i)(?:\b[a-z][a-z0-9+.-]*://[^\s/:@"'<>]*:([^\s/@"'<>…]+)@[^\s"'<>]+)`, Value: 1,
			Keywords: words("://"),
			Likely:   shapes.LikelyLogin,
			Around:   shapes.AroundURL,
			Check:    shapes.Secret,
		},
		{
			Name: "generic_secret", Expr: `(?i)(?:secret|token|credential|api[_-]?key|auth[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret)["']?\s{0,4}(?::=|=>|=|:)\s{0,4}["']?([A-Za-z0-9_./+=~-]{16,})`, Value: 1,
			Keywords: secretNames(),
			Likely:   shapes.LikelyValue(16, shapes.TokenByte),
			Check:    shapes.Token,
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
			Name: "ssn", Expr: `\b\d{3}-\d{2}-\d{4}\b`,
			Digits:  3,
			Reach:   11,
			Between: "-",
			Likely:  shapes.LikelySSN,
			Check:   shapes.SSN,
		},
		{
			Name: "github_token", Expr: `\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})`,
			Keywords: words("ghp_ | gho_ | ghu_ | ghs_ | ghr_ | github_pat_"),
		},
		{
			Name: "slack_token", Expr: `\bxox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Z0-9]+-\d+-[A-Za-z0-9]+`,
			Keywords: words("xox | xapp-"),
		},
		{
			Name: "jwt", Expr: `\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`,
			Keywords: words("eyJ"),
			Finder:   shapes.JWTFinder,
		},
	}
}

// heavy are the shapes of personal data that are looked for only when the risk
// band is high or critical. They mirror the personal data of the risk stage in
// a looser form.
func heavy() []match.Pattern {
	return []match.Pattern{
		{
			Name: "email_address", Expr: `[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b`,
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
			Name: "ipv4_address", Expr: `\b(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\b`,
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
		{
			Name: "ssn_loose", Expr: `(?i)\b(?:ssn|social\s+security)\b[^\d\n]{0,20}(\d{3}[ .]?\d{2}[ .]?\d{4})\b`, Value: 1,
			Keywords: words("ssn | social"),
			Check:    shapes.SSN,
		},
		{
			Name: "payment_card_loose", Expr: `\b\d(?:[ .\x{00a0}\x{2009}\x{202f}_/-]?\d){12,18}\b`,
			Digits:  4,
			Reach:   13,
			Between: " ._/-\u00a0\u2009\u202f",
			Likely:  shapes.LikelyLooseCard,
			Around:  shapes.AroundLooseCard,
			Check:   shapes.Card,
		},
	}
}
