package cudameasure_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/units"
)

// Two rules stand in memshim as well, which applies them where no memspec runs: they are the
// engine's.
func TestMemshimHasTheSameRules(t *testing.T) {
	rule := func(file, pattern string) string {
		text, err := os.ReadFile(filepath.Join("..", "pyshim", "src", "memshim", file))
		require.NoError(t, err)
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		require.NotNil(t, found, "%s: got no %s", file, pattern)
		return string(found[1])
	}
	p := platform.Platform{Deterministic: true}
	assert.Equal(t, p.CublasConfig(), rule("case/settings.py", `workspace = "(:[0-9:]+)"`),
		"the workspace of cuBLAS in a deterministic run")

	slack, err := strconv.ParseFloat(rule("judge/report.py", `device\["total"\]\) <= ([0-9.]+) \* wanted`), 64)
	require.NoError(t, err)
	d, err := device.Lookup("a10g")
	require.NoError(t, err)
	memory := func(less float64) units.Bytes { return d.Memory - units.Bytes(less*float64(d.Memory)) }
	assert.True(t, d.Is(d.ComputeCapability.String(), memory(slack-1e-6)), "a card is the device up to this much less "+
		"memory")
	assert.False(t, d.Is(d.ComputeCapability.String(), memory(slack+1e-6)), "and no further")
}
