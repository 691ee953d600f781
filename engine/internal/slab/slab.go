// Package slab makes small values by the block: a run needs thousands of a few kinds, which live and die together, and one allocation a
// block is cheaper than one a value.
package slab

// Of hands out zeroed values of one type. The zero Of is ready.
type Of[T any] struct {
	free []T
	size int // of the last block
}

// How many values are made at once: few at first, twice as many each time.
const (
	firstBlock   = 8
	largestBlock = 128
)

// refill makes the next block, of at least n values: no more than half the largest.
func (s *Of[T]) refill(n int) {
	for s.size = min(max(2*s.size, firstBlock), largestBlock); s.size < n; {
		s.size *= 2
	}
	s.free = make([]T, s.size)
}

// New returns a zeroed value.
func (s *Of[T]) New() *T {
	if len(s.free) == 0 {
		s.refill(1)
	}
	p := &s.free[0]
	s.free = s.free[1:]
	return p
}

// Put returns v where it stays.
func (s *Of[T]) Put(v T) *T {
	p := s.New()
	*p = v
	return p
}

// Cut returns n zeroed values in a row, nil for none; appending to them moves them.
func (s *Of[T]) Cut(n int) []T {
	if n == 0 {
		return nil
	}
	if n > len(s.free) {
		if n > largestBlock/2 {
			return make([]T, n)
		}
		s.refill(n)
	}
	list := s.free[:n:n]
	s.free = s.free[n:]
	return list
}

// Extend makes a list longer by n zeroed values. It may move: who holds a part of the old one keeps that part.
func Extend[T any](list []T, n int) []T {
	if cap(list)-len(list) < n {
		list = append(make([]T, 0, max(2*cap(list), len(list)+n, 2*largestBlock)), list...)
	}
	from := len(list)
	list = list[:from+n]
	clear(list[from:])
	return list
}
