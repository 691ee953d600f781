package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// How a rule's Body runs other operators.

// Do runs another operator as a part of this one: key with overload ("aten::add.Tensor"), arguments
// in the schema's order; arguments left out take their defaults; keyword arguments come last as one
// Kw. Its result lives until this operator returns: then what Do made and was not returned dies,
// the latest first, as C++ locals do. Errors stick: after one, Do gives an empty tensor and exec
// reports the first error when the Body returns.
func (c *Call) Do(key string, args ...any) *tensor.Tensor {
	v := c.DoAny(key, args...)
	if t, ok := v.(*tensor.Tensor); ok {
		return t
	}
	if u, unbacked := v.(Unbacked); unbacked && c.err == nil {
		c.err = &MissingError{Op: u.Origin, Reported: true}
	}
	if v != nil && c.err == nil {
		if l, ok := v.(*Tuple); ok && len(l.Items) > 0 {
			if t, ok := l.Items[0].(*tensor.Tensor); ok {
				return t
			}
		}
	}
	return NoResult()
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
	v := c.DoAny(key, args...)
	if t, ok := v.(*tensor.Tensor); ok {
		return []*tensor.Tensor{t}
	}
	items := c.members(v)
	ts := make([]*tensor.Tensor, len(items))
	for i, v := range items {
		if ts[i], _ = v.(*tensor.Tensor); c.err != nil {
			ts[i] = NoResult()
		}
	}
	return ts
}

// members are the results of an operator that gives several. One that is not known, because a rule
// is missing beneath it, is an error.
func (c *Call) members(v any) (items []any) {
	switch l := v.(type) {
	case *List:
		items = l.Items
	case *Tuple:
		items = l.Items
	case Unbacked:
		items = []any{l}
	}
	for _, item := range items {
		if u, unbacked := item.(Unbacked); unbacked && c.err == nil {
			c.err = &MissingError{Op: u.Origin, Reported: true}
		}
	}
	return items
}

// Free releases results of Do before this operator returns.
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

// DoParts is Do for an operator that returns several tensors. Each result is held by itself: the
// latest dies first unless freed before.
func (c *Call) DoParts(key string, args ...any) []*tensor.Tensor {
	v := c.DoAny(key, args...)
	items := c.members(v)
	ts := make([]*tensor.Tensor, max(len(items), 4)) // after an error a body may still take its parts
	for i, item := range items {
		if t, ok := item.(*tensor.Tensor); ok {
			ts[i] = t
			c.M.Keep(t)
		}
	}
	if items != nil {
		c.M.Free(v)
	}
	return ts[:max(len(items), 4)]
}

// DoGet is std::get<i> of an operator's results: the others die at once, the first one first, as a
// C++ tuple releases.
func (c *Call) DoGet(i int, key string, args ...any) *tensor.Tensor {
	ts := c.DoParts(key, args...)
	for j, t := range ts {
		if j != i {
			c.Free(t)
		}
	}
	if ts[i] == nil {
		return NoResult()
	}
	return ts[i]
}

// DoWrite runs an operator that writes one of its arguments: nothing new is held.
func (c *Call) DoWrite(key string, args ...any) { c.Free(c.Do(key, args...)) }

// Empty is a tensor of like's device.
func (c *Call) Empty(like *tensor.Tensor, d tensor.DType, sizes ...int64) *tensor.Tensor {
	return c.Do("aten::empty.memory_format", IntList(sizes...), Kw{"dtype": int64(d), "device": Device(like.Device)})
}

// NoResult is what Do gives after an error: a tensor without sizes.
func NoResult() *tensor.Tensor { return &tensor.Tensor{Storage: &tensor.Storage{ID: -1}} }

// Fail keeps the first error, as Do does.
func (c *Call) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// OK says that no Do has failed: only then may a body look at the sizes of what Do gave.
func (c *Call) OK() bool { return c.err == nil }

// Arguments for Do.

// OrNone is an optional tensor as an argument of Do: a nil *Tensor must not become a non-nil any.
func OrNone(t *tensor.Tensor) any {
	if t == nil {
		return nil
	}
	return t
}

// IntList is an int[] for Do.
func IntList(ns ...int64) *List {
	items := make([]any, len(ns))
	for i, n := range ns {
		items[i] = n
	}
	return NewList(schema.Int, items...)
}

// DimList is an int[] of places for Do.
func DimList(ds []int) *List {
	items := make([]any, len(ds))
	for i, d := range ds {
		items[i] = int64(d)
	}
	return NewList(schema.Int, items...)
}

// TensorList is a Tensor[] for Do.
func TensorList(ts ...*tensor.Tensor) *List {
	items := make([]any, len(ts))
	for i, t := range ts {
		items[i] = t
	}
	return NewList(schema.Tensor, items...)
}

// Bodies that serve rows of several families.

// Delegate is a Body that is another operator with the same arguments and more of them.
func Delegate(key string, more ...any) func(*Call) (any, error) {
	return func(c *Call) (any, error) {
		return c.DoAny(key, slices.Concat(c.Args, more)...), nil
	}
}

// FirstOf is a body that keeps only the first result of another operator with the same arguments.
func FirstOf(key string) func(*Call) (any, error) {
	return func(c *Call) (any, error) { return c.DoGet(0, key, c.Args...), nil }
}

// Itself is a Body that returns its first argument.
func Itself(c *Call) (any, error) { return c.Args[0], nil }
