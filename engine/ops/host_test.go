package ops

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTableLoads parses every schema of the table: a row that does not parse would fail only when a model asks for it.
func TestTableLoads(t *testing.T) {
	require.NoError(t, Builtin().Check())
}
