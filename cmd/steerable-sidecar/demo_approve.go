package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/steerable-go/sidecar/approvals"
)

// demoQuestionFrame is what the demo shows of an approval.request.
type demoQuestionFrame struct {
	ToolName        string          `json:"toolName"`
	Arguments       json.RawMessage `json:"arguments"`
	Category        string          `json:"category"`
	Severity        string          `json:"severity"`
	MatchedRules    []string        `json:"matchedRules"`
	SuggestedPrefix []string        `json:"suggestedPrefix"`
	Sandbox         json.RawMessage `json:"sandbox"`
}

// demoAnswers are the seven answers, in the order of their numbers.
func demoAnswers() []approvals.Kind {
	return []approvals.Kind{
		approvals.AllowOnce, approvals.AllowForSession, approvals.AllowAlways,
		approvals.DenyOnce, approvals.DenyForSession, approvals.DenyAlways, approvals.Abort,
	}
}

// approve asks the person at the terminal. The end of input denies.
func (h *demoHost) approve(f *demoFrame) error {
	var q demoQuestionFrame
	if err := json.Unmarshal(f.Params, &q); err != nil {
		return fmt.Errorf("read approval.request: %w", err)
	}
	kind := h.ask(&q)
	return h.send(compactJSON(map[string]any{"jsonrpc": "2.0", "id": f.ID, "result": map[string]string{"kind": kind.String()}}))
}

// words is an answer as the demo spells it.
func words(kind approvals.Kind) string { return strings.ReplaceAll(kind.String(), "_", " ") }

func (h *demoHost) ask(q *demoQuestionFrame) approvals.Kind {
	v := h.view
	v.newline()
	v.printf("  %s %s %s\n", v.paint(sgrBold, "? may"), q.ToolName, q.Arguments)
	details := []string{"category " + q.Category}
	if q.Severity != "" {
		details = append(details, strings.TrimSpace("safety "+q.Severity+" "+strings.Join(q.MatchedRules, " ")))
	}
	if len(q.Sandbox) > 0 {
		details = append(details, "sandbox "+sandboxMarker(q.Sandbox))
	}
	switch {
	case len(q.SuggestedPrefix) > 0:
		details = append(details, fmt.Sprintf("always and session mean commands that begin with %q", strings.Join(q.SuggestedPrefix, " ")))
	case q.Severity != "": // a command
		details = append(details, "always and session count once: no prefix stands for this command")
	}
	v.printf("    %s\n    ", v.paint(sgrDim, strings.Join(details, ", ")))
	answers := demoAnswers()
	for i, kind := range answers {
		v.printf("%d %s  ", i+1, words(kind))
	}
	for {
		v.printf("\n    answer: ")
		line, err := h.answers.ReadString('\n')
		text := strings.TrimSpace(line)
		for i, kind := range answers {
			if text == fmt.Sprint(i+1) || text == kind.String() {
				if !device(h.env.stdin) { // a terminal has shown what was typed
					v.printf("%s\n", words(kind))
				}
				return kind
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				v.printf("%s", err)
			}
			v.printf("deny once (no answer)\n")
			return approvals.DenyOnce
		}
		v.printf("    please answer with a number from 1 to %d", len(answers))
	}
}
