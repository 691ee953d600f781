package ops

import (
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// Machine is what a rule may ask of the run it is part of; exec implements it.
type Machine interface {
	// Do runs one overload inside the current operator; args are complete and in the schema's
	// order. The result is held by the current operator until it returns, or until Free.
	Do(b *Bound, args []any) (any, error)
	// Free releases a result of Do before the operator returns.
	Free(v any)
	// Hold and Drop count the holders of a container's member.
	Hold(v any)
	Drop(v any)
	// Keep holds v until the current operator has returned (for a member taken out of its container).
	Keep(v any)
	// Note records an assumption, once at a place.
	Note(n note.Note)
	// Bound chooses a number in the range of a size that depends on tensor data: what assume:
	// states, else an end of the range; then it notes note.ShapeBound.
	Bound(u Unbacked) int64
	Platform() *platform.Platform
	Table() *Table
}

// Call is one operator about to run: typed access to its arguments, and one voice for every error.
type Call struct {
	*Bound
	Args []any // one a schema argument, defaults filled in
	M    Machine

	Memo any // what the functions of a rule share of one call

	err  error
	meta [1]tensor.Meta // room for a result, see Call.One
}

// One is a rule's only result, for rules that run most: it is good until the call ends.
func (c *Call) One(m tensor.Meta) ([]tensor.Meta, error) {
	c.meta[0] = m
	return c.meta[:], nil
}

// Errorf is an error of this operator: `aten::mm: got …, want …`.
func (c *Call) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", c.Schema.Name, fmt.Errorf(format, args...))
}

// Arg is the argument of that name, nil where the schema has none.
func (c *Call) Arg(name string) any {
	if i := c.Schema.ArgIndex(name); i >= 0 && i < len(c.Args) {
		return c.Args[i]
	}
	return nil
}

// T is a tensor argument; an absent optional one is nil.
func (c *Call) T(name string) *tensor.Tensor {
	t, _ := c.Arg(name).(*tensor.Tensor)
	return t
}

// Self is the first tensor argument.
func (c *Call) Self() *tensor.Tensor {
	t, _ := c.Args[0].(*tensor.Tensor)
	return t
}

// Tensors is a list-of-tensors argument; members that are None are nil.
func (c *Call) Tensors(name string) []*tensor.Tensor {
	var items []any
	switch l := c.Arg(name).(type) {
	case *List:
		items = l.Items
	case *Tuple:
		items = l.Items
	}
	ts := make([]*tensor.Tensor, len(items))
	for i, v := range items {
		ts[i], _ = v.(*tensor.Tensor)
	}
	return ts
}

// Int is an int argument; bools count as ints, an absent optional one is 0 (see Has).
func (c *Call) Int(name string) int64 {
	n, _ := AsInt(c.Arg(name))
	return n
}

// Has says whether an optional argument was given.
func (c *Call) Has(name string) bool { return c.Arg(name) != nil }

// IntOr is Int, or other where the argument is None.
func (c *Call) IntOr(name string, other int64) int64 {
	if n, ok := AsInt(c.Arg(name)); ok {
		return n
	}
	return other
}

func AsInt(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case bool:
		if n {
			return 1, true
		}
		return 0, true
	case float64:
		return int64(n), true
	}
	return 0, false
}

// Ints is an int[] argument; an absent optional one is nil, a single int a list of one (or of the
// schema's int[n]).
func (c *Call) Ints(name string) []int64 {
	i := c.Schema.ArgIndex(name)
	if i < 0 {
		return nil
	}
	switch l := c.Args[i].(type) {
	case *List:
		out := make([]int64, len(l.Items))
		for j, v := range l.Items {
			out[j], _ = AsInt(v)
		}
		return out
	case *Tuple:
		out := make([]int64, len(l.Items))
		for j, v := range l.Items {
			out[j], _ = AsInt(v)
		}
		return out
	case int64:
		n := 1
		if t := c.Schema.Args[i].Type; t.Kind == schema.List && t.Size > 0 {
			n = t.Size
		} else if t.Kind == schema.Optional && t.Elems[0].Size > 0 {
			n = t.Elems[0].Size
		}
		out := make([]int64, n)
		for j := range out {
			out[j] = l
		}
		return out
	}
	return nil
}

