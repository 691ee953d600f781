package passes_test

import (
	"testing"

	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/internal/conformance"
)

// TestRecordings holds what the passes make of a graph to what PyTorch's executor allocates.
func TestRecordings(t *testing.T) {
	conformance.Hold(t, conformance.Choice{Testdata: "../../../../testdata", Kinds: []string{"script", "trace"}, Runtimes: []string{"torchscript"}, Start: torchscript.New})
}
