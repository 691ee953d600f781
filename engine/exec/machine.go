package exec

import (
	"context"
	"errors"
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// Machine is one run of a program. It is not safe for concurrent use, and shares nothing that it
// changes with other runs.
type Machine struct {
	*Dispatch
	ctx    context.Context
	o      Options
	driver Driver
	states map[*program.State]*tensor.Tensor
	args   []any // of every pass
	steps  int   // nodes executed

	sides     sides
	unsettled int  // rounds of loops that may not end
	openEnded bool // a loop's most is not known
}

func newMachine(ctx context.Context, t *ops.Table, o Options) *Machine {
	return &Machine{Dispatch: NewDispatch(t, o), ctx: ctx, o: o}
}

// Options are how the run goes.
func (m *Machine) Options() *Options { return &m.o }

// run is the whole account.
func (m *Machine) run(start Start) (err error) {
	if m.driver, err = start(m); err != nil {
		return err
	}
	m.driver.Load()
	if m.args, err = m.inputs(); err != nil {
		return err
	}
	for _, v := range m.args {
		m.Hold(v) // the caller keeps the arguments
	}
	m.Sites.phase = trace.Forward
	m.Sites.pass = 1
	if err := m.driver.Prepare(); err != nil {
		return err
	}
	for pass := 1; ; pass++ {
		m.Sites.pass = pass
		m.changes.start(tensor.StorageID(len(m.holders)))
		begin := m.mark()
		result, err := m.driver.Forward(m.args)
		if err != nil {
			return err
		}
		m.leaveAutocast()
		m.Sites.Leave()
		if pass >= len(m.o.Passes) {
			return nil
		}
		end := m.mark()
		m.Sites.pass = pass + 1 // dropped before the next pass, not in this one
		m.Drop(result)
		if pass+1 == len(m.o.Passes) && m.repeat(begin, end) {
			return nil
		}
	}
}

// Trace is the account so far.
func (m *Machine) Trace() *trace.Trace {
	t := m.Dispatch.Trace()
	t.Passes = m.o.Passes
	if len(m.own.kept) > 0 && m.o.HoldLocals {
		t.Events = slices.DeleteFunc(slices.Clone(t.Events), func(e trace.Event) bool { return m.own.keeps(&e) })
	}
	return t
}

// Step counts one node, and ends a run that is too long.
func (m *Machine) Step() error {
	m.steps++
	if m.steps > m.o.MaxSteps {
		return &LimitError{What: "steps", Limit: m.o.MaxSteps}
	}
	if len(m.holders) > m.o.maxStorages {
		return &LimitError{What: "allocations", Limit: m.o.maxStorages}
	}
	if m.steps&0xfff == 0 {
		if err := m.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Missing finds an operator without a rule in err's chain.
func Missing(err error) (*ops.MissingError, bool) {
	if err == nil {
		return nil, false
	}
	var missing *ops.MissingError
	ok := errors.As(err, &missing)
	return missing, ok
}