// Float is a float or Scalar argument as a float.
func (c *Call) Float(name string) float64 { return AsFloat(c.Arg(name)) }

// Bool is a bool argument, false where absent.
func (c *Call) Bool(name string) bool {
	switch b := c.Arg(name).(type) {
	case bool:
		return b
	case int64:
		return b != 0
	}
	return false
}

// Str is a string argument, "" where absent.
func (c *Call) Str(name string) string {
	s, _ := c.Arg(name).(string)
	return s
}

// DTypeOr is a ScalarType argument, or other where absent.
func (c *Call) DTypeOr(name string, other tensor.DType) tensor.DType {
	if n, ok := c.Arg(name).(int64); ok {
		return tensor.DType(n)
	}
	return other
}

// DeviceOr is a Device argument's kind ("cuda", "cpu"), or other where absent.
func (c *Call) DeviceOr(name, other string) string {
	if d, ok := c.Arg(name).(Device); ok {
		return d.Kind()
	}
	if s, ok := c.Arg(name).(string); ok {
		return Device(s).Kind()
	}
	return other
}

// Kind is a device less its index.
func (d Device) Kind() string {
	for i := range len(d) {
		if d[i] == ':' {
			return string(d[:i])
		}
	}
	return string(d)
}

// Platform is what the run happens on.
func (c *Call) Platform() *platform.Platform { return c.M.Platform() }

// SizeBetween is a size of a result that depends on tensor data: one from lower to upper.
func (c *Call) SizeBetween(lower, upper int64) int64 {
	return c.M.Bound(Between(c.Schema.Key(), lower, upper))
}

// OnFakeTensors says that operators go as PyTorch dispatches them on fake tensors: where it asks
// isTensorSubclassLike, the answer is yes.
func (c *Call) OnFakeTensors() bool { return c.Platform().IsNone() }

// The same as the functions of those names, with the operator's name before an error.

// WrapDim wraps one dimension.
func (c *Call) WrapDim(d int64, n int) (int, error) {
	at, err := WrapDim(d, n)
	return at, c.wrap(err)
}

// Broadcast is the common shape of several.
func (c *Call) Broadcast(shapes ...[]int64) ([]int64, error) {
	shape, err := Broadcast(shapes...)
	return shape, c.wrap(err)
}

// InferShape fills the one -1 of a view's shape.
func (c *Call) InferShape(shape []int64, numel int64) ([]int64, error) {
	full, err := InferShape(shape, numel)
	return full, c.wrap(err)
}

func (c *Call) wrap(err error) error {
	if err == nil {
		return nil
	}
	return c.Errorf("%w", err)
}

// WrapDims wraps several dimensions.
func (c *Call) WrapDims(given []int64, n int) ([]int, error) {
	out := make([]int, len(given))
	for i, d := range given {
		w, err := c.WrapDim(d, n)
		if err != nil {
			return nil, err
		}
		out[i] = w
	}
	return out, nil
}

// Dims wraps an int[] argument of dimensions; none given means all of them, sorted.
func (c *Call) Dims(name string, n int) ([]int, error) {
	given := c.Ints(name)
	if len(given) == 0 {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	out := make([]int, len(given))
	for i, d := range given {
		w, err := c.WrapDim(d, n)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out[:i], w) {
			return nil, c.Errorf("got dim %d twice, want each once", d)
		}
		out[i] = w
	}
	return out, nil
}

// MissingError is an operator that has no rule, or whose result is not known for another reason,
// which the run was reported.
type MissingError struct {
	Op       string
	Reported bool
}

func (e *MissingError) Error() string { return "no rule for operator " + e.Op }

// OnCUDA says whether a tensor is there and on the accelerator.
func OnCUDA(t *tensor.Tensor) bool { return t != nil && workspace.OnDevice(&t.Meta) }
