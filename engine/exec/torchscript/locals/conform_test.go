package locals_test

import (
	"testing"

	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/internal/testing/conformance"
	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// TestRecordings holds what names hold to what eager PyTorch allocates and frees.
func TestRecordings(t *testing.T) {
	golden.NeedsWhole(t, "exec and exec/torchscript run the same")
	conformance.Hold(t, conformance.Choice{Testdata: "../../../../testdata", Kinds: []string{"script"},
		Runtimes: []string{"eager"}, Start: torchscript.New})
}

// TestPrograms holds what names hold in small programs to what these give, allocate and free.
func TestPrograms(t *testing.T) {
	golden.NeedsWhole(t, "exec and exec/torchscript run the same")
	for _, file := range []string{"../testdata/programs.txt", "../../testdata/programs.txt"} {
		conformance.Programs{File: file, Start: torchscript.New}.Run(t)
	}
}
