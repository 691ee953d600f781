package exec

import (
	"bytes"
	"fmt"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// Loops whose end depends on tensor data. One is run until the state at the head of a round is that of the round before: every further
// round would then do the same, and what was seen is the most that any number of rounds takes (note loop-bound). Where rounds count, the
// count is taken as unknown after a while. A loop whose state goes on changing may hold more with each round: the result is incomplete,
// unless assume: says how often it runs.

const (
	endless      = 1 << 62
	maxRounds    = 256    // of one loop that may not end, before its counts are taken as unknown
	maxUnsettled = 4096   // of all such loops together
	maxWidened   = 4      // rounds with unknown counts in which the state must settle
	fewRounds    = 32     // are run one by one, whatever their number depends on
	maxDifferent = 16     // rounds of such a loop that are compared
	maxBounded   = 10_000 // rounds of a loop whose number is the most that tensor data allows
)

// loop is one under way.
type loop struct {
	in      *inst
	round   int64
	trips   int64 // the most rounds
	assumed int64 // rounds that the case states, -1 none
	open    bool  // nothing known ends it
	blind   bool  // the number of the round is not known to the body
	most    bool  // trips may be the most that tensor data allows, and rounds differ in nothing but a position

	decisions int    // of the machine at the last head
	before    []byte // the state there
	carried   []any  // the numbers there
	widened   int
}

// runLoop runs a for or while loop.
func (m *machine) runLoop(f *frame, in *inst) error {
	n := in.node
	l, err := m.newLoop(in, m.arg(f, &n.Args[0]))
	if err != nil {
		return m.fail(err)
	}
	cond := m.arg(f, &n.Args[1])
	carried := make([]any, len(n.Args)-2)
	for i := range carried {
		carried[i] = m.arg(f, &n.Args[i+2])
		m.hold(carried[i])
	}
	m.releaseArgs(f, in)
	b := in.blocks[0]
	for ; l.round < l.trips; l.round++ {
		goOn, err := m.goesOn(f, l, cond, carried)
		if err != nil {
			return m.fail(err)
		}
		if !goOn {
			break
		}
		if err := m.step(); err != nil {
			return m.fail(err)
		}
		m.put(f, b.src.Params[0].ID, l.index())
		for j, p := range b.src.Params[1:] {
			m.put(f, p.ID, carried[j])
		}
		if f.locals != nil {
			m.enterRound(f, in)
		}
		if err := m.runBlock(f, b); err != nil {
			if l.open && l.round > 0 {
				m.grows(l) // until the model itself refuses: any number of rounds before is possible
			}
			return err
		} else if f.done {
			return nil
		}
		if f.locals != nil {
			m.leaveRound(f, in)
		}
		outs := make([]any, len(b.src.Outs))
		m.blockOuts(f, b, outs)
		cond, carried = outs[0], outs[1:]
		for _, p := range b.src.Params {
			m.clear(f, p.ID)
		}
	}
	if f.locals != nil {
		m.leaveLoop(f, in)
	}
	for i, out := range n.Outs {
		m.put(f, out.ID, carried[i])
		if f.locals != nil {
			m.afterOut(f, in, i, carried[i])
		}
	}
	return nil
}

// newLoop reads a loop's bound; None is no bound.
func (m *machine) newLoop(in *inst, bound any) (*loop, error) {
	l := &loop{in: in, trips: endless, assumed: -1, decisions: m.decisions}
	switch v := bound.(type) {
	case nil:
	case int64:
		l.trips = v
		if v <= fewRounds || !m.atMost || !positionOnly(in.blocks[0].src) {
			break
		}
		m.siteOf(in)
		if n, ok := m.assumed(); ok {
			l.trips = min(n, v)
		} else {
			l.most = true
		}
		m.noSite()
	case ops.Unknown:
		if len(m.tr.Coverage.Unsupported) > 0 {
			l.trips = 1
			break
		}
		l.blind = true
		m.siteOf(in)
		if n, ok := m.assumed(); ok {
			l.trips, l.blind = n, false
		} else if m.o.Lower {
			l.trips = 0
		}
		m.noSite()
	default:
		return nil, fmt.Errorf("got a trip count of type %s, want an int", ops.TypeName(v))
	}
	return l, nil
}

// index is the number of the round, as far as it may be known.
func (l *loop) index() any {
	if l.blind {
		return ops.Unknown{Op: "prim::Loop", Kind: schema.Int}
	}
	return l.round
}

// goesOn says, at the head of a round, whether it is run.
func (m *machine) goesOn(f *frame, l *loop, cond any, carried []any) (bool, error) {
	depends := !known(cond) || l.trips == endless && m.decisions > l.decisions // on tensor data, itself or by a break
	if depends {
		m.siteOf(l.in)
		n, ok := m.assumed()
		m.noSite()
		if ok {
			return l.round < n, nil
		}
	}
	goOn, err := m.decide(f, l.in, cond)
	if err != nil || !goOn {
		return false, err
	}
	if l.trips == endless && (depends || l.blind) {
		l.open = true
	}
	l.decisions = m.decisions
	switch {
	case len(m.tr.Coverage.Unsupported) > 0 && l.open:
		return l.round == 0, nil // what the rounds hold is not known anyway
	case !l.open && !l.most:
		return true, nil
	}
	if l.most && l.round > maxDifferent {
		return m.bounded(l), nil
	}
	state := m.describe(carried, l.most)
	if bytes.Equal(state, l.before) {
		m.siteOf(l.in)
		m.Note(note.Note{ID: note.LoopBound})
		m.noSite()
		return false, nil
	}
	l.before = state
	if l.most {
		return m.bounded(l), nil
	}
	return m.settles(l, carried), nil
}

// known says whether a condition's value is.
func known(cond any) bool {
	switch c := cond.(type) {
	case *tensor.Tensor:
		_, ok := ops.Item(c, tensor.Bool).(bool)
		return ok
	case ops.Unknown:
		return false
	}
	return true
}

// bounded goes on with a loop that runs at most so often, each time with another state.
func (m *machine) bounded(l *loop) bool {
	if l.round < maxBounded {
		return true
	}
	m.grows(l)
	return false
}

// settles goes on with a loop that nothing ends and whose state still changes. After many rounds the numbers that change are taken as unknown.
func (m *machine) settles(l *loop, carried []any) bool {
	last := l.carried
	l.carried = append([]any(nil), carried...)
	m.unsettledRounds++
	if l.round < maxRounds && m.unsettledRounds < maxUnsettled {
		return true
	}
	if l.widened++; l.widened > maxWidened {
		m.grows(l)
		return false
	}
	for i, v := range carried {
		if isNumber(v) && last != nil && v != last[i] {
			carried[i] = ops.Unknown{Op: "prim::Loop", Kind: ops.NumberKind(v)}
		}
	}
	return true
}

// grows ends a loop whose most is not known.
func (m *machine) grows(l *loop) {
	m.siteOf(l.in)
	m.Note(note.Note{ID: note.LoopOpen})
	m.unsupported("prim::Loop", trace.OpenLoop)
	m.grew = true
	m.noSite()
}

func isNumber(v any) bool {
	switch v.(type) {
	case bool, int64, float64:
		return true
	}
	return false
}

// positionOnly says whether a loop's body uses the number of its round for nothing but positions in tensors: then rounds differ only in
// what they carry.
func positionOnly(b *program.Block) bool { return usedAsPosition(b, b.Params[0]) }

func usedAsPosition(b *program.Block, v *program.Value) bool {
	for _, n := range b.Nodes {
		for i := range n.Args {
			if n.Args[i].Value == v && (n.Op != "aten::select" || i != 2) {
				return false
			}
		}
		for _, sub := range n.Blocks {
			if !usedAsPosition(sub, v) {
				return false
			}
		}
	}
	for i := range b.Outs {
		if b.Outs[i].Value == v {
			return false
		}
	}
	return true
}
