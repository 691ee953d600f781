package suite

import (
	"fmt"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// A Limit is what a value breaks.
type Limit struct {
	Value     int64
	Metric    report.Metric // what there was too much of; reserved where the device's memory ended
	Predicted units.Bytes
	Limit     units.Bytes
	Why       string // in words, where the sizes do not say it
	Unsure    bool   // it may fit: nobody can say
}

// String is "reserved 2.10 GiB of 2.00 GiB".
func (l *Limit) String() string {
	s := fmt.Sprintf("%s %s", l.Metric, l.Predicted)
	if l.Limit > 0 {
		s += " of " + l.Limit.String()
	}
	if l.Why != "" {
		s += ": " + l.Why
	}
	return s
}

// limitOf is what a result breaks; nil where it fits. Where the device's memory ends, what was held and asked for together did not fit.
func limitOf(r *Result, value int64) *Limit {
	rep := r.Report
	switch {
	case rep.OOM != nil:
		return &Limit{Value: value, Metric: report.Reserved, Predicted: rep.Peak.Reserved.Add(rep.OOM.Requested), Limit: rep.OOM.Limit, Why: "the device's memory ends"}
	case rep.Quality == report.Incomplete:
		return &Limit{Value: value, Metric: report.Reserved, Predicted: rep.Peak.Reserved, Why: report.Lacking(rep.Coverage.Unsupported), Unsure: true}
	case len(r.Verdict.Findings) == 0:
		return upperLimit(r, value)
	case r.Verdict.Outcome == verdict.Pass || r.Verdict.Outcome == verdict.Warn:
		return nil
	}
	f := r.worst()
	if f == nil {
		return nil
	}
	return &Limit{Value: value, Metric: f.Metric, Predicted: f.Predicted, Limit: f.Limit, Why: f.Why, Unsure: f.Outcome == verdict.Inconclusive}
}

// upperLimit is the device where a case without budgets may not fit it; nil where it fits.
func upperLimit(r *Result, value int64) *Limit {
	up := r.Report.Upper
	if up == nil || up.OOM == nil || r.Case.Judge == verdict.ByLikely {
		return nil
	}
	return &Limit{Value: value, Metric: report.Reserved, Predicted: r.Report.Peak.Reserved, Limit: up.OOM.Limit,
		Why: fmt.Sprintf("the device's memory may end: %s asked for at its most", up.OOM.Requested), Unsure: true}
}
