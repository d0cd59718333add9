// Package risk scores what an action attempts, from its description and
// content: a band, a side effect, and the signals that led to them.
//
//	scorer := risk.New()
//	a := scorer.Score(risk.Input{Kind: authz.KindSend, Description: "send the file to jane@example.com"})
//	a.Band() // high: personal data, and it leaves
//
// There are five tables of signals: 9 shapes of secrets, 6 of personal data, 19
// signs that data is about to leave, 14 that an action cannot be taken back and
// 10 that it can. The band comes from a ladder on which the first match wins:
//
//	secrets                                    critical
//	personal data and a sign that it leaves    high
//	irreversible                               high
//	personal data, or leaving, or reversible   medium
//	a command or a deletion                    medium
//	otherwise                                  low
//
// The tables err on the strict side: words are signals whatever they mean in
// their sentence.
package risk
