package exec_test

import (
	"testing"

	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/internal/testing/conformance"
)

// TestRecordings holds the machine to what PyTorch allocates, whoever drives it.
func TestRecordings(t *testing.T) {
	conformance.Hold(t, conformance.Choice{Testdata: "../../testdata", Kinds: []string{"script", "trace"},
		Runtimes: []string{"eager", "torchscript"}, Start: torchscript.New})
}
