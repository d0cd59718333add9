package approvals

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Record keeps an answer for later calls and says what it kept. It is the
// second half of [Gate.Resolve], for callers that ask in their own way; req is
// the request that was shown, with the SuggestedPrefix of the verdict.
//
// A write that fails after an allow leaves the answer good for this call only;
// after a denial the session keeps it instead. A call that must be asked about
// each time is never allowed for longer than once.
func (g *Gate) Record(ctx context.Context, req Request, d Decision) Stored {
	k := keeper{gate: g, req: req.normalized(), wholeTool: d.WholeTool, stored: Stored{Scope: ScopeOnce, Where: WhereNowhere}}
	k.say(d.Ignored)
	if d.Kind == KindNone || d.Kind == TimedOut || d.Kind == Abort {
		return k.stored
	}
	rule, kind := k.plan(d)
	if rule != nil {
		k.keepRule(ctx, *rule, true)
	}
	switch {
	case !kind.lasts():
	case !k.req.Shell || k.wholeTool:
		k.keepCategory(ctx, kind)
	case len(k.req.SuggestedPrefix) == 0:
		k.say("no prefix stands for this command")
	default:
		k.keepRule(ctx, Rule{k.req.Tool, kind.effect(), k.req.SuggestedPrefix}, kind.durable())
	}
	if k.stored.Scope != ScopeOnce && d.Kind.Allows() {
		k.say(g.facts(k.req).suspendedByFiles())
	}
	return k.stored
}

// keeper collects what became of one answer.
type keeper struct {
	gate      *Gate
	req       Request
	wholeTool bool
	stored    Stored
}

// say adds a reason for keeping less than was said.
func (k *keeper) say(reason string) {
	if reason != "" {
		k.stored.Reason = strings.TrimPrefix(k.stored.Reason+"; "+reason, "; ")
	}
}

// plan splits an answer into the rule that its amendment adds and the kind
// that is kept besides it.
func (k *keeper) plan(d Decision) (*Rule, Kind) {
	rule, kind := k.uncontradicted(k.amended(d), d.Kind)
	if k.req.mustAsk() {
		rule, kind = k.onlyDenials(rule, kind)
	}
	if rule != nil && k.req.Shell && !k.wholeTool {
		// The amendment's prefix takes the place of the one that was shown.
		kind = onceOf(kind)
	}
	return rule, kind
}

// uncontradicted drops the allow where a lasting answer and its amendment say
// opposite things.
func (k *keeper) uncontradicted(rule *Rule, kind Kind) (*Rule, Kind) {
	if rule == nil || !kind.lasts() || rule.Effect == kind.effect() {
		return rule, kind
	}
	k.say("the amendment contradicts the decision, only the denial is kept")
	if rule.Effect == EffectDeny {
		return rule, AllowOnce
	}
	return nil, kind
}

// onlyDenials drops every allow that would outlive this call.
func (k *keeper) onlyDenials(rule *Rule, kind Kind) (*Rule, Kind) {
	lasting := kind.Allows() && kind.lasts()
	widening := rule != nil && rule.Effect == EffectAllow
	if lasting || widening {
		k.say("this call must be asked about each time")
	}
	if lasting {
		kind = AllowOnce
	}
	if widening {
		rule = nil
	}
	return rule, kind
}

func onceOf(k Kind) Kind {
	if k.Allows() {
		return AllowOnce
	}
	return DenyOnce
}

// amended returns the rule an amendment asks for. It always concerns the tool
// that was asked about. An "always" or "session" answer to a shell command
// whose amendment has no prefix means the prefix that was shown.
func (k *keeper) amended(d Decision) *Rule {
	if d.Amendment == nil {
		return nil
	}
	r := &Rule{Tool: k.req.Tool, CommandPrefix: d.Amendment.CommandPrefix}
	if d.Amendment.Effect == EffectAllow { // any other value denies
		r.Effect = EffectAllow
	}
	if len(r.CommandPrefix) == 0 && k.req.Shell && d.Kind.lasts() && !k.wholeTool {
		r.CommandPrefix = k.req.SuggestedPrefix
	}
	return r
}

// keepRule keeps a rule in the policy file or, if it is not to last or there
// is none, in the session.
func (k *keeper) keepRule(ctx context.Context, r Rule, durable bool) {
	if why := k.tooBroad(r); why != "" {
		k.say(why)
		return
	}
	if durable && k.gate.policy != nil {
		err := k.gate.policy.Add(ctx, r)
		if err == nil {
			k.stored.Scope, k.stored.Where, k.stored.Rule = scopeOf(r), WherePolicy, &r
			return
		}
		if k.failed(err); r.Effect == EffectAllow {
			return
		}
	} else if durable {
		k.say("there is no policy file")
	}
	if k.session() {
		k.gate.opts.Sessions.addRule(k.req.ChatID, r)
		k.stored.Rule = &r
	}
}

// tooBroad says why an allow is not kept although it holds for this call.
func (k *keeper) tooBroad(r Rule) string {
	switch {
	case r.Effect == EffectDeny:
		return ""
	case len(r.CommandPrefix) > 0:
		if why := k.gate.opts.Matcher.Broad(r.CommandPrefix); why != "" {
			return fmt.Sprintf("an allow for '%s' is too broad to keep: %s", prefixText(r.CommandPrefix), why)
		}
	case k.req.Shell && !k.wholeTool:
		return "an allow for every command of a shell tool is kept only with scope tool"
	}
	return ""
}

func scopeOf(r Rule) Scope {
	if len(r.CommandPrefix) == 0 {
		return ScopeTool
	}
	return ScopePrefix
}

// keepCategory keeps an answer for every call of the category.
func (k *keeper) keepCategory(ctx context.Context, kind Kind) {
	if kind.durable() && k.gate.store != nil {
		err := k.gate.store.Set(ctx, k.req.Category, kind.effect())
		if err == nil {
			k.stored.Scope, k.stored.Where = ScopeTool, WhereStore
			return
		}
		if k.failed(err); kind.Allows() {
			return
		}
	} else if kind.durable() {
		k.say("there is no store")
	}
	if k.session() {
		k.gate.opts.Sessions.setCategory(k.req.ChatID, k.req.Category, kind.effect())
	}
}

// session reports whether there is a session to keep an answer in.
func (k *keeper) session() bool {
	if k.gate.opts.Sessions == nil {
		k.say("there is no session")
		return false
	}
	k.stored.Scope, k.stored.Where = ScopeSession, WhereSession
	return true
}

// failed reports a write that did not happen: the log gets the path, the
// result only the cause.
func (k *keeper) failed(err error) {
	k.gate.opts.Logger.Warn().Err(err).Str("tool", k.req.Tool).Msg("approval not stored")
	k.say("not stored: " + cause(err))
}

// cause returns an error of a file operation without the file.
func cause(err error) string {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.Is(err, ErrDenialKept):
		return ErrDenialKept.Error()
	case errors.Is(err, ErrUnreadableKept):
		return ErrUnreadableKept.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "another process holds the lock"
	case errors.As(err, &path):
		return path.Err.Error()
	case errors.As(err, &link):
		return link.Err.Error()
	}
	return "the write failed"
}
