package suite

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// TestWorse: of two results the one of the worse outcome, else of the larger share of one budget,
// else of the larger peak.
func TestWorse(t *testing.T) {
	of := func(outcome verdict.Outcome, reserved units.Bytes, predicted ...units.Bytes) *Result {
		r := &Result{Report: &report.Report{Peak: report.Peak{Reserved: reserved}}}
		r.Verdict.Outcome = outcome
		for _, n := range predicted {
			r.Verdict.Findings = append(r.Verdict.Findings,
				verdict.Finding{Budget: verdict.Budget{Metric: report.Reserved, Limit: 100}, Known: true, Predicted: n})
		}
		return r
	}
	pass, fail := verdict.Pass, verdict.Fail
	for _, tt := range []struct {
		why          string
		worse, other *Result
	}{
		{"an outcome before a share", of(fail, 0, 10), of(pass, 0, 90)},
		{"the largest share, not the last", of(pass, 0, 80, 10), of(pass, 0, 70, 20)},
		{"nor the first", of(pass, 0, 10, 80), of(pass, 0, 20, 70)},
		{"a share before a peak", of(pass, 5, 80), of(pass, 9, 70)},
		{"the peak of equal shares", of(pass, 9, 80), of(pass, 5, 80)},
		{"the peak without budgets", of(pass, 9), of(pass, 5)},
	} {
		assert.True(t, worse(tt.worse, tt.other), tt.why)
		assert.False(t, worse(tt.other, tt.worse), tt.why)
	}
	assert.False(t, worse(of(pass, 5, 80), of(pass, 5, 80)), "equal ones")
}
