// Package gotest shows GPU memory budgets in go test. Copy this file and memspec.yaml beside your own tests.
package gotest

import (
	"testing"

	memory "github.com/memspec/memspec/assert"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/stretchr/testify/assert"
)

// Every case of the file is a subtest: go test -run 'TestMemory/resnet50'.
func TestMemory(t *testing.T) {
	memory.File(t, "memspec.yaml")
}

// One artifact, one limit, any GPU. The verdict is returned, so that other assertions can stand beside it.
func TestSmallModelStaysSmall(t *testing.T) {
	v := memory.PeakAtMost(t, "../../testdata/artifacts/torchvision/mobilenet_v3_small.script.pt", 64*units.MiB, "x=float32[4,3,224,224]")
	assert.Equal(t, verdict.Pass, v.Outcome)
}
