package create

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The closed form is what counting row by row gives.
func TestClampedSum(t *testing.T) {
	for rows := int64(0); rows < 7; rows++ {
		for most := int64(0); most < 7; most++ {
			for off := int64(-9); off < 10; off++ {
				want := int64(0)
				for i := range rows {
					want += min(max(i+off, 0), most)
				}
				assert.Equal(t, want, clampedSum(rows, off, most).Int64(), "%d rows, offset %d, at most %d", rows, off, most)
			}
		}
	}
	n := int64(1) << 62
	assert.Equal(t, 1, clampedSum(n, n, n).Cmp(big.NewInt(n)), "no overflow")
}
