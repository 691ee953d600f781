package format_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPicturesNameEveryBlock: each block of a picture that is in use has the site of its
// allocation, the first storage's among them; each that is not has a reason.
func TestPicturesNameEveryBlock(t *testing.T) {
	data := regexp.MustCompile(`(?s)<script type="application/json"[^>]*>(\{"name".*?)</script>`).FindAllSubmatch(
		page(t, pageCases(t)...), -1)
	require.NotEmpty(t, data)
	used, unused := 0, 0
	for _, m := range data {
		var p struct {
			Name    string
			Moments []struct {
				Segments []struct{ Blocks [][4]int64 }
			}
			Reasons []string
		}
		require.NoError(t, json.Unmarshal(m[1], &p))
		for _, moment := range p.Moments {
			for _, s := range moment.Segments {
				for _, b := range s.Blocks {
					if b[3] < 0 {
						used++
						assert.GreaterOrEqual(t, b[2], int64(0), "%s: a block of %d bytes", p.Name, b[0])
					} else {
						unused++
						assert.Equal(t, int64(-1), b[2], "%s: an unused block of %d bytes", p.Name, b[0])
						assert.Less(t, b[3], int64(len(p.Reasons)), p.Name)
					}
				}
			}
		}
	}
	assert.NotZero(t, used)
	assert.NotZero(t, unused)
}
