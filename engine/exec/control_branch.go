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
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// maxRuns is how many ways through branches on tensor data are tried: eight independent branches in all combinations.
const maxRuns = 256

// decide turns a condition into a bool; one that depends on tensor data goes the way this run was told to, first the else way.
func (m *machine) decide(f *frame, in *inst, cond any) (bool, error) {
	switch c := cond.(type) {
	case bool:
		return c, nil
	case int64:
		return c != 0, nil
	case *tensor.Tensor:
		if b, ok := ops.Item(c, tensor.Bool).(bool); ok {
			return b, nil
		}
	case ops.Unknown:
	default:
		return false, fmt.Errorf("got a condition of type %s, want a bool", ops.TypeName(cond))
	}
	if len(m.tr.Coverage.Unsupported) == 0 {
		m.siteOf(in)
		m.Note(note.Note{ID: note.BranchBoth})
		m.noSite()
	}
	m.decisions++
	key := branchKey{f.code.fn, in.num}
	way, told := m.chosen[key]
	if _, seen := m.took[key]; !seen {
		m.took[key] = way
		if !told {
			m.undecided = append(m.undecided, key)
		}
	}
	return way, nil
}

// search tries the ways through a program's branches on tensor data and keeps the heaviest, for the lower end the lightest. A place goes
// one way each time it is reached in a run.
type search struct {
	best    *machine
	err     error // of best
	queue   []map[branchKey]bool
	runs    int
	steps   int
	asked   map[string]bool
	missing []trace.Unsupported // in any run: a way that cannot be told may be the heaviest
	calls   libraryCalls        // of all runs
	open    []trace.Site        // of loops whose most is not known, in any run
}

// runBranches runs p, and again with other ways where it branches on tensor data.
func runBranches(ctx context.Context, p *program.Program, t *ops.Table, o Options) (*Result, error) {
	s := &search{queue: []map[branchKey]bool{nil}, asked: map[string]bool{}}
	for len(s.queue) > 0 && s.runs < maxRuns && s.steps < o.MaxSteps {
		m := newMachine(ctx, p, t, o)
		m.chosen, s.queue = s.queue[0], s.queue[1:]
		err := m.run()
		s.calls.merge(&m.library)
		if ends(err) {
			return &Result{m.tr, s.calls.list}, err
		}
		s.add(m, err)
		if len(s.missing) > 0 {
			s.queue = s.queue[:min(len(s.queue), max(8-s.runs, 0))] // the account is incomplete anyway
		}
	}
	tr := s.best.tr
	out := &Result{tr, s.calls.list}
	if s.err != nil && (!s.best.atMost || o.Lower) {
		return out, s.err
	}
	if s.err != nil { // with the sizes that data really has, the model may go on
		s.best.lacks(lack{reason: trace.RefusedAtMost, detail: s.err.Error()})
	}
	if len(s.queue) > 0 && len(s.missing) == 0 {
		s.best.lacks(lack{"prim::If", trace.ManyBranches, strconv.Itoa(s.runs)})
	}
	for _, u := range s.missing {
		if !slices.ContainsFunc(tr.Coverage.Unsupported, func(v trace.Unsupported) bool {
			return v.Op == u.Op && v.Reason == u.Reason && v.Detail == u.Detail
		}) {
			tr.Coverage.Unsupported = append(tr.Coverage.Unsupported, u)
		}
	}
	for _, site := range s.open {
		tr.Sites = append(tr.Sites, site)
		s.best.site = trace.SiteID(len(tr.Sites) - 1)
		s.best.Note(note.Note{ID: note.LoopOpen})
	}
	if len(tr.Coverage.Unsupported) == 0 && !o.Lower {
		return out, unasked(o.Assume, s.asked)
	}
	return out, nil
}

// ends says whether an error is no error of the model on one of its ways: a limit, or the caller's end.
func ends(err error) bool {
	var eval *EvalError
	var limit *LimitError
	return err != nil && (!errors.As(err, &eval) || errors.As(err, &limit) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

// add judges a run and lines up the ways that it shows.
func (s *search) add(m *machine, err error) {
	s.runs++
	s.steps += m.steps
	maps.Copy(s.asked, m.asked)
	same := s.best != nil && err == nil && s.err == nil && slices.Equal(m.tr.Events, s.best.tr.Events)
	if err == nil || m.grew {
		s.missing = append(s.missing, m.tr.Coverage.Unsupported...)
		for _, n := range m.tr.Notes {
			if n.ID == note.LoopOpen {
				s.open = append(s.open, m.tr.Site(n.Site))
			}
		}
	}
	if s.best == nil || s.err != nil && err == nil || s.err == nil && err == nil && m.heavier(s.best) {
		s.best, s.err = m, err
	}
	if same {
		return // this way changes nothing
	}
	told := maps.Clone(m.chosen)
	if told == nil {
		told = map[branchKey]bool{}
	}
	for _, key := range m.undecided {
		other := maps.Clone(told)
		other[key] = !m.took[key]
		s.queue = append(s.queue, other)
		told[key] = m.took[key]
	}
}

// heavier says whether m's run took more than n's (less, for the lower end).
func (m *machine) heavier(n *machine) bool {
	if m.o.Lower {
		return m.peak < n.peak
	}
	return m.peak > n.peak
}
