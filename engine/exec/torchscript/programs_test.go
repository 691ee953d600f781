package torchscript_test

import (
	"testing"

	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/internal/testing/conformance"
)

// TestPrograms holds what programs give and allocate.
func TestPrograms(t *testing.T) {
	conformance.Programs{File: "testdata/programs.txt", Start: torchscript.New}.Run(t)
	conformance.Programs{File: "../testdata/programs.txt", Start: torchscript.New}.Run(t)
}

// TestFaults holds the interpreter to handing on what fails, wherever it stands.
func TestFaults(t *testing.T) {
	conformance.Programs{File: "testdata/programs.txt", Start: torchscript.New}.Faults(t)
	conformance.Programs{File: "../testdata/programs.txt", Start: torchscript.New}.Faults(t)
}
