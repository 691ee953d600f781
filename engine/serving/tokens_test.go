package serving

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/units"
)

// A memory holds as many tokens as fit. Where a sequence takes less than its tokens would, as with
// layers that keep a window, it is the context times how often a sequence fits.
func TestTokens(t *testing.T) {
	for _, c := range []struct {
		why                          string
		perToken, perSequence, holds units.Bytes
		want                         int64
	}{
		{"as many as fit", 3, 30, 8, 2},
		{"more than a float counts", 3, 30, 3 << 54 / 3 * 3, (3 << 54) / 3},
		{"one more than a float counts", 3, 30, 3 * (1<<53 + 1), 1<<53 + 1},
		{"a byte for each", 1, 10, 1<<53 + 1, 1<<53 + 1},
		{"layers that keep a window", 3, 20, 40, 20},
		{"nothing for each token", 0, 20, 10, 5},
	} {
		e := &Estimate{Context: 10, KVPerToken: &c.perToken, KVPerSequence: &c.perSequence}
		assert.Equal(t, c.want, e.tokens(c.holds), c.why)
	}
}
