package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// Results that serve rows of several families.

// One wraps a single Meta.
func One(m tensor.Meta) ([]tensor.Meta, error) { return []tensor.Meta{m}, nil }

// SelfMeta is the first argument's metadata: an in-place operator that changes none of it.
func SelfMeta(c *Call) ([]tensor.Meta, error) { return One(c.Args[0].(*tensor.Tensor).Meta) }

// FreshSelf is a fresh contiguous tensor like self.
func FreshSelf(c *Call) ([]tensor.Meta, error) { return One(FreshLike(c.Self(), c.Self().Sizes...)) }

// FreshLikeArg is a contiguous tensor in the sizes of an argument.
func FreshLikeArg(name string) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) { return One(FreshLike(c.T(name), c.T(name).Sizes...)) }
}

// InSizes is a contiguous tensor in the sizes an argument lists.
func InSizes(name string) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) { return One(FreshLike(c.Self(), c.Ints(name)...)) }
}

// NoneHost gives None.
func NoneHost(*Call) (any, error) { return nil, nil }

// UnbackedBool is a question about tensor data.
func UnbackedBool(c *Call) (any, error) { return NewUnbacked(c.Schema.Key(), schema.Bool), nil }

// plain is the call of the overload that gives new results: the one with the same arguments except
// those for results.
func (c *Call) plain() (*Call, error) {
	args := len(c.Args) - len(c.Schema.Returns)
	for _, key := range c.M.Table().Overloads(c.Schema.Name) {
		b, ok := c.M.Table().Lookup(key)
		if ok && slices.EqualFunc(b.Schema.Args, c.Schema.Args[:args], sameArg) {
			return &Call{Bound: b, Args: c.Args[:args:args], M: c.M}, nil
		}
	}
	return nil, &MissingError{Op: c.Schema.Name}
}

func sameArg(a, b schema.Arg) bool { return a.Name == b.Name && a.Type.String() == b.Type.String() }

// Into is the results of the overload without out, in the tensors given for them: one of other
// sizes is resized, and its storage grows where it must.
func Into(c *Call) ([]tensor.Meta, error) {
	plain, err := c.plain()
	if err != nil {
		return nil, err
	}
	metas, err := plain.Rule.Out(plain)
	if err != nil {
		return nil, err
	}
	metas = slices.Clone(metas)
	given := c.Args[len(c.Args)-len(metas):]
	for i, m := range metas {
		out, ok := given[i].(*tensor.Tensor)
		if !ok {
			return nil, c.Errorf("got %s, want a tensor for the result", TypeName(given[i]))
		}
		if !CanCast(m.DType, out.DType) {
			return nil, c.Errorf("got a result of %s and a tensor of %s for it", m.DType, out.DType)
		}
		if out.Device != m.Device {
			return nil, c.Errorf("got a result on %s and a tensor on %s for it", m.Device, out.Device)
		}
		if slices.Equal(out.Sizes, m.Sizes) {
			metas[i] = out.Meta
			continue
		}
		metas[i] = ViewOf(out, m.Sizes, m.Strides, out.StorageOffset)
	}
	return metas, nil
}

// IntoWorkspace is the workspace of the overload without out.
func IntoWorkspace(c *Call) []workspace.Request {
	plain, err := c.plain()
	if err != nil || plain.Rule.Workspace == nil {
		return nil
	}
	return plain.Rule.Workspace(plain)
}
