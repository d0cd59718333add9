// Package authz holds the vocabulary of the authorization pipeline: decisions,
// risk bands, side effects, kinds of action, capabilities and the closed set
// of reasons. The stages live in packages below it and speak in these words:
//
//	chain         owner first, then the budgets of one request
//	capabilities  what an owner's groups are worth
//	risk          signals in an action's description and content → band
//	policy        band and capability → ALLOW, ESCALATE or DENY
//	egress        URLs and addresses that may not be reached
//	dlp           what must not leave; redaction
//	audit         records, their hash chain and its verification
//	signing       RS256 over record fingerprints
//	govern        the conductor: all stages in order, one outcome
//
// Every package under authz computes: the same input gives the same answer,
// and no file of them imports os, net, time or a source of randomness (a test
// of the repository holds that). Values are frozen: fields are unexported,
// constructors validate and copy. Every error path lands on the strict side,
// and the zero value of each enumeration is its strictest.
//
// The package may change before v1.
package authz
