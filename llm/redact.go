package llm

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMessage bounds Error.Message, in bytes.
const maxMessage = 2048

// redacted stands where a secret was.
const redacted = "[redacted]"

// redactor removes secrets from texts that a server or the network wrote.
// Servers like to quote the key they refuse, whole or in part.
type redactor struct {
	secrets []string
}

// clean returns text as one line without secrets.
func (r redactor) clean(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	for _, secret := range r.secrets {
		text = redactSecret(text, secret)
	}
	text = redactBearer(text)
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == '\u2028' || c == '\u2029' {
			return ' '
		}
		return c
	}, text)
	text = strings.TrimSpace(text)
	if len(text) > maxMessage {
		cut := maxMessage - len("…")
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}

// apply cleans an error's message.
func (r redactor) apply(e *Error) *Error {
	e.Message = r.clean(e.Message)
	if e.Message == "" {
		e.Message = "no message"
	}
	return e
}

// minHint is how many leading characters of a secret betray that a word is a
// shortened or masked copy of it. Shorter secrets are none: they are what people
// enter where a local server wants no key, and they occur in ordinary words.
const minHint = 8

// redactSecret removes a secret and every word that starts like it.
func redactSecret(text, secret string) string {
	if len(secret) < minHint {
		return text
	}
	text = strings.ReplaceAll(text, secret, redacted)
	hint := secret[:minHint]
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, hint)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(redacted)
		text = strings.TrimLeftFunc(after, isTokenRune)
	}
}

// redactBearer removes what follows the word "Bearer".
func redactBearer(text string) string {
	const word = "bearer "
	var b strings.Builder
	for {
		i := strings.Index(strings.ToLower(text), word)
		if i < 0 || len(strings.ToLower(text)) != len(text) {
			b.WriteString(text)
			return b.String()
		}
		i += len(word)
		b.WriteString(text[:i])
		rest := strings.TrimLeftFunc(text[i:], isTokenRune)
		if len(text[i:])-len(rest) >= minHint {
			b.WriteString(redacted)
		} else {
			b.WriteString(text[i : len(text)-len(rest)])
		}
		text = rest
	}
}

// isTokenRune says whether a rune may be part of a key, or of a mask over one.
func isTokenRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.*•…~+/=", r)
}
