package suite_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/verdict"
)

// A metric that the baseline does not have leaves the case inconclusive, whether another metric
// holds or not; one that is broken fails it.
func TestRegressionOfAMetricThatIsNotKnown(t *testing.T) {
	for _, c := range []struct {
		regression, budget string
		unknown            []report.Metric
		less               bool // it took less before
		want               verdict.Outcome
	}{
		{"{weights: 1%, allocated: 1%}", "{}", nil, false, verdict.Pass},
		{"{weights: 1%, allocated: 1%}", "{}", []report.Metric{report.Weights}, false, verdict.Inconclusive},
		{"{allocated: 1%, weights: 1%}", "{reserved: 1GiB}", []report.Metric{report.Weights}, false, verdict.Inconclusive},
		{"{weights: 1%}", "{}", []report.Metric{report.Weights}, false, verdict.Inconclusive},
		{"{weights: 1%, allocated: 1%}", "{}", []report.Metric{report.Weights}, true, verdict.Fail},
	} {
		cases, err := spec.Parse("../../testdata/artifacts/small/memspec.yaml",
			[]byte("version: 1\nmodels:\n  m:\n    artifact: module_list.script.pt\n"+
				"    device: t4\n    inputs: [\"float32[2,32]\"]\n    regression: "+c.regression+"\n    budget: "+c.budget+"\n"))
		require.NoError(t, err)
		regression := cases[0].Regression
		cases[0].Regression = nil // compared by hand
		var models suite.Models
		r := models.Judge(context.Background(), cases[0])
		require.NoError(t, r.Err)
		before := *r.Report
		before.Unknown = c.unknown
		if c.less {
			before.Peak.Allocated /= 2
		}
		r.Case.Regression = regression
		r.Compare(&before, "baseline.json")
		assert.Equal(t, c.want, r.Verdict.Outcome, "regression: %s, budget: %s, unknown before: %v: %s", c.regression,
			c.budget, c.unknown, r.Line())
	}
}
