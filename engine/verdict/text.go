package verdict

import (
	"fmt"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
)

// String is a finding in a sentence: "peak reserved 2.31 GiB, budget 2.00 GiB: over by 0.31 GiB (+15.5%)".
func (f *Finding) String() string {
	if !f.Known {
		return fmt.Sprintf("%s unknown, budget %s: %s", metricText(f.Metric), f.Limit, f.Why)
	}
	if f.Metric == report.Total && f.Outcome == Inconclusive && f.HasLower {
		return fmt.Sprintf("%s between %s and %s, budget %s: %s", metricText(f.Metric), f.Lower, f.Predicted, f.Limit, f.Why)
	}
	s := fmt.Sprintf("%s %s, budget %s", metricText(f.Metric), f.Predicted, f.Limit)
	switch {
	case f.Over > 0 && f.Limit > 0:
		s += fmt.Sprintf(": over by %s (+%s)", inUnitOf(f.Over, f.Limit), report.Percent(f.Over, f.Limit))
	case f.Over > 0:
		s += fmt.Sprintf(": over by %s", f.Over)
	}
	if f.Why != "" {
		s += ": " + f.Why
	}
	return s
}

// metricText names a metric in a sentence: what is a peak is called one.
func metricText(m report.Metric) string {
	switch m {
	case report.Allocated, report.Reserved, report.Total:
		return "peak " + string(m)
	case report.FirstCall:
		return "first call"
	}
	return string(m)
}

// inUnitOf prints small in the unit of like, so that a difference can be read beside it.
func inUnitOf(small, like units.Bytes) string {
	if like >= units.GiB && small >= units.GiB/100 {
		return fmt.Sprintf("%.2f GiB", float64(small)/float64(units.GiB))
	}
	return small.String()
}
