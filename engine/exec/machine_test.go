package exec_test

import (
	"testing"

	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/internal/testing/conformance"
)

// TestPrograms holds what the machine makes of loops, branches and sizes that depend on tensor
// data, of autocast and of workspace.
func TestPrograms(t *testing.T) {
	conformance.Programs{File: "testdata/programs.txt", Start: torchscript.New}.Run(t)
	conformance.Programs{File: "torchscript/testdata/programs.txt", Start: torchscript.New}.Run(t)
}

// TestFaults holds the machine to handing on what fails, wherever it stands.
func TestFaults(t *testing.T) {
	conformance.Programs{File: "testdata/programs.txt", Start: torchscript.New}.Faults(t)
}
