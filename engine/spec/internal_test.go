package spec

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/report"
)

// TestSchemaKnowsEveryKey keeps the two lists of keys one.
func TestSchemaKnowsEveryKey(t *testing.T) {
	type object struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var s struct {
		object
		Defs struct {
			Model, Case, Budget, Tensor, AtLeast, Regression object
			Settings                                         struct {
				Properties struct {
					Allow struct{ Items struct{ Enum []string } }
				}
			}
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(Schema, &s))
	keys := func(m map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(m)) }
	sorted := func(names []string) []string { return slices.Sorted(slices.Values(names)) }

	var defaults object
	require.NoError(t, json.Unmarshal(s.Properties["defaults"], &defaults))
	assert.Equal(t, sorted(topKeys), keys(s.Properties))
	assert.Equal(t, sorted(keyNames(inDefaults)), keys(defaults.Properties))
	assert.Equal(t, sorted(keyNames(inModel)), keys(s.Defs.Model.Properties))
	assert.Equal(t, sorted(keyNames(inCase)), keys(s.Defs.Case.Properties))
	assert.Equal(t, sorted(metricNames(mostMetrics)), keys(s.Defs.Budget.Properties))
	assert.Equal(t, sorted(metricNames(leastMetrics)), keys(s.Defs.AtLeast.Properties))
	assert.Equal(t, sorted(metricNames(report.AllMetrics())), keys(s.Defs.Regression.Properties))
	assert.Equal(t, sorted(tensorKeys), keys(s.Defs.Tensor.Properties))
	assert.Equal(t, note.IDs(), s.Defs.Settings.Properties.Allow.Items.Enum)
	assert.Len(t, report.Metrics(), 5)
}

// TestFailed: a panic of the YAML library is an error at the file's beginning.
func TestFailed(t *testing.T) {
	r := &reader{file: "m.yaml"}
	assert.False(t, r.failed(nil))
	assert.Empty(t, r.errs)
	assert.True(t, r.failed("oh"))
	require.Len(t, r.errs, 1)
	assert.EqualError(t, r.errs[0], "m.yaml:1:1: internal error: the YAML reader failed: oh")
}
