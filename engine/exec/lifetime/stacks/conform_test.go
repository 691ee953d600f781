package stacks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/internal/testing/conformance"
)

// TestRecordings holds the live ranges to what eager PyTorch allocates and frees. The big models
// are tests of rules that no small one needs.
func TestRecordings(t *testing.T) {
	large := []string{"densenet121", "googlenet", "inception_v3", "squeezenet1_0", "swin_t", "swin_v2_t", "vit_b_16"}
	conformance.Hold(t, conformance.Choice{
		Testdata: "../../../../testdata", Kinds: []string{"trace"}, Runtimes: []string{"eager"}, Start: torchscript.New,
		Models: func(model, artifact string) bool {
			return strings.Contains(artifact, "/small/") || slices.Contains(large, model)
		},
	})
}
