package exec

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestStateFirst: a thing is new once, and each has a number of its own; which one it is is written every time.
func TestStateFirst(t *testing.T) {
	s := &State{seen: map[any]int{}}
	a, b := new(int), new(int)
	assert.True(t, s.First('t', a))
	assert.True(t, s.First('t', b))
	assert.False(t, s.First('t', a))
	assert.Equal(t, []byte{'t', 0, 't', 2, 't', 0}, s.out, "numbers as varints: 0, 1, 0")
}
