package ops_test

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops/builtin"
)

// What all families stand on is tested by the calls of all of them.
func TestEveryFamily(t *testing.T) {
	golden.NeedsWhole(t, "each family's package runs its calls")
	aten.EveryFamily(t, builtin.Table())
}
