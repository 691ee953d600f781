package workspace

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// TestAnswersWithinUpper checks that no known answer, nor the formula, is above the upper figure of
// a report without a profile.
func TestAnswersWithinUpper(t *testing.T) {
	answers := knownAnswers(t)
	for _, a := range answers {
		got := a.conv.CuDNN(a.platform, a.out, false)[0]
		assert.LessOrEqual(t, units.Bytes(a.bytes), got.Upper, a.key())
		assert.LessOrEqual(t, got.Bytes, got.Upper, a.key())
	}
	least := 60000
	if !golden.Whole() {
		least /= shareOfAnswers
	}
	assert.Greater(t, len(answers), least)
}

func TestUpperOfHugeOperands(t *testing.T) {
	v := &Convolution{Input: dense(tensor.Float32, tensor.Contiguous, 1, 1<<30, 1<<15, 1<<15),
		Weight: dense(tensor.Float32, tensor.Contiguous, 1, 1<<30, 1, 1)}
	n := convBytes{in: math.MaxInt64, weight: 1 << 32, out: 1 << 32}
	assert.Positive(t, v.upperByRule(on(t, "t4", "2.15"), n, []int64{1, 1, 1 << 15, 1 << 15}))
}
