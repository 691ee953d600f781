package pickle

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Values come from slabs: as many as a slab has take one allocation, and one more takes another.
func TestSlabs(t *testing.T) {
	for name, c := range map[string]struct {
		of func(*boxes)
		n  int
	}{
		"lists":          {func(b *boxes) { b.list() }, 256},
		"dicts":          {func(b *boxes) { b.dict() }, 256},
		"single values":  {func(b *boxes) { b.cut(1) }, 1024},
		"many values":    {func(b *boxes) { b.cut(256) }, 4},
		"no values":      {func(b *boxes) { b.cut(1); b.cut(0) }, 1024},
		"small integers": {func(b *boxes) { b.list(); b.int(0); b.int(255) }, 256},
	} {
		allocations := func(n int) float64 {
			b := &boxes{}
			return testing.AllocsPerRun(10, func() {
				*b = boxes{}
				for range n {
					c.of(b)
				}
			})
		}
		assert.InDelta(t, 1, allocations(c.n), 0, name)
		assert.InDelta(t, 2, allocations(c.n+1), 0, name)
	}
}

// More values than a slab has are made by themselves, and what is left of the slab stays.
func TestMoreThanASlab(t *testing.T) {
	var b boxes
	b.cut(1)
	left := len(b.slots)
	assert.Len(t, b.cut(257), 257)
	assert.Len(t, b.slots, left)
	first, second := b.cut(2), b.cut(2)
	assert.Equal(t, []int{2, 2}, []int{len(first), cap(first)})
	second[0] = "second"
	_ = append(first, "third")
	assert.Equal(t, "second", second[0], "an append reaches no other values")
}
