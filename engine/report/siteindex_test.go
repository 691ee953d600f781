package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/trace"
)

// Sites that differ in their phase alone have one number, and so have all that a trace names and
// does not have.
func TestSiteNumbers(t *testing.T) {
	x := newSiteIndex(&trace.Trace{Sites: []trace.Site{{Op: "a"}, {Op: "b"}, {Op: "a", Phase: trace.Backward}}})
	for _, c := range []struct {
		id     trace.SiteID
		number int
		first  bool
	}{{1, 0, true}, {0, 1, true}, {2, 1, false}, {1, 0, false}, {0, 1, false}, {3, 2, true}, {4, 2, false},
		{3, 2, false}} {
		number, first := x.of(c.id)
		assert.Equal(t, []any{c.number, c.first}, []any{number, first}, "site %d", c.id)
	}
	assert.Equal(t, []int32{2, 1, 2}, x.byID, "what was asked for is remembered")
}
