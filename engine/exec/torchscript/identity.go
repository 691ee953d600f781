package torchscript

import (
	"fmt"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// onIdentity runs the few operators that look at values only the interpreter knows: tuples by
// index, identity. done is false for all others.
func (m *interp) onIdentity(n *program.Node, args []any) (v any, done bool, err error) {
	switch n.Op {
	case "aten::__getitem__", "prim::TupleIndex":
		if len(args) != 2 {
			return nil, false, nil
		}
		if _, unknown := args[0].(ops.Unbacked); unknown {
			return args[0], true, nil
		}
		t, ok := args[0].(*ops.Tuple)
		i, isInt := args[1].(int64)
		if !ok || !isInt {
			return nil, false, nil
		}
		if i < 0 {
			i += int64(len(t.Items))
		}
		if i < 0 || i >= int64(len(t.Items)) {
			return nil, true, fmt.Errorf("got index %d into a tuple of %d", args[1], len(t.Items))
		}
		m.Hold(t.Items[i])
		return t.Items[i], true, nil
	case "aten::__is__", "aten::__isnot__":
		if len(args) != 2 {
			return nil, false, nil
		}
		for _, a := range args {
			if _, unknown := a.(ops.Unbacked); unknown && args[0] != nil && args[1] != nil {
				return a, true, nil
			}
		}
		is := same(args[0], args[1])
		if is && !m.eager && (isEnumLit(&n.Args[0]) || isEnumLit(&n.Args[1])) {
			is = false
		}
		return is == (n.Op == "aten::__is__"), true, nil
	case "aten::neg":
		if m.eager && n.Flags&program.Builtin != 0 && len(args) == 1 {
			m.Hold(args[0])
			// `1 - x` is scripted as -x + 1; eager takes one operator, which allocates as the
			// addition does
			return args[0], true, nil
		}
	case "aten::wait":
		m.Hold(args[0])
		return args[0], true, nil
	case "aten::format", "prim::Print", "aten::warn", "prim::AddStatValue", "prim::TimePoint":
		if exec.AnyUnknown(args) {
			return "", true, nil
		}
	}
	return nil, false, nil
}

// same is Python's `is` on what TorchScript compares with it: None, and objects.
func same(a, b any) bool {
	if a == nil {
		return b == nil
	}
	switch x := a.(type) {
	case *tensor.Tensor, *Object, *ops.List, *ops.Dict, *ops.Tuple, bool:
		return x == b
	case Enum:
		y, ok := b.(Enum)
		return ok && x.Class == y.Class && x.Name == y.Name
	}
	return false
}

// isEnumLit says whether an argument is an enumeration's member written in the code: TorchScript
// makes a separate object for each, which is no other's.
func isEnumLit(a *program.Arg) bool {
	_, ok := a.Const.(program.EnumLit)
	return ok
}
