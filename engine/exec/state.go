package exec

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// State describes everything that decides what a run does from here on, except where in the program
// it is: values, which of them are the same, who holds them, and what lives beside them. Two equal
// descriptions at one place go on alike.
type State struct {
	heap *Heap
	out  []byte
	seen map[any]int // what can be shared, by number in the order it is met

	anyPosition bool // views that differ only in their position are the same
}

// describe writes the state of the run; carried goes first.
func (m *Machine) describe(carried []any, anyPosition bool) []byte {
	s := &State{heap: m.Heap, seen: map[any]int{}, anyPosition: anyPosition}
	s.Values(carried)
	m.driver.Describe(s)
	s.Values(m.temps)
	live, bytes := 0, int64(0)
	for _, st := range m.live {
		if st != nil {
			live++
			bytes += int64(st.NBytes)
		}
	}
	s.ints(int64(live), bytes, int64(len(m.once)), int64(len(m.casts.order)))
	return s.out
}

func (s *State) ints(ns ...int64) {
	for _, n := range ns {
		s.out = binary.AppendVarint(s.out, n)
	}
}

// Text writes a string.
func (s *State) Text(t string) {
	s.ints(int64(len(t)))
	s.out = append(s.out, t...)
}

// First writes which of the things of one kind p is, and says whether it is met for the first time:
// then what it holds is still to be written.
func (s *State) First(kind byte, p any) bool {
	n, ok := s.seen[p]
	if !ok {
		n = len(s.seen)
		s.seen[p] = n
	}
	s.out = append(s.out, kind)
	s.ints(int64(n))
	return !ok
}

// Slot writes a place that may be empty.
func (s *State) Slot(filled bool, v any) {
	if !filled {
		s.out = append(s.out, '-')
		return
	}
	s.Value(v)
}

// Values writes a list of values.
func (s *State) Values(vs []any) {
	s.ints(int64(len(vs)))
	for _, v := range vs {
		s.Value(v)
	}
}

// Value writes one value.
func (s *State) Value(v any) {
	switch v := v.(type) {
	case nil:
		s.out = append(s.out, 'n')
	case int64:
		s.out = append(s.out, 'i')
		s.ints(v)
	case float64:
		s.out = append(s.out, 'f')
		s.ints(int64(math.Float64bits(v)))
	case string:
		s.out = append(s.out, 's')
		s.Text(v)
	case ops.Unbacked:
		s.out = append(s.out, '?')
	case *tensor.Tensor:
		s.tensor(v)
	case *ops.List:
		if s.First('l', v) {
			s.ints(int64(v.Elem))
			s.Values(v.Items)
		}
	case *ops.Tuple:
		if s.First('t', v) {
			s.Values(v.Items)
		}
	case *ops.Dict:
		if s.First('d', v) {
			s.Values(v.Keys)
			s.Values(v.Values)
		}
	case Shared:
		if s.First('o', v) {
			v.Describe(s)
		}
	default:
		s.out = append(s.out, 'x')
		s.Text(fmt.Sprintf("%T %v", v, v))
	}
}

func (s *State) tensor(t *tensor.Tensor) {
	if !s.First('T', t) {
		return
	}
	s.ints(int64(t.DType), int64(len(t.Sizes)))
	if !s.anyPosition {
		s.ints(t.StorageOffset)
	}
	s.ints(t.Sizes...)
	s.ints(t.Strides...)
	s.Text(t.Device)
	if s.First('S', t.Storage) && t.Storage.ID >= 0 {
		s.ints(int64(t.Storage.NBytes), int64(s.heap.holders[t.Storage.ID]), int64(t.Storage.Category))
	}
	if t.Data != nil {
		s.Text(fmt.Sprint(t.Data.Ints, t.Data.Floats))
	}
}
