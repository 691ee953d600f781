package torchscript

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// upgrade gives an operator of an old archive the arguments that say today what it said then.
func upgrade(means program.Upgrade, args []any, kw ops.Kw) ([]any, ops.Kw) {
	set := func(name string, v any) {
		if kw == nil {
			kw = ops.Kw{}
		}
		kw[name] = v
	}
	switch means {
	case program.Div0To3:
		if len(args) != 2 || kw["rounding_mode"] != nil {
			break
		}
		if _, isTensor := args[0].(*tensor.Tensor); isTensor && !isFloat(args[0]) && !isFloat(args[1]) {
			set("rounding_mode", "trunc")
		}
	case program.Full0To4:
		if len(args) < 2 || kw["out"] != nil || kw["dtype"] != nil || len(args) > 2 && args[2] != nil {
			break
		}
		args = append([]any(nil), args...)
		switch n := args[1].(type) {
		case int64:
			args[1] = float64(n)
		case bool:
			args[1] = map[bool]float64{true: 1}[n]
		case ops.Unbacked:
			args[1] = ops.NewUnbacked(n.Origin, schema.Float)
		}
	case program.Linspace0To7, program.Logspace0To8:
		const steps = int64(100)
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
	case ops.Unbacked:
		return v.Kind == schema.Float
	}
	return false
}
