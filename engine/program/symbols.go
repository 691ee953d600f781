package program

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/internal/expr"
	"github.com/memspec/memspec/engine/tensor"
)

// Symbol is a size that a program leaves open, with the range that it was made for: torch.export's
// symbolic ints.
type Symbol struct {
	Name     string
	Min, Max int64 // both included
	Unbacked bool  // read off tensor data: no input states it
	Example  int64 // what it was when the program was made; 0 where that is not known
}

// Size is a whole number over the program's symbols.
type Size = expr.Expr

// TensorMeta is a tensor as the artifact recorded it, its sizes over the program's symbols.
type TensorMeta struct {
	DType   tensor.DType
	Sizes   []Size
	Strides []Size // one a size
	Offset  Size
	Device  string
}

// Bind gives the sizes their values.
func (t *TensorMeta) Bind(symbols map[string]int64) (tensor.Meta, error) {
	m := tensor.Meta{DType: t.DType, Device: t.Device, Sizes: make([]int64, len(t.Sizes)),
		Strides: make([]int64, len(t.Strides))}
	var err error
	for i := range t.Sizes {
		if m.Sizes[i], err = t.Sizes[i].Eval(symbols); err != nil {
			return m, fmt.Errorf("size %d: %w", i, err)
		}
	}
	for i := range t.Strides {
		if m.Strides[i], err = t.Strides[i].Eval(symbols); err != nil {
			return m, fmt.Errorf("stride %d: %w", i, err)
		}
	}
	if m.StorageOffset, err = t.Offset.Eval(symbols); err != nil {
		return m, fmt.Errorf("offset: %w", err)
	}
	return m, m.Check()
}

// BindSymbols finds the symbols' values from the sizes of the tensors that the entry's parameters
// are given, by parameter, an int being one size, nil for anything else. The error names every
// contradiction: a size that is another than recorded, one outside its range, a symbol that no
// parameter reports. Unbacked symbols are not among the values.
func (p *Program) BindSymbols(given [][]int64) (map[string]int64, error) {
	b := binder{values: map[string]int64{}, from: map[string]string{}}
	for i := range p.Entry.Params {
		if q := &p.Entry.Params[i]; i < len(given) && given[i] != nil {
			b.param(q, given[i])
		}
	}
	for again := true; again; { // a size of several symbols gives one when the others are known
		again = false
		for k := 0; k < len(b.open); k++ {
			if b.settle(&b.open[k]) {
				b.open = slices.Delete(b.open, k, k+1)
				again = true
				k--
			}
		}
	}
	for _, s := range p.Symbols {
		v, known := b.values[s.Name]
		switch {
		case s.Unbacked:
		case !known:
			b.errorf("got no input that gives the size %s, want %s", s.Name, s.span())
		case v < s.Min || v > s.Max:
			b.errorf("%s: got %d, want %s: the range of %s that the program was exported for", b.from[s.Name], v,
				s.span(), s.Name)
		}
	}
	return b.values, errors.Join(b.errs...)
}

// span is "2 to 64", "at least 2".
func (s *Symbol) span() string {
	if s.Max == math.MaxInt64 {
		return fmt.Sprintf("at least %d", s.Min)
	}
	return fmt.Sprintf("%d to %d", s.Min, s.Max)
}

// openSize is a size that is given and whose symbols are not all known.
type openSize struct {
	where string
	size  Size
	given int64
}

type binder struct {
	values map[string]int64
	from   map[string]string // where a symbol was reported
	open   []openSize
	errs   []error
}

// maxErrors is how many errors are listed: a file may name millions of symbols.
const maxErrors = 20

func (b *binder) errorf(format string, args ...any) {
	if len(b.errs) == maxErrors {
		return
	}
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

func (b *binder) param(p *Param, given []int64) {
	if p.Size != nil && len(given) == 1 {
		o := openSize{"input " + p.Name, *p.Size, given[0]}
		if !b.settle(&o) {
			b.open = append(b.open, o)
		}
		return
	}
	if p.Meta == nil {
		return
	}
	if len(given) != len(p.Meta.Sizes) {
		b.errorf("input %s: got %d dimensions, want %d", p.Name, len(given), len(p.Meta.Sizes))
		return
	}
	for i, n := range given {
		o := openSize{fmt.Sprintf("input %s, dimension %d", p.Name, i), p.Meta.Sizes[i], n}
		if !b.settle(&o) {
			b.open = append(b.open, o)
		}
	}
}

// settle compares a size with what is known; one unknown symbol that it grows evenly with is solved
// for. It is false where more is unknown.
func (b *binder) settle(o *openSize) bool {
	var unknown []string
	for _, name := range o.size.Names() {
		if _, known := b.values[name]; !known {
			unknown = append(unknown, name)
		}
	}
	switch len(unknown) {
	case 0:
		got, err := o.size.Eval(b.values)
		switch {
		case err != nil:
			b.errorf("%s: %w", o.where, err)
		case got != o.given:
			b.errorf("%s: got %d, want %s", o.where, o.given, b.text(o.size, got))
		}
		return true
	case 1:
		b.solve(o, unknown[0])
		return true
	}
	return false
}

func (b *binder) text(s Size, value int64) string {
	if _, plain := s.Constant(); plain {
		return fmt.Sprint(value)
	}
	return fmt.Sprintf("%d, which is %s", value, s)
}

// solve finds the value of a symbol by which a size is what was given: exported sizes are of the
// form a*s + b.
func (b *binder) solve(o *openSize, name string) {
	at := func(v int64) (int64, bool) {
		b.values[name] = v
		n, err := o.size.Eval(b.values)
		delete(b.values, name)
		return n, err == nil
	}
	zero, ok0 := at(0)
	one, ok1 := at(1)
	step := one - zero
	if !ok0 || !ok1 || step == 0 || (o.given-zero)%step != 0 {
		b.errorf("%s: got %d, want a size that is %s", o.where, o.given, o.size)
		return
	}
	v := (o.given - zero) / step
	if n, ok := at(v); !ok || n != o.given {
		b.errorf("%s: got %d, want a size that is %s", o.where, o.given, o.size)
		return
	}
	b.values[name], b.from[name] = v, o.where
}

// String is "float16[B, 2*T] strides [2*T, 1] offset 4 cuda".
func (t *TensorMeta) String() string {
	s := ""
	if t.DType != tensor.Undefined { // a view keeps its own
		s = t.DType.String()
	}
	s += sizesText(t.Sizes) + " strides " + sizesText(t.Strides)
	if n, plain := t.Offset.Constant(); !plain || n != 0 {
		s += " offset " + t.Offset.String()
	}
	return s + " " + t.Device
}

func sizesText(sizes []Size) string {
	parts := make([]string, len(sizes))
	for i, s := range sizes {
		parts[i] = s.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
