package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/units"
)

// TestGraphs: what CUDA graphs take is beside the budget, unless the engine takes it off its KV
// cache. A recording from before the driver was charged for them has PyTorch's part alone.
func TestGraphs(t *testing.T) {
	for _, c := range []struct {
		why  string
		kv   KVCache
		want string
	}{
		{"none", KVCache{}, ""},
		{"before", KVCache{Graphs: units.GiB}, "1.00 GiB of CUDA graphs beside the budget, without the driver's part"},
		{"beside", KVCache{Graphs: units.GiB, GraphsOfDriver: units.MiB},
			"1.00 GiB of CUDA graphs beside the budget, 1.0 MiB of it the driver's, an estimate"},
		{"taken off", KVCache{Graphs: units.GiB, GraphsOfDriver: units.MiB, GraphsInBudget: 2 * units.GiB},
			"2.00 GiB of CUDA graphs taken off the KV cache, 1.0 MiB of it the driver's, an estimate"},
	} {
		var text strings.Builder
		WriteServed(layout.To(&text), &Serving{KV: &c.kv})
		_, line, found := strings.Cut(strings.Join(strings.Fields(text.String()), " "), " graphs ")
		assert.Equal(t, c.want != "", found, c.why)
		assert.Equal(t, c.want, line, c.why)
	}
}
