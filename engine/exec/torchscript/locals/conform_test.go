package locals_test

import (
	"testing"

	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/internal/conformance"
)

// TestRecordings holds what names hold to what eager PyTorch allocates and frees.
func TestRecordings(t *testing.T) {
	conformance.Hold(t, conformance.Choice{Testdata: "../../../../testdata", Kinds: []string{"script"}, Runtimes: []string{"eager"}, Start: torchscript.New})
}
