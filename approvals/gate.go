package approvals

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Options configure a [Gate]. The zero value is a headless gate without memory
// that lets reads and safe writes through and denies everything else.
type Options struct {
	Mode GateMode
	// Host asks a person in mode [GateHost]; nil denies what would be asked.
	Host Approver
	// Timeout bounds a question, the wait behind an equal one included. Zero
	// waits for ever; the default of a turn is the caller's business.
	Timeout time.Duration

	// StorePath is approvals.json, PolicyPath the file of rules; see
	// [PolicyPath] for what holds when it is empty.
	StorePath  string
	PolicyPath string
	// Sessions and Prompts are shared by all gates of a process. Nil Sessions
	// remember nothing; with nil Prompts the gate knows only its own questions.
	Sessions *SessionCache
	Prompts  *Prompts

	// Matcher compares commands with prefixes. Nil matches no allow and every
	// denial.
	Matcher Matcher
	// WorkspaceAuto lets calls run without a question that are confined to
	// the workspace; see [Posture].
	WorkspaceAuto bool
	// TrustedTools are names of tools of the host that WorkspaceAuto lets run
	// without a question. Empty: none. A tool that runs commands is never one of
	// them, whatever its name is.
	TrustedTools []string

	// Now is the clock; nil means the wall clock.
	Now func() time.Time
	// Logger receives one event for each decision and each damaged file. The
	// zero Logger writes nothing.
	Logger zerolog.Logger
}

// Gate decides about the calls of one turn. It is safe for concurrent use.
type Gate struct {
	opts    Options
	store   *Store  // nil without a path
	policy  *Policy // nil without a path
	prompts *Prompts

	mu       sync.Mutex // guards following
	reported string     // the problems last logged
}

// NewGate returns a gate. It opens no file: what cannot be read suspends
// automatic allows when it is needed.
func NewGate(opts Options) *Gate {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Matcher == nil {
		opts.Matcher = noMatcher{}
	}
	g := &Gate{opts: opts, prompts: opts.Prompts}
	if g.prompts == nil {
		g.prompts = &Prompts{}
	}
	if opts.StorePath != "" {
		g.store = OpenStore(opts.StorePath, opts.Now)
	}
	if path := PolicyPath(opts.PolicyPath, opts.StorePath); path != "" {
		g.policy = OpenPolicy(path, opts.Now)
	}
	return g
}

// facts is everything stored that bears on a call, read at one moment.
type facts struct {
	req     Request // normalized
	command string  // empty if the call has none
	parses  bool    // the command can be taken apart, or there is none
	store   snapshot[storeState]
	policy  snapshot[policyState]
	session session
}

func (g *Gate) facts(req Request) facts {
	f := facts{req: req, parses: true}
	f.command, _ = req.command()
	if g.opts.Mode == GateOff {
		return f
	}
	if f.command != "" {
		f.parses = g.opts.Matcher.Parses(f.command)
	}
	if g.store != nil {
		f.store = g.store.file.load()
	}
	if g.policy != nil {
		f.policy = g.policy.file.load()
	}
	f.session = g.opts.Sessions.load(req.ChatID)
	return f
}

// Check says what is known about a call without asking anybody. Denials come
// first, so that no stored allow hides one.
func (g *Gate) Check(req Request) Verdict {
	req = req.normalized()
	f := g.facts(req)
	g.report(f)
	v, decided := g.denied(f)
	if !decided {
		v = g.undenied(f)
	}
	v.Fingerprint = FingerprintOf(req.Arguments)
	if v.Outcome == OutcomeAsk && req.Shell {
		v.SuggestedPrefix = g.opts.Matcher.Suggest(f.command)
		if len(v.SuggestedPrefix) > 0 {
			v.PrefixNote = g.opts.Matcher.Broad(v.SuggestedPrefix)
		}
	}
	return v
}

