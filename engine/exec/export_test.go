package exec

import (
	"context"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/units"
)

// RunEveryPass makes o run also the passes that repeat the one before.
func (o *Options) RunEveryPass() { o.everyPass = true }

// MakeAtMost bounds the storages that o makes.
func (o *Options) MakeAtMost(n int) { o.maxStorages = n }

// RunOnce makes one run, whatever branches it meets.
func RunOnce(start Start, t *ops.Table, o Options) (*Machine, error) {
	m := newMachine(context.Background(), t, o.withDefaults())
	return m, m.run(start)
}

// Steps, Made and Peak are the nodes executed, the storages made and the most that lived at once.
func (m *Machine) Steps() int        { return m.steps }
func (m *Machine) Made() int         { return len(m.holders) }
func (m *Machine) Peak() units.Bytes { return m.peak }

// Bounded says whether some size was taken at an end of its range.
func (d *Dispatch) Bounded() bool { return d.bounded }
