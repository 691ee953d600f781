package aten

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// Host runs operators on tensors of the host, for tables of what PyTorch says of the same calls.
type Host struct {
	*testing.T
	Bench *Bench
}

// NewHost prepares to run operators of a table.
func NewHost(t *testing.T, table *ops.Table) Host {
	return Host{t, NewBench(table, On(t, "a10g", "2.15"))}
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
	got, events, err := h.Bench.Run(op, args, kw)
	require.NoError(h, err, op)
	assert.Empty(h, events, "%s: on the host nothing is allocated on the device", op)
	return got
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
