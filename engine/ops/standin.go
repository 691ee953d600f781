package ops

import (
	"math"
	"slices"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// Numbers that were read off tensors (Unknown of a known kind) decide nothing where an operator only computes with them: then another
// number of the same kind stands in, and the result keeps its place in the account. This file says where that is so.

// sizedByNumbers are the operators whose real numbers make a size.
var sizedByNumbers = []string{"aten::arange", "aten::range", "aten::linspace", "aten::logspace"}

// decisive are the names of real numbers that choose a way through an operator, and so what it allocates: a norm's order, the share that dropout
// drops, a scale of sizes.
var decisive = []string{"p", "ord", "norm_type", "scale_factor", "scale_factors"}

// places are integers that no size hangs on, positions mostly, by operator and argument, each with a value that is always valid.
var places = map[string]map[string]int64{
	"aten::select":         {"index": 0},
	"aten::select_copy":    {"index": 0},
	"aten::select_scatter": {"index": 0},
	"aten::roll":           {"shifts": 0},
	"aten::tril":           {"diagonal": 0},
	"aten::triu":           {"diagonal": 0},
	"aten::tril_":          {"diagonal": 0},
	"aten::triu_":          {"diagonal": 0},
	"aten::kthvalue":       {"k": 1},
	"aten::embedding":      {"padding_idx": -1},
	"aten::randint":        {"low": 0, "high": math.MaxInt32},
	"aten::randint_like":   {"low": 0, "high": math.MaxInt32},
	"aten::random_":        {"from": 0, "to": math.MaxInt32},
	"aten::manual_seed":    {"seed": 0},
	"aten::tensor":         {"t": 0, "data": 0},
}

// bounded are operators whose rule asks Machine.Bound itself for what it is not told.
var bounded = []string{"aten::slice", "aten::narrow"}

// StandIns are an operator's arguments with a number in place of each that is Unknown because it was read off a tensor and that decides neither
// a size nor a dtype; why is the note that says so, "" where nothing stands in. It is false where a number may decide.
func StandIns(b *Bound, args []any) (out []any, why note.ID, ok bool) {
	if slices.Contains(bounded, b.Schema.Name) {
		if !onlyUnknown(args, schema.Int) {
			return nil, "", false
		}
		return args, "", true
	}
	if slices.Contains(sizedByNumbers, b.Schema.Name) {
		return nil, "", false
	}
	out = slices.Clone(args)
	for i, v := range args {
		l, isList := v.(*List)
		if IsKnown(v) && !(isList && slices.ContainsFunc(l.Items, func(v any) bool { return !IsKnown(v) })) {
			continue
		}
		a := &b.Schema.Args[min(i, len(b.Schema.Args)-1)]
		at, isPlace := places[b.Schema.Name][a.Name]
		switch u, _ := v.(Unknown); {
		case isList && !isPlace:
			return nil, "", false
		case isList:
			items := slices.Clone(l.Items)
			for j, v := range items {
				if u, unknown := v.(Unknown); unknown {
					if u.Kind == schema.Any {
						return nil, "", false
					}
					items[j] = u.sample(at)
				}
			}
			out[i], why = &List{Items: items, Elem: l.Elem}, noteOf(a.Name)
		case isPlace && u.Kind != schema.Any:
			out[i], why = u.sample(at), noteOf(a.Name)
		case !computedWith(a) || u.Kind == schema.Any && !allFloating(args):
			return nil, "", false
		default:
			out[i] = u.sample(1)
			if why == "" {
				why = note.ValueAssumed
			}
		}
	}
	return out, why, true
}

// noteOf tells positions in a tensor from other numbers.
func noteOf(arg string) note.ID {
	if slices.Contains([]string{"index", "start", "shifts"}, arg) {
		return note.IndexAssumed
	}
	return note.ValueAssumed
}

// computedWith says whether an argument is a real number that an operator only computes with.
func computedWith(a *schema.Arg) bool {
	t := a.Type
	for t.Kind == schema.Optional {
		t = t.Elems[0]
	}
	return (t.Kind == schema.Number || t.Kind == schema.Float) && !slices.Contains(decisive, a.Name)
}

// sample is a number of the kind that u has: n, where it is an int.
func (u Unknown) sample(n int64) any {
	switch u.Kind {
	case schema.Int:
		return n
	case schema.Bool:
		return true
	}
	return 1.0
}

// onlyUnknown says that what is not known is of a kind.
func onlyUnknown(args []any, k schema.Kind) bool {
	return !slices.ContainsFunc(args, func(v any) bool { u, unknown := v.(Unknown); return unknown && u.Kind != k })
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
		needs = needs || i < len(b.Schema.Args) && b.Schema.Args[i].Type.Kind == schema.Tensor
	}
	return !needs
}

// KindOf is the kind of number that a value of the type is, schema.Any where it is none or could be several.
func KindOf(t *schema.Type) schema.Kind {
	switch t.Kind {
	case schema.Int, schema.Float, schema.Bool:
		return t.Kind
	}
	return schema.Any
}

// kindOfDType is the kind of a number that is read off a tensor.
func kindOfDType(d tensor.DType) schema.Kind {
	switch {
	case d == tensor.Bool:
		return schema.Bool
	case d.Integral(false):
		return schema.Int
	case d.Floating():
		return schema.Float
	}
	return schema.Any
}

// NumberKind is the kind of a known number, schema.Any of anything else.
func NumberKind(v any) schema.Kind {
	switch v.(type) {
	case bool:
		return schema.Bool
	case int64:
		return schema.Int
	case float64:
		return schema.Float
	}
	return schema.Any
}

// fitUnknown says whether a number that is not known may be passed as t: as any number of its kind may.
func fitUnknown(u Unknown, t *schema.Type, convert bool) (any, bool) {
	for t.Kind == schema.Optional {
		t = t.Elems[0]
	}
	switch {
	case u.Kind == schema.Any:
		return u, true
	case t.Kind == schema.List:
		return fitList(u, t, convert)
	}
	v, ok := fit(u.sample(1), t, convert)
	return Unknown{Op: u.Op, Kind: NumberKind(v)}, ok
}

// ReadsTensor says whether a call on the host reads a number off a tensor.
func ReadsTensor(c *Call) bool {
	for _, v := range c.Args {
		if _, ok := v.(*tensor.Tensor); ok {
			return true
		}
	}
	return false
}
