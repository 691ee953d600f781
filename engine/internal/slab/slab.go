// Package slab makes small values by the block: a run needs thousands of a few kinds, which live and die together, and one allocation a
// block is cheaper than one a value.
package slab

// Of hands out zeroed values of one type. The zero Of is ready.
type Of[T any] struct{ free []T }

// blockSize is how many values are made at once.
const blockSize = 64

// New returns a zeroed value.
func (s *Of[T]) New() *T {
	if len(s.free) == 0 {
		s.free = make([]T, blockSize)
	}
	p := &s.free[0]
	s.free = s.free[1:]
	return p
}

// Cut returns n zeroed values in a row; appending to them moves them.
func (s *Of[T]) Cut(n int) []T {
	if n > len(s.free) {
		if n >= blockSize {
			return make([]T, n)
		}
		s.free = make([]T, 2*blockSize)
	}
	list := s.free[:n:n]
	s.free = s.free[n:]
	return list
}

// Extend makes a list longer by n zeroed values. It may move: who holds a part of the old one keeps that part.
func Extend[T any](list []T, n int) []T {
	if cap(list)-len(list) < n {
		list = append(make([]T, 0, max(2*cap(list), len(list)+n, 4*blockSize)), list...)
	}
	from := len(list)
	list = list[:from+n]
	clear(list[from:])
	return list
}