// undenied decides about a call that nothing denies.
func (g *Gate) undenied(f facts) Verdict {
	if f.req.mustAsk() {
		if g.opts.Mode != GateHost || g.opts.Host == nil {
			return deny(ReasonNoApprover, DenyOnce, "no interactive approver")
		}
		return Verdict{Outcome: OutcomeAsk, Reason: ReasonAsk}
	}
	why := f.suspended(g.opts.Matcher)
	if why == "" {
		if v, ok := g.allowed(f); ok {
			return v
		}
	}
	return g.unanswered(f, why)
}

// unanswered decides about a call that nothing stored decides. why says that
// it may not be allowed automatically.
func (g *Gate) unanswered(f facts, why string) Verdict {
	switch g.opts.Mode {
	case GateOff:
		return Verdict{Outcome: OutcomeAllow, Kind: AllowOnce, Reason: ReasonOff}
	case GateHost:
		if g.opts.Host == nil {
			return deny(ReasonNoApprover, DenyOnce, "no interactive approver")
		}
		return Verdict{Outcome: OutcomeAsk, Reason: ReasonAsk, Message: why}
	case GateAuto:
	}
	d := autoDecision(f.req.Mode)
	switch {
	case !d.Kind.Allows():
		return deny(ReasonHeadless, d.Kind, d.Reason)
	case why != "":
		return deny(ReasonSuspended, DenyOnce, why)
	}
	return Verdict{Outcome: OutcomeAllow, Kind: d.Kind, Reason: ReasonHeadless}
}

func deny(reason Reason, kind Kind, message string) Verdict {
	return Verdict{Outcome: OutcomeDeny, Kind: kind, Reason: reason, Message: message}
}

// denied looks for a denial: for want of a command, by the safety stage, any rule, the
// store, the session.
func (g *Gate) denied(f facts) (Verdict, bool) {
	req := f.req
	if req.Shell && f.command == "" {
		return deny(ReasonCommand, DenyOnce, fmt.Sprintf("argument '%s' must be a non-blank string", req.CommandParam)), true
	}
	if req.Severity == SeverityCritical && req.Critical != CriticalAsk && req.Critical != CriticalObserve {
		return deny(ReasonCritical, DenyOnce, "the command is graded critical"), true
	}
	if r, ok := f.policy.value.find(EffectDeny, g.opts.Matcher, req.Tool, f.command); ok {
		return deny(ReasonPolicy, DenyOnce, "policy rule: "+r.String()), true
	}
	// A question of another category is about the tool all the same: what is
	// denied for the tool stays denied for it.
	for _, category := range []string{req.Category, CategoryOf(req.Tool)} {
		if effect, ok := f.store.value.lookup(category); ok && effect == EffectDeny {
			return deny(ReasonStore, DenyAlways, storeMessage(category)), true
		}
		if said, ok := f.session.categories[category]; ok && said == EffectDeny {
			return deny(ReasonSession, DenyForSession, sessionMessage(category)), true
		}
	}
	if f.sessionSays(g.opts.Matcher, EffectDeny) {
		return deny(ReasonSession, DenyForSession, sessionMessage(req.Category)), true
	}
	return Verdict{}, false
}

