package exec

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// An archive of an old container version means by some operators what they did then; PyTorch replaces these when it loads it
// (torch/csrc/jit/operator_upgraders/upgraders_entry.cpp). gelu is among them and does the same.

// newest is the version from which on nothing is replaced.
const newest = 9

// upgrade gives an operator of an old archive the arguments that say today what it said then.
func (m *machine) upgrade(op string, args []any, kw ops.Kw) ([]any, ops.Kw) {
	set := func(name string, v any) {
		if kw == nil {
			kw = ops.Kw{}
		}
		kw[name] = v
	}
	v := m.prog.Version
	switch {
	case v < 4 && (op == "aten::div" || op == "aten::div_") && len(args) == 2 && kw["rounding_mode"] == nil:
		// integers were divided as C does
		if _, isTensor := args[0].(*tensor.Tensor); isTensor && !isFloat(args[0]) && !isFloat(args[1]) {
			set("rounding_mode", "trunc")
		}
	case v < 5 && op == "aten::full" && len(args) >= 2 && kw["out"] == nil && kw["dtype"] == nil && (len(args) < 3 || args[2] == nil):
		// an int or a bool filled a tensor of the default dtype
		args = append([]any(nil), args...)
		switch n := args[1].(type) {
		case int64:
			args[1] = float64(n)
		case bool:
			args[1] = map[bool]float64{true: 1}[n]
		case ops.Unknown:
			args[1] = ops.Unknown{Op: n.Op, Kind: schema.Float}
		}
	case v < 8 && op == "aten::linspace", v < 9 && op == "aten::logspace":
		const steps = int64(100) // where none were given
		switch {
		case len(args) == 2 && kw["steps"] == nil:
			set("steps", steps)
		case len(args) > 2 && args[2] == nil:
			args = append([]any(nil), args...)
			args[2] = steps
		}
	}
	return args, kw
}

// isFloat says whether a tensor's elements, or a number, are real.
func isFloat(v any) bool {
	switch v := v.(type) {
	case *tensor.Tensor:
		return v.DType.Floating()
	case float64:
		return true
	case ops.Unknown:
		return v.Kind == schema.Float
	}
	return false
}
