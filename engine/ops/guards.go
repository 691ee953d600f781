package ops

import (
	"math"
	"slices"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// Where a number that is not known decides something, a run cannot go on without a value: PyTorch
// calls that a guard. Where an operator only computes with it, or it says where and not how much,
// any number of its kind may stand for it: a hint. A size with a range is taken at an end of it.
// This file says which is which.

// sizing are the operators whose real numbers make a size.
var sizing = []string{"aten::arange", "aten::range", "aten::linspace", "aten::logspace"}

// guarding are the names of real numbers that choose a way through an operator, and so what it
// allocates: a norm's order, the share that dropout drops, a scale of sizes.
var guarding = []string{"p", "ord", "norm_type", "scale_factor", "scale_factors"}

// valid is a number that each hint takes where no other is given: a position in every tensor, or a
// number on which no size depends.
const valid = 0

// hints are integers on which no size depends, positions mostly, by operator and argument, each
// with a value that is always valid.
var hints = map[string]map[string]int64{
	"aten::select":         {"index": valid},
	"aten::select_copy":    {"index": valid},
	"aten::select_scatter": {"index": valid},
	"aten::roll":           {"shifts": valid},
	"aten::tril":           {"diagonal": valid},
	"aten::triu":           {"diagonal": valid},
	"aten::tril_":          {"diagonal": valid},
	"aten::triu_":          {"diagonal": valid},
	"aten::kthvalue":       {"k": 1},
	"aten::embedding":      {"padding_idx": -1},
	"aten::randint":        {"low": valid, "high": math.MaxInt32},
	"aten::randint_like":   {"low": valid, "high": math.MaxInt32},
	"aten::random_":        {"from": valid, "to": math.MaxInt32},
	"aten::manual_seed":    {"seed": valid},
	"aten::tensor":         {"t": valid, "data": valid},
}

// bounding are operators whose rule asks Machine.Bound itself for what it is not known.
var bounding = []string{"aten::slice", "aten::narrow"}

// Hints puts numbers in the place of Unbacked ones among an operator's arguments.
type Hints struct {
	Bound func(Unbacked) int64 // chooses a size in its range
	Why   note.ID              // of the note that the numbers deserve; "" where none was put in, or Bound wrote its own
}

// Fill is the arguments with a number in place of each that is not known and that decides neither a
// size without a range nor a dtype. It is false where a number is guarded.
func (h *Hints) Fill(b *Bound, args []any) (filled []any, ok bool) {
	if slices.Contains(bounding, b.Schema.Name) {
		if !onlyUnbacked(args, schema.Int) {
			return nil, false
		}
		return args, true
	}
	if slices.Contains(sizing, b.Schema.Name) {
		return nil, false
	}
	filled = slices.Clone(args)
	for i, v := range args {
		a := &b.Schema.Args[min(i, len(b.Schema.Args)-1)]
		if l, isList := v.(*List); isList {
			if filled[i], ok = h.fillList(b, a, l); !ok {
				return nil, false
			}
			continue
		}
		u, unbacked := v.(Unbacked)
		if !unbacked {
			continue
		}
		at, isHint := hints[b.Schema.Name][a.Name]
		switch {
		case isHint && u.Kind != schema.Any:
			filled[i] = u.hint(at)
			h.Why = whyOf(a.Name)
		case !computedWith(a) || u.Kind == schema.Any && !allFloating(args):
			return nil, false
		default:
			filled[i] = u.hint(1)
			if h.Why == "" {
				h.Why = note.ValueAssumed
			}
		}
	}
	return filled, true
}

// fillList is Fill for the members of a list: positions get hints, sizes an end of their range.
func (h *Hints) fillList(b *Bound, a *schema.Arg, l *List) (*List, bool) {
	if !slices.ContainsFunc(l.Items, func(v any) bool { return !IsKnown(v) }) {
		return l, true
	}
	at, isHint := hints[b.Schema.Name][a.Name]
	items := slices.Clone(l.Items)
	for i, v := range items {
		u, unbacked := v.(Unbacked)
		switch {
		case !unbacked:
		case isHint && u.Kind != schema.Any:
			items[i] = u.hint(at)
			h.Why = whyOf(a.Name)
		case !isHint && u.IsSize() && h.Bound != nil:
			items[i] = h.Bound(u)
		default:
			return nil, false
		}
	}
	return &List{Items: items, Elem: l.Elem}, true
}

// whyOf distinguishes positions in a tensor from other numbers.
func whyOf(arg string) note.ID {
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
	return (t.Kind == schema.Number || t.Kind == schema.Float) && !slices.Contains(guarding, a.Name)
}

// onlyUnbacked says that what is not known is of a kind.
func onlyUnbacked(args []any, k schema.Kind) bool {
	return !slices.ContainsFunc(args, func(v any) bool { u, unbacked := v.(Unbacked); return unbacked && u.Kind != k })
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

// MakesTensor says whether an operator on these arguments, some Unbacked, gives tensors: it has
// one, or it needs none. Else it is arithmetic on numbers that were read off tensors.
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

// moving are the operators on containers that only move members about: a member that is not known
// stays so. Where it goes must be known.
var moving = []string{"aten::append", "aten::extend", "aten::add_", "aten::add", "aten::len", "aten::list",
	"aten::dict", "aten::copy", "aten::clear", "aten::reverse",
	"aten::insert", "aten::__getitem__", "aten::_set_item", "aten::pop", "aten::popitem", "aten::keys", "aten::values",
	"aten::items", "aten::slice", "aten::select",
	"aten::get", "aten::setdefault", "aten::update", "aten::Delete", "aten::mul", "aten::mul_"}

// positions are the arguments of those that say where, or how often.
var positions = []string{"idx", "index", "key", "start", "end", "step", "n"}

// Guard says whether what an operator on the host gives depends on a number that is not known; then
// result stands for it. Where such an operator changes a container, or takes a tensor out of one,
// the account ends: lost.
func Guard(c *Call) (result Unbacked, lost, guarded bool) {
	looks := !slices.Contains(moving, c.Schema.Name)
	whole := looks || c.byKey() // it matters whether some member is not known
	inside, found := false, false
	for i, v := range c.Args {
		switch v := v.(type) {
		case Unbacked:
			found = found || !c.onContainer() || looks || i < len(c.Schema.Args) &&
				slices.Contains(positions, c.Schema.Args[i].Name)
		case *List:
			inside = inside || whole && slices.ContainsFunc(v.Items, func(v any) bool { return !IsKnown(v) })
		case *Dict:
			inside = inside || whole && slices.ContainsFunc(v.Keys, func(v any) bool { return !IsKnown(v) })
		}
	}
	if !found && !inside {
		return Unbacked{}, false, false
	}
	kind := schema.Any
	if len(c.Schema.Returns) == 1 {
		kind = KindOf(c.Schema.Returns[0].Type)
	}
	result = NewUnbacked(c.Schema.Key(), kind)
	if !c.onContainer() {
		if kind == schema.Int {
			result.Min, result.Max = rangeOf(c.Schema.Name, c.Args)
		}
		return result, false, true
	}
	if len(c.Schema.Returns) == 1 && c.Schema.Returns[0].Type.Kind == schema.Var {
		result.Kind = c.membersKind()
	}
	a := c.Schema.Args[0].Type.Alias
	writes := a != nil && a.Write
	return result, writes || result.Kind == schema.Any, true
}

// onContainer says whether a call's first argument is a container.
func (c *Call) onContainer() bool {
	if len(c.Args) == 0 {
		return false
	}
	switch c.Args[0].(type) {
	case *List, *Dict, *Tuple:
		return true
	}
	return false
}

// byKey says whether a call finds a member of a dict.
func (c *Call) byKey() bool {
	if len(c.Args) == 0 { // aten::dict() makes an empty one
		return false
	}
	_, isDict := c.Args[0].(*Dict)
	return isDict && c.Schema.ArgIndex("key") >= 0
}

// membersKind is the kind of number that all members of the first argument are, schema.Any where
// they are none.
func (c *Call) membersKind() schema.Kind {
	l, ok := c.Args[0].(*List)
	if !ok || len(l.Items) == 0 {
		return schema.Any
	}
	kind := NumberKind(l.Items[0])
	for _, v := range l.Items[1:] {
		if NumberKind(v) != kind {
			return schema.Any
		}
	}
	return kind
}
