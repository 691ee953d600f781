package workspace_test

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops/builtin"
)

// Workspaces as operators ask for them, on the devices of testdata/aten.
func TestDevices(t *testing.T) {
	golden.NeedsWhole(t, "each family's package runs its calls")
	aten.EveryDevice(t, builtin.Table())
}
