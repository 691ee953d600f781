package exec

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// describe writes everything that decides what a run does from here on, but for where in the program it is: values that registers, names,
// calls under way and objects hold, which of them are the same, and what lives beside them. Two equal descriptions at one place go on alike.
// Where positions in tensors do not count, views that differ only there are the same.
func (m *machine) describe(carried []any, anyPosition bool) []byte {
	s := &stateWriter{m: m, seen: map[any]int{}, anyPosition: anyPosition}
	s.values(carried)
	for i, v := range m.regs {
		s.slot(m.set[i], v)
	}
	for f := m.frame; f != nil; f = f.parent {
		if l := f.locals; l != nil {
			for i, v := range l.held {
				s.slot(l.set[i], v)
			}
			for _, p := range l.pending {
				s.value(p.value)
			}
		}
	}
	s.values(m.argStack)
	s.values(m.temps)
	for _, o := range m.written {
		s.value(o)
	}
	live, bytes := 0, int64(0)
	for _, st := range m.live {
		if st != nil {
			live++
			bytes += int64(st.NBytes)
		}
	}
	s.ints(int64(live), bytes, int64(len(m.kept)), int64(len(m.castOrder)))
	return s.out
}

// stateWriter numbers what can be shared in the order it is met.
type stateWriter struct {
	m    *machine
	out  []byte
	seen map[any]int

	anyPosition bool
}

func (s *stateWriter) ints(ns ...int64) {
	for _, n := range ns {
		s.out = binary.AppendVarint(s.out, n)
	}
}

func (s *stateWriter) text(t string) {
	s.ints(int64(len(t)))
	s.out = append(s.out, t...)
}

// first gives p its number, and says whether it has just got it.
func (s *stateWriter) first(tag byte, p any) bool {
	n, ok := s.seen[p]
	if !ok {
		n = len(s.seen)
		s.seen[p] = n
	}
	s.out = append(s.out, tag)
	s.ints(int64(n))
	return !ok
}

func (s *stateWriter) slot(set bool, v any) {
	if !set {
		s.out = append(s.out, '-')
		return
	}
	s.value(v)
}

func (s *stateWriter) values(vs []any) {
	s.ints(int64(len(vs)))
	for _, v := range vs {
		s.value(v)
	}
}

func (s *stateWriter) value(v any) {
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
		s.text(v)
	case ops.Unknown:
		s.out = append(s.out, '?')
	case *tensor.Tensor:
		s.tensor(v)
	case *ops.List:
		if s.first('l', v) {
			s.ints(int64(v.Elem))
			s.values(v.Items)
		}
	case *ops.Tuple:
		if s.first('t', v) {
			s.values(v.Items)
		}
	case *ops.Dict:
		if s.first('d', v) {
			s.values(v.Keys)
			s.values(v.Values)
		}
	case *Object:
		if s.first('o', v) {
			s.text(v.Class.Name)
			for i, a := range v.attrs {
				s.slot(v.filled[i], a)
			}
		}
	default:
		s.out = append(s.out, 'x')
		s.text(fmt.Sprintf("%T %v", v, v))
	}
}

func (s *stateWriter) tensor(t *tensor.Tensor) {
	if !s.first('T', t) {
		return
	}
	s.ints(int64(t.DType), int64(len(t.Sizes)))
	if !s.anyPosition {
		s.ints(t.StorageOffset)
	}
	s.ints(t.Sizes...)
	s.ints(t.Strides...)
	s.text(t.Device)
	if s.first('S', t.Storage) && t.Storage.ID >= 0 {
		s.ints(int64(t.Storage.NBytes), int64(s.m.refs[t.Storage.ID]), int64(t.Storage.Category))
	}
	if t.Data != nil {
		s.text(fmt.Sprint(t.Data.Ints, t.Data.Floats))
	}
}
