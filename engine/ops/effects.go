package ops

import (
	"github.com/memspec/memspec/engine/schema"
)

// Effects is what the schemas of a name's overloads say together, as a pass over a graph needs it
// that knows no types.
type Effects struct {
	Known   bool
	Views   uint32 // bit i: a result may alias argument i
	Writes  uint32 // bit i: argument i may be written
	Lists   bool   // every result of every overload is a list of tensors
	Tensors bool   // every result of every overload is a tensor
	// overloads whose first argument is a tensor give tensors, and there is one: aten::slice, not
	// aten::size
	Kept      bool
	Parts     bool // they give lists of tensors: aten::split, which cuts strings too
	NeverNil  bool // no result is optional
	Immutable bool // every result of every overload is a number, string, bool or None
}

// Effects joins the overloads of name that take n arguments, those with an out argument left out.
func (t *Table) Effects(name string, n int) Effects {
	first := t.first[name]
	e := Effects{Known: first != nil, Lists: true, Tensors: true, NeverNil: true, Immutable: true}
	var kept, split, other bool // what overloads give whose first argument is a tensor
	for r := first; r != nil; r = r.next {
		b, err := r.get()
		if err != nil || hasOut(b.Schema) || !takes(b.Schema, n) {
			continue
		}
		for i := range b.Schema.Args {
			if a := aliasOf(b.Schema.Args[i].Type); a != nil && a.Write {
				e.Writes |= 1 << min(i, 31)
			}
		}
		for _, res := range b.Results {
			if res.Mode != Fresh {
				e.Views |= 1 << min(res.Arg, 31)
			}
		}
		for i := range b.Schema.Returns {
			t := b.Schema.Returns[i].Type
			if first := b.Schema.Args; len(first) > 0 && first[0].Type.Kind == schema.Tensor {
				parts := t.Kind == schema.List && t.Elems[0].Kind == schema.Tensor
				kept, split = kept || t.Kind == schema.Tensor, split || parts
				other = other || t.Kind != schema.Tensor && !parts
			}
			e.Lists = e.Lists && t.Kind == schema.List && t.Elems[0].Kind == schema.Tensor
			switch t.Kind {
			case schema.Tensor:
				e.Immutable = false
			case schema.Int, schema.Float, schema.Bool, schema.Str, schema.Number, schema.Complex, schema.Device,
				schema.None, schema.ScalarType, schema.Layout:
				e.Tensors = false
			case schema.Optional, schema.Any, schema.Var:
				e.NeverNil, e.Tensors, e.Immutable = false, false, false
			default:
				e.Tensors, e.Immutable = false, false
			}
		}
	}
	e.Kept, e.Parts = kept && !split && !other, split && !kept && !other
	return e
}

// takes says whether n arguments can be passed.
func takes(s *schema.Schema, n int) bool {
	if s.VarArgs {
		return true
	}
	need := 0
	for i := range s.Args {
		if !s.Args[i].HasDefault {
			need++
		}
	}
	return n >= need && n <= len(s.Args)
}

func hasOut(s *schema.Schema) bool {
	for i := range s.Args {
		if a := s.Args[i].Type.Alias; s.Args[i].KwOnly && a != nil && a.Write {
			return true
		}
	}
	return false
}
