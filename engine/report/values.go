package report

import (
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/units"
)

// OtherValues is the same run with other values in the place of those that it read and no kernel
// computed.
type OtherValues struct {
	Values    string      `json:"values"` // least, most or skewed
	Weights   units.Bytes `json:"weights"`
	Delta     units.Bytes `json:"delta"`
	Allocated units.Bytes `json:"allocated"`
	FirstCall units.Bytes `json:"first_call"`
	Reserved  units.Bytes `json:"reserved"`
	Fits      bool        `json:"fits"`          // the device
	Cut       bool        `json:"cut,omitempty"` // the recording ends where memory ran out: the run takes at least this
}

// WithValues is what a report says of the run with other values.
func (r *Report) WithValues(values string) OtherValues {
	first, _ := r.Value(FirstCall)
	return OtherValues{Values: values, Weights: r.Weights, Delta: r.Delta, Allocated: r.Peak.Allocated,
		FirstCall: first, Reserved: r.Peak.Reserved, Fits: r.OOM == nil, Cut: r.OOM == nil && r.Quality == Incomplete}
}

func (o *OtherValues) value(m Metric) units.Bytes {
	switch m {
	case Weights:
		return o.Weights
	case Delta:
		return o.Delta
	case Allocated:
		return o.Allocated
	case FirstCall:
		return o.FirstCall
	}
	return o.Reserved
}

// Ends are the least and the most that a metric comes to, with the run's own values and with other
// ones. A total is that of the reserved memory, with the least and the most that the context and
// NCCL may take. It is false where the metric is not known.
func (r *Report) Ends(m Metric) (low, high units.Bytes, known bool) {
	if m == HostPinned {
		return 0, 0, false // the runs with other values do not record it
	}
	own := r.WithValues("")
	low, high = own.value(m), own.value(m)
	for i := range r.OtherValues {
		v := r.OtherValues[i].value(m)
		low, high = min(low, v), max(high, v)
	}
	if m != Total {
		_, known = r.Value(m)
		return low, high, known
	}
	switch {
	case slices.Contains(r.Unknown, Total):
		return 0, 0, false
	case r.Peak.Total != nil:
		beside := *r.Peak.Total - r.Peak.Reserved
		return low.Add(beside), high.Add(beside), true
	case r.Context != nil:
		least, most := r.ofDriver()
		return low.Add(least).Add(r.Outside), high.Add(most).Add(r.Outside), true
	}
	return 0, 0, false
}

// Fitting says of how many of the runs, with the run's own values and with other ones, the device's
// memory is enough, and how many there are.
func (r *Report) Fitting() (fit, runs int) {
	runs = 1 + len(r.OtherValues)
	if r.OOM == nil {
		fit++
	}
	for i := range r.OtherValues {
		if r.OtherValues[i].Fits {
			fit++
		}
	}
	return fit, runs
}

// Cut says whether one of the runs is known up to where memory ran out alone.
func (r *Report) Cut() bool {
	return slices.ContainsFunc(r.OtherValues, func(o OtherValues) bool { return o.Cut })
}

// valuesText says what the runs with other values take: "most 6.50 GiB allocated, 6.52 GiB
// reserved".
func valuesText(r *Report) string {
	low, high, _ := r.Ends(Allocated)
	least, most, _ := r.Ends(Reserved)
	text := fmt.Sprintf("between %s and %s allocated, %s and %s reserved", low, high, least, most)
	if fit, runs := r.Fitting(); fit < runs {
		text += fmt.Sprintf("; %d of %d runs do not fit", runs-fit, runs)
	}
	return text
}
