package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/steerable-go/sidecar/safety"
)

// approvalsMatchUsage is printed for --help.
const approvalsMatchUsage = `usage: steerable-sidecar approvals match --jsonl

Reads one object {"prefix": [...], "cmd", "decision"?: "allow"|"deny",
"platform"?: "unix"|"windows"|"all"} a line from standard input and answers
each with {"match", "reason", "detail"?}, in order. A denial that may apply,
because a word is not known, does not match; its reason is "uncertain: WORD". The decision is allow and
the platform unix where a line names none. A line that cannot be used is
answered with {"error"} and the rest goes on.
`

// approvalsMatcher answers the lines of "approvals match".
type approvalsMatcher struct {
	byPlatform map[safety.Platform]*safety.Matcher
}

// approvalsMatchReply is the answer to one line.
type approvalsMatchReply struct {
	Match  bool          `json:"match"`
	Reason safety.Reason `json:"reason"`
	Detail string        `json:"detail,omitempty"`
}

// runApprovalsMatch says whether approval prefixes cover commands. It returns 0,
// 2 for wrong usage and 1 if a stream fails.
func runApprovalsMatch(env environment, args []string) int {
	if asksHelp(args) {
		_, _ = io.WriteString(env.stdout, approvalsMatchUsage)
		return exitOK
	}
	if len(args) != 1 || args[0] != "--jsonl" {
		return approvalsMisuse(env, "match takes --jsonl and nothing else")
	}
	m := approvalsMatcher{byPlatform: map[safety.Platform]*safety.Matcher{}}
	if err := eachLine(env.stdin, env.stdout, m.line); err != nil {
		_, _ = fmt.Fprintf(env.stderr, "steerable-sidecar approvals match: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// line answers one line.
func (m approvalsMatcher) line(data []byte) (any, error) {
	in := struct {
		Prefix   *[]string       `json:"prefix"`
		Cmd      *string         `json:"cmd"`
		Decision safety.Decision `json:"decision"`
		Platform string          `json:"platform"`
	}{Decision: safety.DecisionAllow, Platform: string(safety.PlatformUnix)}
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("not a JSON object with prefix and cmd: %w", err)
	}
	if in.Prefix == nil {
		return nil, errors.New("prefix is missing")
	}
	if in.Cmd == nil {
		return nil, errors.New("cmd is missing")
	}
	if in.Decision != safety.DecisionAllow && in.Decision != safety.DecisionDeny {
		return nil, fmt.Errorf("decision %q is neither allow nor deny", in.Decision)
	}
	platform, err := safety.ParsePlatform(in.Platform)
	if err != nil {
		return nil, err
	}
	matcher := m.byPlatform[platform]
	if matcher == nil {
		matcher = safety.NewMatcher(platform)
		m.byPlatform[platform] = matcher
	}
	got := matcher.Match(*in.Prefix, *in.Cmd, in.Decision)
	reply := approvalsMatchReply{Match: got.Matches, Reason: got.Reason, Detail: got.Detail}
	if got.Reason == safety.ReasonUncertain {
		reply.Reason += safety.Reason(": " + got.Detail)
	}
	return reply, nil
}
