package ops

import (
	"fmt"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// Machine is what a rule may ask of the run it is part of; exec implements it.
type Machine interface {
	// Do runs one overload inside the current operator; args are complete and in the schema's order. The result is held by the
	// current operator until it returns, or until Free.
	Do(b *Bound, args []any) (any, error)
	// Free lets go of a result of Do before the operator returns.
	Free(v any)
	// Hold and Drop count the holders of a container's member.
	Hold(v any)
	Drop(v any)
	// Keep holds v until the current operator has returned (for a member taken out of its container).
	Keep(v any)
	// Note records an assumption, once at a place.
	Note(n note.Note)
	// Bound chooses the upper or the lower end of a data-dependent count, and notes note.ShapeBound.
	Bound(lower, upper int64) int64
	Platform() *platform.Platform
	// GradMode says whether gradients are recorded.
	GradMode() bool
	Table() *Table
}

// Call is one operator about to run: typed access to its arguments, and one voice for every error.
type Call struct {
	*Bound
	Args []any // one a schema argument, defaults filled in
	M    Machine

	err  error
	memo any            // what the rule's functions share of one call
	meta [1]tensor.Meta // room for a result, see Call.one
}

// one is a rule's only result, for rules that run most: it is good until the call ends.
func (c *Call) one(m tensor.Meta) ([]tensor.Meta, error) {
	c.meta[0] = m
	return c.meta[:], nil
}

// Errorf is an error of this operator: `aten::mm: got …, want …`.
func (c *Call) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %s", c.Schema.Name, fmt.Sprintf(format, args...))
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
	n, _ := asInt(c.Arg(name))
	return n
}

// Has says whether an optional argument was given.
func (c *Call) Has(name string) bool { return c.Arg(name) != nil }

// IntOr is Int, or other where the argument is None.
func (c *Call) IntOr(name string, other int64) int64 {
	if n, ok := asInt(c.Arg(name)); ok {
		return n
	}
	return other
}

func asInt(v any) (int64, bool) {
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

// Ints is an int[] argument; an absent optional one is nil, a single int a list of one (or of the schema's int[n]).
func (c *Call) Ints(name string) []int64 {
	i := c.Schema.ArgIndex(name)
	if i < 0 {
		return nil
	}
	switch l := c.Args[i].(type) {
	case *List:
		out := make([]int64, len(l.Items))
		for j, v := range l.Items {
			out[j], _ = asInt(v)
		}
		return out
	case *Tuple:
		out := make([]int64, len(l.Items))
		for j, v := range l.Items {
			out[j], _ = asInt(v)
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
func (c *Call) Float(name string) float64 { return toFloat(c.Arg(name)) }

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

// Do runs another operator as a part of this one: key with overload ("aten::add.Tensor"), arguments in the schema's order; arguments
// left out take their defaults; keyword arguments come last as one Kw. Its result lives until this operator returns: then what Do made
// and was not returned dies, the latest first, as C++ locals do. Errors stick: after one, Do gives an empty tensor and exec reports the
// first error when the Body returns.
func (c *Call) Do(key string, args ...any) *tensor.Tensor {
	v := c.DoAny(key, args...)
	if t, ok := v.(*tensor.Tensor); ok {
		return t
	}
	if u, unknown := v.(Unknown); unknown && c.err == nil {
		c.err = &MissingError{Op: u.Op, Told: true}
	}
	if v != nil && c.err == nil {
		if l, ok := v.(*Tuple); ok && len(l.Items) > 0 {
			if t, ok := l.Items[0].(*tensor.Tensor); ok {
				return t
			}
		}
	}
	return &tensor.Tensor{Storage: &tensor.Storage{ID: -1}}
}

// Kw names the keyword arguments of a Do.
type Kw map[string]any

// DoAny is Do for results that are no single tensor: a *Tuple of several, a *List.
func (c *Call) DoAny(key string, args ...any) any {
	if c.err != nil {
		return nil
	}
	b, ok := c.M.Table().Lookup(key)
	if !ok {
		c.err = &MissingError{Op: key}
		return nil
	}
	full, err := b.Fill(args)
	if err != nil {
		c.err = err
		return nil
	}
	v, err := c.M.Do(b, full)
	if err != nil {
		c.err = err
	}
	return v
}

// DoList is DoAny for an operator that returns a list of tensors or several tensors.
func (c *Call) DoList(key string, args ...any) []*tensor.Tensor {
	var items []any
	switch l := c.DoAny(key, args...).(type) {
	case *List:
		items = l.Items
	case *Tuple:
		items = l.Items
	case *tensor.Tensor:
		return []*tensor.Tensor{l}
	}
	ts := make([]*tensor.Tensor, len(items))
	for i, v := range items {
		ts[i], _ = v.(*tensor.Tensor)
	}
	return ts
}

// Free lets go of results of Do before this operator returns.
func (c *Call) Free(ts ...*tensor.Tensor) {
	for _, t := range ts {
		if t != nil && c.err == nil {
			c.M.Free(t)
		}
	}
}

// Err is the first error of a Do.
func (c *Call) Err() error { return c.err }

// List makes a list whose members are held by it.
func (c *Call) List(elem schema.Kind, items ...any) *List {
	for _, v := range items {
		c.M.Hold(v)
	}
	return &List{Items: items, Elem: elem}
}

// Tuple makes a tuple whose members are held by it.
func (c *Call) Tuple(items ...any) *Tuple {
	for _, v := range items {
		c.M.Hold(v)
	}
	return &Tuple{Items: items}
}

// Platform is what the run happens on.
func (c *Call) Platform() *platform.Platform { return c.M.Platform() }

// MissingError is an operator that has no rule, or whose result is not known for another reason, which the run was told.
type MissingError struct {
	Op   string
	Told bool
}

func (e *MissingError) Error() string { return "no rule for operator " + e.Op }
