package exec

import (
	"bytes"
	"fmt"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/trace"
)

// How often a loop runs may depend on tensor data. Such a loop is run until the state at the head
// of a round is that of the round before: every further round would then do the same, and what was
// seen is the most that any number of rounds takes (note loop-bound). Where rounds are counted, the
// count is taken as unknown after a while. A loop whose state goes on changing may hold more with
// each round: the account is incomplete, unless assume: says how often it runs.

const (
	endless      = 1 << 62
	maxRounds    = 256    // of one loop that may not end, before its counts are taken as unknown
	maxUnsettled = 4096   // of all such loops together
	maxWidened   = 4      // rounds with unknown counts in which the state must settle
	fewRounds    = 32     // are run one by one, whatever their number depends on
	maxDifferent = 16     // rounds of such a loop that are compared
	maxBounded   = 10_000 // rounds of a loop whose number is the most that tensor data allows
)

// Loop is what a driver says of a loop.
type Loop interface {
	// Enter makes the loop's place current.
	Enter()
	// Branch is the loop's condition.
	Branch() Branch
	// PositionOnly says whether the body uses the number of its round for nothing but positions in
	// tensors: then rounds differ only in what they carry.
	PositionOnly() bool
}

// Rounds decides at the head of each round of a loop whether it is run.
type Rounds struct {
	m     *Machine
	loop  Loop
	round int64
	trips int64 // the most rounds
	open  bool  // nothing known ends it
	blind bool  // the number of the round is not known to the body
	most  bool  // trips may be the most that tensor data allows, and rounds differ in nothing but a position

	decisions int    // of the machine at the last head
	before    []byte // the state there
	carried   []any  // what was carried there
	widened   int
}

// Rounds reads a loop's bound; None is no bound.
func (m *Machine) Rounds(loop Loop, bound any) (*Rounds, error) {
	r := &Rounds{m: m, loop: loop, trips: endless, decisions: m.sides.met}
	switch v := bound.(type) {
	case nil:
	case int64:
		r.trips = v
		if v <= fewRounds || !m.bounded || !loop.PositionOnly() {
			break
		}
		if n, ok := r.stated(); ok {
			r.trips = min(n, v)
		} else {
			r.most = true
		}
	case ops.Unbacked:
		if m.Incomplete() {
			r.trips = 1
			break
		}
		r.blind = true
		if n, ok := r.stated(); ok {
			r.trips, r.blind = n, false
		} else if m.lower {
			r.trips = 0
		}
	default:
		return nil, fmt.Errorf("got a trip count of type %s, want an int", ops.TypeName(v))
	}
	return r, nil
}

// stated is what the case states of the loop's place.
func (r *Rounds) stated() (int64, bool) {
	r.loop.Enter()
	defer r.m.Sites.Leave()
	return r.m.Assumed()
}

// Index is the number of the round, as far as the body may know it.
func (r *Rounds) Index() any {
	if r.blind {
		return ops.Between("prim::Loop", 0, ops.NoMax)
	}
	return r.round
}

// Next says whether another round is run, given the loop's condition and what is carried into the
// round; numbers among these may become unknown.
func (r *Rounds) Next(cond any, carried []any) (bool, error) {
	if r.round >= r.trips {
		return false, nil
	}
	m := r.m
	truth, known, err := Truth(cond)
	if err != nil {
		return false, err
	}
	depends := !known || r.trips == endless && m.sides.met > r.decisions // on tensor data, itself or by a break
	if depends {
		if n, ok := r.stated(); ok {
			return r.round < n, nil
		}
	}
	if !known {
		r.loop.Enter()
		truth = m.Choose(r.loop.Branch())
		m.Sites.Leave()
	}
	if !truth {
		return false, nil
	}
	if r.trips == endless && (depends || r.blind) {
		r.open = true
	}
	switch {
	case m.Incomplete() && r.open:
		return r.round == 0, nil // what the rounds hold is not known anyway
	case !r.open && !r.most:
		return true, nil
	}
	return r.another(carried), nil
}

// another goes on with a loop whose number of rounds depends on tensor data until its state
// settles, or it is given up.
func (r *Rounds) another(carried []any) bool {
	if r.most && r.round > maxDifferent {
		return r.boundedRound()
	}
	state := r.m.describe(carried, r.most)
	if bytes.Equal(state, r.before) {
		r.loop.Enter()
		r.m.Note(note.Note{ID: note.LoopBound})
		r.m.Sites.Leave()
		return false
	}
	r.before = state
	if r.most {
		return r.boundedRound()
	}
	return r.unsettledRound(carried)
}

// boundedRound goes on with a loop that runs at most so often, each time with another state.
func (r *Rounds) boundedRound() bool {
	if r.round < maxBounded {
		return true
	}
	r.giveUp()
	return false
}

// unsettledRound goes on with a loop that nothing ends and whose state still changes. After many
// rounds the numbers that change are taken as unknown.
func (r *Rounds) unsettledRound(carried []any) bool {
	last := r.carried
	r.carried = append([]any(nil), carried...)
	r.m.unsettled++
	if r.round < maxRounds && r.m.unsettled < maxUnsettled {
		return true
	}
	if r.widened++; r.widened > maxWidened {
		r.giveUp()
		return false
	}
	for i, v := range carried {
		if isNumber(v) && last != nil && v != last[i] {
			carried[i] = ops.NewUnbacked("prim::Loop", ops.NumberKind(v))
		}
	}
	return true
}

// Done counts a round that was run.
func (r *Rounds) Done() { r.round++ }

// Failed says that the model refused a round: where nothing known ends the loop, any number of
// rounds before it is possible.
func (r *Rounds) Failed() {
	if r.open && r.round > 0 {
		r.giveUp()
	}
}

// giveUp ends a loop whose most is not known.
func (r *Rounds) giveUp() {
	m := r.m
	r.loop.Enter()
	m.Note(note.Note{ID: note.LoopOpen})
	m.Unsupported("prim::Loop", trace.OpenLoop)
	m.openEnded = true
	m.Sites.Leave()
}

func isNumber(v any) bool {
	switch v.(type) {
	case bool, int64, float64:
		return true
	}
	return false
}
