package torchscript

// slab hands out values from chunks: a program is tens of thousands of small parts that live and die together.
type slab[T any] struct{ free []T }

const slabChunk = 128

func (s *slab[T]) new(v T) *T {
	if len(s.free) == 0 {
		s.free = make([]T, slabChunk)
	}
	p := &s.free[0]
	s.free = s.free[1:]
	*p = v
	return p
}

// cut returns room for n values.
func (s *slab[T]) cut(n int) []T {
	if n == 0 {
		return nil
	}
	if n > len(s.free) {
		if n > slabChunk {
			return make([]T, n)
		}
		s.free = make([]T, 2*slabChunk)
	}
	list := s.free[:n:n]
	s.free = s.free[n:]
	return list
}
