package exec

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBudget(t *testing.T) {
	var b Budget
	assert.NoError(t, b.Walk(maxWalked))
	assert.EqualError(t, b.Walk(1), "got more than 16777216 items of lists looked at, want fewer")
	assert.EqualError(t, b.Within(), "got more than 16777216 items of lists looked at, want fewer", "it stays spent")
	b = Budget{}
	assert.NoError(t, b.Make(maxMade-itemBytes))
	assert.NoError(t, b.MakeItems(1))
	assert.EqualError(t, b.Make(1), "got more than 268435456 bytes of strings, lists, tuples and dicts, want fewer")
}
