package program_test

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/conformance"
)

// TestDamaged holds what is said to exported programs of which one value is another or missing, and
// how they are printed.
func TestDamaged(t *testing.T) { conformance.Damaged(t, "../..") }
