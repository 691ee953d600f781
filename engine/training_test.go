package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	file "github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// Training steps that PyTorch ran on a pretend T4 (testdata/training; python -m memshim capture
// makes the recordings again): every allocation is where PyTorch put it, its counters are the
// report's, and under expandable segments the replay gives the bytes of a run that had them.
func TestTrainingSteps(t *testing.T) {
	cases, err := spec.Load("../testdata/training/memspec.yaml")
	require.NoError(t, err)
	var models suite.Models
	replayed := 0
	models.JudgeAll(context.Background(), cases, nil, func(r *suite.Result) {
		require.NoError(t, r.Err, r.Case.Name)
		assert.Equal(t, verdict.Pass, r.Verdict.Outcome, r.Line())
		assert.Equal(t, report.Exact, r.Report.Quality, "%v", r.Report.Notes)
		assert.Equal(t, "pretend", r.Report.Where)
		assert.Equal(t, []string{"first", "steady"}, testcase.PassNames(r.Report))
		for _, p := range r.Report.Passes {
			require.Len(t, p.Phases, 3, "%s %s", r.Case.Name, p.Name)
			for _, phase := range p.Phases {
				var held units.Bytes
				for _, s := range phase.Held {
					held += s.Bytes
				}
				assert.Equal(t, phase.Peak.Allocated, held, "%s %s %s: what is held adds up", r.Case.Name, p.Name, phase.Name)
			}
		}
		for _, f := range r.Verdict.Findings {
			if r.Case.Name != "accumulated" {
				assert.Equal(t, f.Limit, f.Predicted, "%s %s to the byte", r.Case.Name, f.Metric)
			}
		}
		if r.Case.Platform.AllocConf != "" {
			return
		}
		replayed++
		rec, err := file.Read(r.Case.Captured())
		require.NoError(t, err)
		for _, p := range r.Report.Passes {
			var allocated, reserved units.Bytes
			for i := range rec.Passes {
				if pass := &rec.Passes[i]; pass.Name == p.Name {
					allocated, reserved = max(allocated, *pass.Allocated), max(reserved, *pass.Reserved)
				}
			}
			assert.Equal(t, [2]units.Bytes{allocated, reserved}, [2]units.Bytes{p.Peak.Allocated, p.Peak.Reserved}, "%s %s",
				r.Case.Name, p.Name)
		}
		tr, skipped, err := rec.Replayable()
		require.NoError(t, err)
		at, err := allocator.ReplayFromStart(&trace.Recording{Trace: tr, Skipped: skipped})
		require.NoError(t, err)
		assert.True(t, at.Agrees(), "%s: every address", r.Case.Name)
	})
	assert.Equal(t, 2, replayed)
}
