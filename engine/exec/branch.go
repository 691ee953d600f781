package exec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// A branch on tensor data is run both sides, each time from the start: the state of a run is
// counted holders all over, and a copy of it is where errors would live. A place goes one way each
// time it is reached in a run.

// Branch is a place where a program branches: the same value in every run.
type Branch struct {
	Func any // the function, by identity
	Node int32
}

// ways are the ways that one run goes where tensor data decides.
type sides struct {
	given map[Branch]bool // as the search wants it
	took  map[Branch]bool
	open  []Branch // met and not known, in order
	met   int      // each time a branch was met
}

// Truth is a condition's value; known is false where it depends on tensor data.
func Truth(cond any) (truth, known bool, err error) {
	switch c := cond.(type) {
	case bool:
		return c, true, nil
	case int64:
		return c != 0, true, nil
	case *tensor.Tensor:
		truth, known = ops.Item(c, tensor.Bool).(bool)
		return truth, known, nil
	case ops.Unbacked:
		return false, false, nil
	}
	return false, false, fmt.Errorf("got a condition of type %s, want a bool", ops.TypeName(cond))
}

// Choose is the way to go at a branch on tensor data, with the current place as the note's: as the
// search chose for this run, else the else side.
func (m *Machine) Choose(b Branch) bool {
	if !m.Incomplete() {
		m.Note(note.Note{ID: note.BranchBoth})
	}
	w := &m.sides
	w.met++
	side, given := w.given[b]
	if _, met := w.took[b]; !met {
		if w.took == nil {
			w.took = map[Branch]bool{}
		}
		w.took[b] = side
		if !given {
			w.open = append(w.open, b)
		}
	}
	return side
}

// maxRuns is how many ways through branches on tensor data are tried: eight independent branches in
// all combinations.
const maxRuns = 256

// search tries the ways through a program's branches on tensor data and keeps the heaviest, for the
// lower end the lightest.
type search struct {
	best    *Machine
	err     error // of best
	queue   []map[Branch]bool
	runs    int
	steps   int
	asked   map[string]bool
	missing []trace.Unsupported // in any run: a way that is unknown may be the heaviest
	calls   libraryCalls        // of all runs
	open    []trace.Site        // of loops whose most is not known, in any run
	refused error               // of the first way that ends with an operator that cannot run
}

// run runs the program, and again with other ways where it branches on tensor data.
func (s *search) run(ctx context.Context, start Start, t *ops.Table, o Options) (*Result, error) {
	s.queue, s.asked = []map[Branch]bool{nil}, map[string]bool{}
	for len(s.queue) > 0 && s.runs < maxRuns && s.steps < o.MaxSteps {
		m := newMachine(ctx, t, o)
		m.sides.given, s.queue = s.queue[0], s.queue[1:]
		err := m.run(start)
		s.calls.merge(&m.library)
		if ends(err) {
			return &Result{Trace: m.Trace(), Calls: s.calls.list}, err
		}
		s.add(m, err)
		if len(s.missing) > 0 {
			s.queue = s.queue[:min(len(s.queue), max(8-s.runs, 0))] // the account is incomplete anyway
		}
	}
	err := s.conclude(o)
	return &Result{Trace: s.best.Trace(), Calls: s.calls.list}, err
}

// conclude adds to the best run what other runs found missing; its error is that run's, or the
// case's.
func (s *search) conclude(o Options) error {
	if s.err != nil && (!s.best.bounded || o.Lower) {
		return s.err
	}
	if s.err != nil { // with the sizes that data really has, the model may go on
		s.best.Lacks(Lack{Reason: trace.RefusedAtMost, Detail: s.err.Error()})
	}
	if s.err == nil && s.refused != nil && !o.Lower { // data may choose that way
		s.best.Lacks(Lack{Reason: trace.RefusedWay, Detail: s.refused.Error()})
	}
	if len(s.queue) > 0 && len(s.missing) == 0 {
		s.best.Lacks(Lack{"prim::If", trace.ManyBranches, strconv.Itoa(s.runs)})
	}
	c := &s.best.coverage
	for _, u := range s.missing {
		if !slices.ContainsFunc(c.Unsupported, func(v trace.Unsupported) bool {
			return v.Op == u.Op && v.Reason == u.Reason && v.Detail == u.Detail
		}) {
			c.Unsupported = append(c.Unsupported, u)
		}
	}
	for _, site := range s.open {
		s.best.Sites.list = append(s.best.Sites.list, site)
		s.best.Sites.now = trace.SiteID(len(s.best.Sites.list) - 1)
		s.best.Note(note.Note{ID: note.LoopOpen})
	}
	if len(c.Unsupported) == 0 && !o.Lower {
		return checkAsked(o.Assume, s.asked)
	}
	return nil
}

// ends says whether an error is no error of the model on one of its ways: a limit, or the caller's
// end.
func ends(err error) bool {
	var eval *EvalError
	var limit *LimitError
	return err != nil && (!errors.As(err, &eval) || errors.As(err, &limit) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded))
}

// add judges a run and lines up the ways that it shows.
func (s *search) add(m *Machine, err error) {
	s.runs++
	s.steps += m.steps + m.walked
	maps.Copy(s.asked, m.asked)
	same := s.best != nil && err == nil && s.err == nil && slices.Equal(m.events, s.best.events)
	if err == nil || m.openEnded {
		s.missing = append(s.missing, m.coverage.Unsupported...)
		for _, n := range m.Notes.list {
			if n.ID == note.LoopOpen {
				s.open = append(s.open, m.Sites.list[n.Site])
			}
		}
	}
	var eval *EvalError
	if errors.As(err, &eval) && !eval.Raise && !m.openEnded && s.refused == nil {
		s.refused = err
	}
	if s.best == nil || s.err != nil && err == nil || s.err == nil && err == nil && m.better(s.best) {
		s.best, s.err = m, err
	}
	if same {
		return // this way changes nothing
	}
	given := maps.Clone(m.sides.given)
	if given == nil {
		given = map[Branch]bool{}
	}
	for _, b := range m.sides.open {
		other := maps.Clone(given)
		other[b] = !m.sides.took[b]
		s.queue = append(s.queue, other)
		given[b] = m.sides.took[b]
	}
}

// better says whether m's run took more than n's; less, for the lower end.
func (m *Machine) better(n *Machine) bool {
	if m.lower {
		return m.peak < n.peak
	}
	return m.peak > n.peak
}
