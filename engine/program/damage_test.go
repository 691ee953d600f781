package program_test

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/conformance"
	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// TestDamaged holds what is said to exported programs of which one value is another or missing, and
// how they are printed.
func TestDamaged(t *testing.T) {
	golden.NeedsWhole(t, "artifact/torchexport reads the same documents")
	conformance.Damaged(t, "../..")
}
