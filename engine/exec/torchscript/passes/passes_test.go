package passes_test

import (
	"testing"

	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/internal/testing/conformance"
	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// TestRecordings holds what the passes make of a graph to what PyTorch's executor allocates.
func TestRecordings(t *testing.T) {
	golden.NeedsWhole(t, "exec and exec/torchscript run the same")
	conformance.Hold(t, conformance.Choice{Testdata: "../../../../testdata", Kinds: []string{"script", "trace"},
		Runtimes: []string{"torchscript"}, Start: torchscript.New})
}

// TestPrograms holds what the passes make of small programs to what these give and allocate.
func TestPrograms(t *testing.T) {
	golden.NeedsWhole(t, "exec and exec/torchscript run the same")
	for _, file := range []string{"../testdata/programs.txt", "../../testdata/programs.txt"} {
		conformance.Programs{File: file, Start: torchscript.New}.Run(t)
	}
}
