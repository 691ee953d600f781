// Package testcase makes cases and recordings for tests.
package testcase

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// On is a case of an artifact on a device, without budgets.
func On(t testing.TB, name, artifact string, inputs ...string) spec.Case {
	t.Helper()
	d, err := device.Lookup(name)
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	return spec.Case{Name: "m", Artifact: artifact, Platform: p, Inputs: Inputs(t, inputs)}
}

// AtMost is one budget.
func AtMost(m report.Metric, limit units.Bytes) []verdict.Budget {
	return []verdict.Budget{{Metric: m, Limit: limit}}
}

// Inputs are inputs in the grammar of --input.
func Inputs(t testing.TB, texts []string) []spec.Input {
	t.Helper()
	out := make([]spec.Input, len(texts))
	for i, s := range texts {
		in, err := spec.ParseInput(s)
		require.NoError(t, err)
		out[i], err = in.Bind(nil)
		require.NoError(t, err)
	}
	return out
}
