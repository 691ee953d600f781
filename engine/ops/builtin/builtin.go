// Package builtin is the table of every rule that memspec has.
package builtin

import (
	"slices"
	"sync"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/attention"
	"github.com/memspec/memspec/engine/ops/create"
	"github.com/memspec/memspec/engine/ops/fft"
	"github.com/memspec/memspec/engine/ops/index"
	"github.com/memspec/memspec/engine/ops/linalg"
	"github.com/memspec/memspec/engine/ops/nn"
	"github.com/memspec/memspec/engine/ops/pointwise"
	"github.com/memspec/memspec/engine/ops/prim"
	"github.com/memspec/memspec/engine/ops/quant"
	"github.com/memspec/memspec/engine/ops/reduce"
	"github.com/memspec/memspec/engine/ops/view"
)

// Table is the table of every family's rules.
func Table() *ops.Table { return table() }

// With is the table with further rules behind those of the families.
func With(more []ops.Rule) (*ops.Table, error) { return ops.NewTable(append(families(), more)...) }

func families() [][]ops.Rule {
	return slices.Concat(pointwise.Rules, create.Rules, view.Rules, index.Rules, reduce.Rules, linalg.Rules, fft.Rules,
		nn.Rules, attention.Rules, quant.Rules, prim.Rules)
}

// The overloads on numbers, strings and containers (prim) come after those on tensors, as PyTorch
// registers them.
var table = sync.OnceValue(func() *ops.Table {
	t, err := ops.NewTable(families()...)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return t
})
