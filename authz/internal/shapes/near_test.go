package shapes

import (
	"strings"
	"testing"
)

// The cheap conditions reject what they are there to reject; that they never
// reject a match is what the comparison with the expressions shows.
func TestLikelyRejects(t *testing.T) {
	assigned := LikelyValue(6, PasswordByte)
	for name, tt := range map[string]struct {
		likely   func(text string, at, end int) bool
		text     string
		at, end  int
		accepted bool
	}{
		"login":                 {LikelyLogin, "a://u:p@h", 1, 4, true},
		"login without colon":   {LikelyLogin, "a://u@h", 1, 4, false},
		"login with a path":     {LikelyLogin, "a://h:1/x@y", 1, 4, false},
		"login without end":     {LikelyLogin, "a://u:p", 1, 4, false},
		"login with a blank":    {LikelyLogin, "a://u: p@h", 1, 4, false},
		"value":                 {assigned, "pwd: 'secret'", 0, 3, true},
		"value with arrow":      {assigned, `pwd" => "secret"`, 0, 3, true},
		"value too short":       {assigned, "pwd: short", 0, 3, false},
		"value without sign":    {assigned, "pwd secret", 0, 3, false},
		"value too far":         {assigned, "pwd       : secret", 0, 3, false},
		"value after the end":   {assigned, "pwd", 0, 3, false},
		"email":                 {LikelyEmail, "a@b", 1, 2, true},
		"email at the start":    {LikelyEmail, "@b", 0, 1, false},
		"email at the end":      {LikelyEmail, "a@", 1, 2, false},
		"email before a dot":    {LikelyEmail, "a@.b", 1, 2, false},
		"card":                  {LikelyCard, "4111 1111 1111 1111", 0, 4, true},
		"card with small start": {LikelyCard, "411 1111 1111 1111", 0, 3, false},
		"card in many groups":   {LikelyCard, "4111 1 1 1 1 1 1 1 1 1", 0, 4, false},
		"card cut off":          {LikelyCard, "4111 1111", 0, 4, false},
		"ssn":                   {LikelySSN, "123-45-6789", 0, 3, true},
		"ssn with blanks":       {LikelySSN, "123 45 6789", 0, 3, false},
		"ssn cut off":           {LikelySSN, "123-45-", 0, 3, false},
		"phone":                 {LikelyPhone, "212-555-0100", 4, 7, true},
		"phone alone":           {LikelyPhone, "555-0100", 0, 3, false},
		"phone with letters":    {LikelyPhone, "212-555-0100x", 4, 7, false},
		"address":               {LikelyIPv4, "1.2.3.4", 1, 2, true},
		"address at the start":  {LikelyIPv4, ".2.3.4", 0, 1, false},
		"address at the end":    {LikelyIPv4, "1.2.3.", 5, 6, false},
		"aws":                   {LikelyAWSSecret, "aws_key=" + strings.Repeat("a", 40), 0, 3, true},
		"aws without key":       {LikelyAWSSecret, "aws_id=" + strings.Repeat("a", 40), 0, 3, false},
		"aws too far":           {LikelyAWSSecret, "aws" + strings.Repeat("_", 25) + "key=" + strings.Repeat("a", 40), 0, 3, false},
		"aws value too short":   {LikelyAWSSecret, "aws_key=" + strings.Repeat("a", 39), 0, 3, false},
		"aws at the end":        {LikelyAWSSecret, "aws_ke", 0, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.likely(tt.text, tt.at, tt.end); got != tt.accepted {
				t.Errorf("%q: %v", tt.text, got)
			}
		})
	}
}

// One of every network's ranges at both ends, and the numbers beside them.
func TestIssuers(t *testing.T) {
	for _, tt := range []struct {
		prefix string
		length int
		issued bool
	}{
		{"4", 13, true},
		{"4", 14, false},
		{"4", 16, true},
		{"4", 19, true},
		{"51", 16, true},
		{"55", 16, true},
		{"50", 16, false},
		{"56", 16, false},
		{"51", 15, false},
		{"2221", 16, true},
		{"2720", 16, true},
		{"2220", 16, false},
		{"2721", 16, false},
		{"34", 15, true},
		{"37", 15, true},
		{"35", 15, false},
		{"37", 16, false},
		{"6011", 16, true},
		{"6012", 16, false},
		{"644", 16, true},
		{"649", 16, true},
		{"643", 16, false},
		{"65", 16, true},
		{"3528", 16, true},
		{"3589", 16, true},
		{"3527", 16, false},
		{"3590", 16, false},
		{"300", 14, true},
		{"305", 14, true},
		{"306", 14, false},
		{"309", 14, true},
		{"36", 14, true},
		{"38", 14, true},
		{"39", 14, true},
		{"36", 13, false},
		{"62", 16, true},
		{"62", 15, false},
		{"1", 16, false},
		{"9", 16, false},
	} {
		n := []byte(tt.prefix + strings.Repeat("0", tt.length-len(tt.prefix)))
		if got := issued(n); got != tt.issued {
			t.Errorf("%s… with %d digits: %v", tt.prefix, tt.length, got)
		}
	}
}

// Exactly one last digit makes a number valid, and a changed digit is noticed.
func TestLuhn(t *testing.T) {
	for _, body := range []string{"411111111111111", "0", "79927398", "123456789012"} {
		valid := 0
		for d := byte('0'); d <= '9'; d++ {
			n := append([]byte(body), d)
			if !luhn(n) {
				continue
			}
			valid++
			for i := range n {
				changed := append([]byte{}, n...)
				changed[i] = '0' + (changed[i]-'0'+1)%10
				if luhn(changed) {
					t.Errorf("%s and %s are both valid", n, changed)
				}
			}
		}
		if valid != 1 {
			t.Errorf("%s has %d check digits", body, valid)
		}
	}
}
