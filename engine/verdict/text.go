package verdict

import (
	"fmt"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
)

// String is a finding in a sentence: "peak reserved 2.31 GiB, budget 2.00 GiB: over by 0.31 GiB
// (+15.5%)".
func (f *Finding) String() string {
	if !f.Known {
		return fmt.Sprintf("%s unknown, %s: %s", metricText(f.Metric), f.limitText(), f.Why)
	}
	if f.Metric == report.Total && f.Outcome == Inconclusive && f.HasLower && f.Lower < f.Predicted {
		return fmt.Sprintf("%s between %s and %s, %s: %s", metricText(f.Metric), f.Lower, f.Predicted, f.limitText(),
			f.Why)
	}
	s := fmt.Sprintf("%s %s, %s", metricText(f.Metric), f.Metric.Text(f.Predicted), f.limitText())
	switch {
	case f.Over > 0 && f.Metric.Counts():
		s += fmt.Sprintf(": short by %s (-%s)", f.Metric.Text(f.Over), report.Percent(f.Over, f.Limit))
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

// Held is a budget that holds, in few words: "allocated 29.0 MiB of 40.0 MiB", of a regression
// "allocated 29.0 MiB of 29.5 MiB (regression: 2% over 28.9 MiB before)".
func (f *Finding) Held() string {
	s := f.Figures()
	if f.Regression {
		s += " (regression: " + f.Text + ")"
	}
	return s
}

// Figures are the figure and its limit: "allocated 29.0 MiB of 40.0 MiB", "kv_tokens 418,784, at
// least 400,000".
func (f *Finding) Figures() string {
	if f.Metric.Counts() {
		return fmt.Sprintf("%s %s, at least %s", f.Metric, f.Metric.Text(f.Predicted), f.Metric.Text(f.Limit))
	}
	return fmt.Sprintf("%s %s of %s", f.Metric, f.Predicted, f.Limit)
}

// limitText is "budget 2.00 GiB", of a regression "regression limit 29.5 MiB (2% over 28.9 MiB
// before)".
func (b *Budget) limitText() string {
	if b.Regression {
		return fmt.Sprintf("regression limit %s (%s)", b.Metric.Text(b.Limit), b.Text)
	}
	if b.Metric.Counts() {
		return "at least " + b.Metric.Text(b.Limit)
	}
	return "budget " + b.Limit.String()
}

// metricText names a metric in a sentence: what is a peak is called one.
func metricText(m report.Metric) string {
	switch m {
	case report.Allocated, report.Reserved, report.Total:
		return "peak " + string(m)
	case report.FirstCall:
		return "first call"
	case report.HostPinned:
		return "host pinned"
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
