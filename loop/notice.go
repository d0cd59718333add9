package loop

// Notices, as the notice member of a stream.chunk.

type roundEnd struct {
	Kind   string `json:"kind"` // "round_end"
	Status string `json:"status"`
	Round  int    `json:"round"`
}

type hookAction struct {
	Kind    string `json:"kind"` // "hook_action"
	Hook    string `json:"hook"`
	Action  string `json:"action"`
	Reason  string `json:"reason"`
	Round   int    `json:"round"`
	DelayMs int64  `json:"delayMs,omitempty"`
}

type steered struct {
	Kind    string `json:"kind"` // "steer"
	Content string `json:"content"`
}

type softTimeout struct {
	Kind          string `json:"kind"` // "soft_timeout"
	Round         int    `json:"round"`
	ElapsedMs     int64  `json:"elapsedMs"`
	SoftTimeoutMs int64  `json:"softTimeoutMs"`
}

type budgetExhausted struct {
	Kind   string `json:"kind"` // "budget_exhausted"
	Budget string `json:"budget"`
	Limit  int64  `json:"limit"`
	Used   int64  `json:"used"`
}