// allowed looks for an allow: in the store, the session, the rules, and for
// being confined to the workspace. A shell command that cannot be taken apart
// is covered by none.
func (g *Gate) allowed(f facts) (Verdict, bool) {
	req := f.req
	if req.Shell && !f.parses {
		return Verdict{}, false
	}
	allow := Verdict{Outcome: OutcomeAllow}
	if effect, ok := f.store.value.lookup(req.Category); ok && effect == EffectAllow {
		allow.Kind, allow.Reason, allow.Message = AllowAlways, ReasonStore, storeMessage(req.Category)
		return allow, true
	}
	if f.sessionSays(g.opts.Matcher, EffectAllow) {
		allow.Kind, allow.Reason, allow.Message = AllowForSession, ReasonSession, sessionMessage(req.Category)
		return allow, true
	}
	if r, ok := f.policy.value.find(EffectAllow, g.opts.Matcher, req.Tool, f.command); ok {
		allow.Kind, allow.Reason, allow.Message = AllowOnce, ReasonPolicy, "policy rule: "+r.String()
		return allow, true
	}
	if !g.opts.WorkspaceAuto || g.opts.Mode != GateHost {
		return Verdict{}, false
	}
	if !req.Shell && slices.Contains(g.opts.TrustedTools, req.Tool) {
		allow.Kind, allow.Reason, allow.Message = AllowOnce, ReasonTrusted, "trusted host control tool"
		return allow, true
	}
	if message, ok := workspaceAllows(req, f.command); ok {
		allow.Kind, allow.Reason, allow.Message = AllowOnce, ReasonWorkspace, message
		return allow, true
	}
	return Verdict{}, false
}

// report logs what is wrong with the files, once for each change.
func (g *Gate) report(f facts) {
	problems := append(f.store.problems(), f.policy.problems()...)
	text := fmt.Sprint(problems)
	g.mu.Lock()
	defer g.mu.Unlock()
	if text == g.reported || len(problems) == 0 && g.reported == "" {
		return
	}
	g.reported = text
	for _, p := range problems {
		g.opts.Logger.Warn().Int("index", p.Index).Str("tool", p.Tool).Str("problem", p.Text).Msg("approvals file has a problem")
	}
}

// sessionSays reports whether the chat has an answer of an effect for the call.
func (f facts) sessionSays(m Matcher, effect Effect) bool {
	if said, ok := f.session.categories[f.req.Category]; ok && said == effect {
		return true
	}
	return slices.ContainsFunc(f.session.rules, func(r Rule) bool {
		return r.Effect == effect && r.applies(m, f.req.Tool, f.command)
	})
}

// suspended says why the call may not be allowed automatically; empty if it
// may.
func (f facts) suspended(m Matcher) string {
	if why := f.suspendedByFiles(); why != "" {
		return why
	}
	if !f.parses && f.anyDenyRule() {
		return "the command cannot be parsed and the tool has deny rules"
	}
	return f.perhapsDenied(m)
}

// perhapsDenied says why it is not known whether a rule denies the call.
func (f facts) perhapsDenied(m Matcher) string {
	rules := f.session.rules
	for _, r := range f.policy.value.rules {
		rules = append(rules, r.Rule)
	}
	for _, r := range rules {
		if what := r.unknown(m, f.req.Tool, f.command); what != "" {
			return fmt.Sprintf("the command may be one that a rule denies (%s): %s is not known before it runs", r, Visible(clip(what)))
		}
	}
	return ""
}

// suspendedByFiles says why no call like this one may be allowed automatically,
// whatever its command is.
func (f facts) suspendedByFiles() string {
	if why := f.store.suspends(); why != "" {
		return why
	}
	if why := f.policy.suspends(); why != "" {
		return why
	}
	for _, p := range f.store.value.problems {
		if p.Tool == f.req.Category {
			return "the stored decision for this category cannot be read"
		}
	}
	for _, p := range f.policy.value.problems {
		if p.Tool == "" || p.Tool == f.req.Tool {
			return "a policy rule cannot be read"
		}
	}
	return ""
}

func (f facts) anyDenyRule() bool {
	denies := func(r Rule) bool { return r.Effect == EffectDeny && r.Tool == f.req.Tool }
	return slices.ContainsFunc(f.session.rules, denies) ||
		slices.ContainsFunc(f.policy.value.rules, func(r IndexedRule) bool { return denies(r.Rule) })
}

func storeMessage(category string) string {
	return fmt.Sprintf("persisted decision for category '%s'", category)
}

func sessionMessage(category string) string {
	return fmt.Sprintf("session decision for category '%s'", category)
}
