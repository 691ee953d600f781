package coverage_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/coverage"
)

func TestMissing(t *testing.T) {
	m, err := engine.Open("../../testdata/artifacts/bad/custom.pt")
	require.NoError(t, err)
	p, err := m.Program()
	require.NoError(t, err)
	missing, err := coverage.Missing(p)
	require.NoError(t, err)
	require.Len(t, missing, 1)
	assert.Equal(t, "memspec_test::twice", missing[0].Op)
	assert.Equal(t, 1, missing[0].Count)
	assert.NotZero(t, missing[0].First.Line)
}
