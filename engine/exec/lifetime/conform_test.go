package lifetime_test

import (
	"testing"

	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/internal/conformance"
)

// TestRecordings holds last uses to what PyTorch's interpreter allocates and frees.
func TestRecordings(t *testing.T) {
	conformance.Hold(t, conformance.Choice{Testdata: "../../../testdata", Kinds: []string{"script"}, Runtimes: []string{"torchscript"}, Start: torchscript.New})
}
