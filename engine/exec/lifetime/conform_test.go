package lifetime_test

import (
	"testing"

	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/internal/testing/conformance"
	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// TestRecordings holds last uses to what PyTorch's interpreter allocates and frees.
func TestRecordings(t *testing.T) {
	golden.NeedsWhole(t, "exec and exec/torchscript run the same")
	conformance.Hold(t, conformance.Choice{Testdata: "../../../testdata", Kinds: []string{"script"},
		Runtimes: []string{"torchscript"}, Start: torchscript.New})
}

// TestPrograms holds last uses in small programs to what these give, allocate and free.
func TestPrograms(t *testing.T) {
	golden.NeedsWhole(t, "exec and exec/torchscript run the same")
	for _, file := range []string{"../torchscript/testdata/programs.txt", "../testdata/programs.txt"} {
		conformance.Programs{File: file, Start: torchscript.New}.Run(t)
	}
}
