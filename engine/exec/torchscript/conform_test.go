package torchscript_test

import (
	"testing"

	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/internal/testing/conformance"
)

// TestRecordings holds the interpreter to what PyTorch allocates, in both runtimes.
func TestRecordings(t *testing.T) {
	conformance.Hold(t, conformance.Choice{Testdata: "../../../testdata", Kinds: []string{"script", "trace"},
		Runtimes: []string{"eager", "torchscript"}, Start: torchscript.New})
}
