// Package shapes knows what secrets and personal data look like: the checks
// that decide after a regular expression whether a match is one, and the cheap
// tests that decide before it where one may be. The risk and the data-leak
// stage share them, so that both call the same thing a card number.
//
// Functions named Likely are necessary conditions: they may say yes to
// anything but must never say no to a match. Functions named Around bound the
// part of a text in which a match lies. Fuzz tests of both stages hold them to
// that.
package shapes
