package torchexport_test

import (
	"testing"

	"github.com/memspec/memspec/engine/internal/testing/conformance"
)

// TestDamagedDocuments holds what is said to the small archives when one value of their documents
// is another or missing: testdata/damaged.
func TestDamagedDocuments(t *testing.T) { conformance.Damaged(t, "../../..") }
