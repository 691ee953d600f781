package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/units"
)

// withOthers is a report of a run that takes 5 bytes of each kind, beside runs with less and with
// more.
func withOthers() *Report {
	r := &Report{Weights: 1, Delta: 5, Passes: []Pass{{}}, OtherValues: []OtherValues{
		{Values: "least", Weights: 1, Delta: 3, Allocated: 4, FirstCall: 2, Reserved: 10, Fits: true},
		{Values: "most", Weights: 1, Delta: 7, Allocated: 9, FirstCall: 8, Reserved: 30},
	}}
	r.Peak.Allocated, r.Peak.Reserved = 6, 20
	r.Passes[0].Peak.Allocated = 5
	return r
}

// TestEnds: the least and the most of all runs, of each metric; of a total with what lies outside
// of the allocator.
func TestEnds(t *testing.T) {
	total := units.Bytes(25)
	type ends struct {
		low, high units.Bytes
		known     bool
	}
	for _, c := range []struct {
		why  string
		edit func(*Report)
		m    Metric
		want ends
	}{
		{"weights", nil, Weights, ends{1, 1, true}},
		{"delta", nil, Delta, ends{3, 7, true}},
		{"allocated", nil, Allocated, ends{4, 9, true}},
		{"the first call", nil, FirstCall, ends{2, 8, true}},
		{"reserved", nil, Reserved, ends{10, 30, true}},
		{"the run's own is the least", func(r *Report) { r.Peak.Reserved = 1 }, Reserved, ends{1, 30, true}},
		{"the run's own is the most", func(r *Report) { r.Peak.Reserved = 40 }, Reserved, ends{10, 40, true}},
		{"no other values", func(r *Report) { r.OtherValues = nil }, Reserved, ends{20, 20, true}},
		{"not known", func(r *Report) { r.Unknown = []Metric{Allocated} }, Allocated, ends{4, 9, false}},
		{"pinned memory of the host", func(r *Report) { r.HostPinned = &total }, HostPinned, ends{}},
		{"a total without a context", nil, Total, ends{}},
		{"a total that is known", func(r *Report) { r.Peak.Total = &total }, Total, ends{15, 35, true}},
		{"a total that is not", func(r *Report) { r.Peak.Total, r.Unknown = &total, []Metric{Total} }, Total, ends{}},
		{"a total of a context within a range", func(r *Report) { r.Context, r.Outside = &Context{Low: 100, High: 200}, 3 },
			Total, ends{113, 233, true}},
	} {
		r := withOthers()
		if c.edit != nil {
			c.edit(r)
		}
		low, high, known := r.Ends(c.m)
		assert.Equal(t, c.want, ends{low, high, known}, c.why)
	}
}

// TestFitting: how many of all runs fit the device, the run's own among them, and what a report
// says of them.
func TestFitting(t *testing.T) {
	r := withOthers()
	fit, runs := r.Fitting()
	assert.Equal(t, []int{2, 3}, []int{fit, runs})
	assert.Equal(t, "between 4 B and 9 B allocated, 10 B and 30 B reserved; 1 of 3 runs do not fit", valuesText(r))
	r.OtherValues[1].Fits = true
	assert.Equal(t, "between 4 B and 9 B allocated, 10 B and 30 B reserved", valuesText(r))
	r.OOM = &OutOfMemory{}
	fit, runs = r.Fitting()
	assert.Equal(t, []int{2, 3}, []int{fit, runs})
	assert.False(t, r.Cut())
	r.OtherValues[0].Cut = true
	assert.True(t, r.Cut())
}

// TestWithValues: of a run that ended where memory ran out, it is known that it does not fit; of a
// recording that ends before its end, neither.
func TestWithValues(t *testing.T) {
	r := withOthers()
	assert.Equal(t, OtherValues{Values: "own", Weights: 1, Delta: 5, Allocated: 6, FirstCall: 5, Reserved: 20, Fits: true},
		r.WithValues("own"))
	r.Quality = Incomplete
	assert.True(t, r.WithValues("").Cut)
	r.OOM = &OutOfMemory{}
	assert.False(t, r.WithValues("").Cut)
	assert.False(t, r.WithValues("").Fits)
}
