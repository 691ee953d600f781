// Package slab makes small values by the block: a run needs thousands of a few kinds, which live
// and die together, and one allocation a block is cheaper than one a value.
package slab

import "unsafe"

// Of hands out zeroed values of one type. The zero Of is ready.
type Of[T any] struct {
	free []T
	size int // of the last block
}

// How many bytes a block has: few at first, twice as many each time. The types share these sizes,
// because each size of a kind that is in use costs a process its own pages.
const (
	firstBlock   = 2 << 10
	largestBlock = 8 << 10
	header       = 8 // what the allocator puts before values that hold pointers
)

// refill makes the next block, of at least n values.
func (s *Of[T]) refill(n int) {
	each := max(int(unsafe.Sizeof(*new(T))), 1)
	for s.size = min(max(2*s.size, firstBlock), largestBlock); s.size-header < n*each; {
		s.size *= 2
	}
	s.free = make([]T, (s.size-header)/each)
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
		if n*int(unsafe.Sizeof(*new(T))) > largestBlock/2 {
			return make([]T, n)
		}
		s.refill(n)
	}
	list := s.free[:n:n]
	s.free = s.free[n:]
	return list
}

const shortestList = 256

// Extend makes a list longer by n zeroed values. It may move: who holds a part of the old one keeps that part.
func Extend[T any](list []T, n int) []T {
	if cap(list)-len(list) < n {
		list = append(make([]T, 0, max(2*cap(list), len(list)+n, shortestList)), list...)
	}
	from := len(list)
	list = list[:from+n]
	clear(list[from:])
	return list
}
