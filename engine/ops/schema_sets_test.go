package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A return is a view of the argument with which it shares a set; of a wildcard nothing is known.
func TestSharedAliasSets(t *testing.T) {
	assert.True(t, shareSet("a", "a"))
	assert.True(t, shareSet("a", "b|a"))
	assert.False(t, shareSet("a", "b"))
	assert.False(t, shareSet("a", "ab"))
	assert.False(t, shareSet("*", "*"))
}
