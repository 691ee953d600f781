// Package gotest shows GPU memory budgets in go test. Copy this file and memspec.yaml beside your
// own tests.
package gotest

import (
	"os"
	"testing"

	memory "github.com/memspec/memspec/assert"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/stretchr/testify/assert"
)

// Every case of the file is a subtest: go test -run 'TestMemory/resnet50'. Nothing is run, so this
// needs no GPU.
func TestMemory(t *testing.T) {
	memory.File(t, "memspec.yaml")
}

// The same cases, run for real where this machine has their GPU (with PyTorch and memshim, see
// MEMSPEC_PYTHON) and held against their predictions; elsewhere the test says why not. On the
// machine that is meant to have the GPU, REQUIRE_GPU=1 makes that a failure.
func TestMemoryMeasured(t *testing.T) {
	measure := memory.WherePossible
	if os.Getenv("REQUIRE_GPU") != "" {
		measure = memory.Required
	}
	memory.File(t, "memspec.yaml", measure)
}

// One artifact, one limit, any GPU. The verdict is returned, so that other assertions can stand
// beside it.
func TestSmallModelStaysSmall(t *testing.T) {
	v := memory.PeakAtMost(t, "../../testdata/artifacts/torchvision/mobilenet_v3_small.script.pt", 64*units.MiB,
		"x=float32[4,3,224,224]")
	assert.Equal(t, verdict.Pass, v.Outcome)
}
