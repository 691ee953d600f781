package aten

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// Host runs operators on tensors of the host, for tables of what PyTorch says of the same calls.
type Host struct {
	*testing.T
	Bench *Bench
	ran   *[]hostCall
}

type hostCall struct {
	op   string
	args []any
	kw   ops.Kw
}

// NewHost prepares to run operators of a table.
func NewHost(t *testing.T, table *ops.Table) Host {
	return Host{t, NewBench(table, On(t, "a10g", "2.15")), &[]hostCall{}}
}

// In is a tensor of the host, dense in a memory format.
func (h Host) In(d tensor.DType, f tensor.MemoryFormat, sizes ...int64) *tensor.Tensor {
	return h.Bench.Tensor(tensor.Meta{DType: d, Sizes: sizes, Strides: tensor.FormatStrides(sizes, f), Device: "cpu"},
		nil)
}

// Of is a contiguous tensor of the host.
func (h Host) Of(d tensor.DType, sizes ...int64) *tensor.Tensor {
	return h.In(d, tensor.Contiguous, sizes...)
}

// Ints is a vector of the host whose values are known.
func (h Host) Ints(values ...int64) *tensor.Tensor {
	t := h.Of(tensor.Int64, int64(len(values)))
	t.Data = &tensor.Data{Ints: values}
	return t
}

// Run runs an operator, which takes nothing on the device; an ops.Kw as the last argument names the
// rest.
func (h Host) Run(op string, args ...any) any {
	h.Helper()
	var kw ops.Kw
	if n := len(args); n > 0 {
		if named, ok := args[n-1].(ops.Kw); ok {
			args, kw = args[:n-1], named
		}
	}
	*h.ran = append(*h.ran, hostCall{op, args, kw})
	got, events, err := h.Bench.Run(op, args, kw)
	require.NoError(h, err, op)
	assert.Empty(h, events, "%s: on the host nothing is allocated on the device", op)
	return got
}

// Try runs an operator that may refuse, or take something on the device.
func (h Host) Try(op string, args []any, kw ops.Kw) (any, error) {
	h.Helper()
	*h.ran = append(*h.ran, hostCall{op, args, kw})
	got, _, err := h.Bench.Run(op, args, kw)
	return got, err
}

// Changed runs the calls again that Run and Try ran, with one argument changed: see Wrong. What
// they give is that of a golden file.
func (h Host) Changed(path string) {
	h.Helper()
	golden.NeedsWhole(h.T, "the calls themselves run")
	all, r := blocks{}, &run{bench: h.Bench}
	for n, c := range slices.Clone(*h.ran) {
		var lead outcomes
		for i := range c.args {
			for k, other := range r.others(c.args[i]) {
				args := slices.Clone(c.args)
				args[i] = other
				lead.add(fmt.Sprintf("%d.%d", i, k), h.outcome(hostCall{c.op, args, c.kw}))
			}
		}
		if lead.texts != nil {
			all[fmt.Sprintf("%s/%d", c.op, n)] = lead.lines()
		}
	}
	all.compare(h.T, path, fmt.Sprintf("What the calls of %s give with one argument changed. MEMSPEC_UPDATE=1 go test",
		h.Name()))
}

// outcome is what a call gives, or its error.
func (h Host) outcome(c hostCall) string {
	h.Helper()
	defer func() {
		if bug := recover(); bug != nil {
			h.Errorf("%s: panic: %v\n%s", c.op, bug, debug.Stack())
		}
	}()
	result, events, err := h.Bench.Run(c.op, c.args, c.kw)
	if err != nil {
		return strings.TrimPrefix(err.Error(), c.op+": ")
	}
	return accepted(result, events, func(tensor.StorageID) string { return "-" })
}

// Describe writes a result: "quint8[2, 6, 5] [30, 1, 6]" is a tensor's dtype, sizes and strides.
func Describe(v any) string {
	list := func(n any) string { return strings.ReplaceAll(fmt.Sprint(n), " ", ", ") }
	join := func(items []any) string {
		parts := make([]string, len(items))
		for i, item := range items {
			parts[i] = Describe(item)
		}
		return "(" + strings.Join(parts, ", ") + ")"
	}
	switch v := v.(type) {
	case *tensor.Tensor:
		if v.Device != "cpu" {
			return "on " + v.Device
		}
		return v.DType.String() + list(v.Sizes) + " " + list(v.Strides)
	case *ops.List:
		return join(v.Items)
	case *ops.Tuple:
		return join(v.Items)
	case nil:
		return "None"
	}
	return fmt.Sprint(v)
}
