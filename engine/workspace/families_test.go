package workspace_test

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
)

// Workspaces as operators ask for them, on the devices of testdata/aten.
func TestDevices(t *testing.T) { aten.EveryDevice(t, builtin.Table()) }
