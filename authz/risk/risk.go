package risk

import (
	"slices"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/internal/match"
)

// Input is an action as far as its risk goes. Nothing in it is trusted.
type Input struct {
	Kind        authz.Kind // the zero value counts as a command
	Description string
	Content     string // decoded text, never JSON with its escapes

	// What a classifier of shell commands said, if the action is one. A
	// critical command counts as irreversible, a warning as medium.
	CommandCritical bool
	CommandWarning  bool
}

// Assessment is what an action puts at stake. It is immutable. The zero value
// has an unknown band and side effect, which policy does not allow.
type Assessment struct {
	band     authz.Band
	side     authz.SideEffect
	secrets  []string
	personal []string
	leaving  []string
	effects  []string
}

// Band returns the step of the ladder.
func (a Assessment) Band() authz.Band { return a.band }

// SideEffect returns what remains afterwards. It is reported whatever the band
// came from.
func (a Assessment) SideEffect() authz.SideEffect { return a.side }

// HasSecrets reports whether any shape of a secret was found.
func (a Assessment) HasSecrets() bool { return len(a.secrets) > 0 }

// HasPersonal reports whether any shape of personal data was found.
func (a Assessment) HasPersonal() bool { return len(a.personal) > 0 }

// Leaves reports whether anything suggests that data leaves.
func (a Assessment) Leaves() bool { return len(a.leaving) > 0 }

// Signals returns the names of all signals, table by table: secrets, personal
// data, leaving, irreversible, reversible. They name tables, never contents.
func (a Assessment) Signals() []string {
	return slices.Concat(a.secrets, a.personal, a.leaving, a.effects)
}

// Scorer holds the tables. It is immutable and safe for concurrent use.
// Building one takes a millisecond or two; expressions are compiled when a text
// first needs them.
type Scorer struct {
	set  *match.Set
	ends [5]int // index after the last pattern of each table
}

// New returns a scorer.
func New() *Scorer {
	var s Scorer
	var all []match.Pattern
	for i, table := range [][]match.Pattern{secrets(), personal(), leaving(), irreversible(), reversible()} {
		all = append(all, table...)
		s.ends[i] = len(all)
	}
	s.set = match.New(all)
	return &s
}

// commandCritical is the signal's name when a command classifier gave it.
const commandCritical = "command_critical"

// Score assesses an action. The same input always gives the same assessment.
func (s *Scorer) Score(in Input) Assessment {
	var names [5][]string
	// The two texts are searched as one, as the ladder is defined.
	for _, h := range s.set.First(in.Description + "\n" + in.Content) {
		table := 0
		for h.Pattern >= s.ends[table] {
			table++
		}
		names[table] = append(names[table], s.set.Name(h.Pattern))
	}
	if in.CommandCritical {
		names[3] = append(names[3], commandCritical)
	}
	a := Assessment{
		side:     authz.NoSideEffect,
		secrets:  names[0],
		personal: names[1],
		leaving:  names[2],
		effects:  slices.Concat(names[3], names[4]),
	}
	switch {
	case len(names[3]) > 0:
		a.side = authz.Irreversible
	case len(names[4]) > 0:
		a.side = authz.Reversible
	}
	a.band = a.ladder(in)
	return a
}

// ladder returns the band of the first step that applies.
func (a Assessment) ladder(in Input) authz.Band {
	switch {
	case a.HasSecrets():
		return authz.Critical
	case a.HasPersonal() && a.Leaves(), a.side == authz.Irreversible:
		return authz.High
	case a.HasPersonal(), a.Leaves(), a.side == authz.Reversible, in.CommandWarning, !harmless(in.Kind):
		return authz.Medium
	default:
		return authz.Low
	}
}

// harmless reports whether a kind alone puts nothing at stake. Kinds that this
// code does not know do.
func harmless(k authz.Kind) bool {
	switch k {
	case authz.KindRead, authz.KindWrite, authz.KindSend:
		return true
	case authz.KindUnknown, authz.KindCommand, authz.KindDelete:
		return false
	default:
		return false
	}
}
