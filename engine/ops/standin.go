package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// sizedByNumbers are the operators whose real numbers make a size.
var sizedByNumbers = []string{"aten::arange", "aten::range", "aten::linspace", "aten::logspace"}

// StandIns are an operator's arguments with a number in place of each that is Unknown because it was read off a tensor and that is only
// computed with, so that the result keeps its place in the account. It is false where an argument may decide a size or a dtype.
func StandIns(b *Bound, args []any) ([]any, bool) {
	if slices.Contains(sizedByNumbers, b.Schema.Name) {
		return nil, false
	}
	out := slices.Clone(args)
	for i, v := range args {
		if l, ok := v.(*List); ok && slices.ContainsFunc(l.Items, func(v any) bool { return !IsKnown(v) }) {
			return nil, false
		}
		if IsKnown(v) {
			continue
		}
		t := b.Schema.Args[i].Type
		for t.Kind == schema.Optional {
			t = t.Elems[0]
		}
		if t.Kind != schema.Number && t.Kind != schema.Float || !allFloating(args) {
			return nil, false
		}
		out[i] = 1.0
	}
	return out, true
}

// allFloating says that a real number changes no dtype.
func allFloating(args []any) bool {
	some := false
	for _, v := range args {
		if t, ok := v.(*tensor.Tensor); ok {
			if some = true; !t.DType.Floating() {
				return false
			}
		}
	}
	return some
}

// MakesTensor says whether an operator on these arguments, some Unknown, gives tensors: it has one, or it needs none. Else it is
// arithmetic on numbers that were read off tensors.
func MakesTensor(b *Bound, args []any) bool {
	needs := false
	for i, v := range args {
		if _, ok := v.(*tensor.Tensor); ok {
			return true
		}
		needs = needs || b.Schema.Args[i].Type.Kind == schema.Tensor
	}
	return !needs
}
