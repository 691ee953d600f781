package recording_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/recording"
)

// Runs with other values that cannot be are refused, with what is wrong.
func TestRunsWithOtherValuesAreChecked(t *testing.T) {
	whole := record(t, "small")
	whole.Where = recording.OnPretend
	require.NoError(t, whole.Check())
	events := len(whole.Events)
	type run = recording.ValueRun
	own := run{Values: "least", Shared: events, Passes: whole.Passes}
	for _, tt := range []struct {
		why  string
		runs []run
		want string // "" for none
	}{
		{"all events of the recording", []run{own}, ""},
		{"the recording's own", []run{{Values: "least", As: "balanced"}}, ""},
		{"those of a run before it", []run{own, {Values: "most", As: "least"}}, ""},
		{"none, as it failed", []run{{Values: "least", Failed: "killed"}}, ""},
		{"no runs", nil, "got 0 runs, want 1 to 3"},
		{"more runs than words", []run{own, own, own, own}, "got 4 runs, want 1 to 3"},
		{"another word", []run{{Values: "all", As: "balanced"}}, `run 0: got values "all", want one of [least most skewed]`},
		{"a word twice", []run{own, own}, `run 1: got values "least" twice`},
		{"those of a run that has none", []run{{Values: "least", As: "balanced"}, {Values: "most", As: "least"}},
			`run 1: got the events of "least", want one of [balanced]`},
		{"those of a run behind it", []run{{Values: "most", As: "least"}, own},
			`run 0: got the events of "least", want one of [balanced]`},
		{"failed with the events of another", []run{{Values: "least", As: "balanced", Failed: "killed"}},
			"run 0: got a run that failed with events of another, want one of both"},
		{"more than the recording has", []run{{Values: "least", Shared: events + 1, Passes: whole.Passes}},
			"run 0: got 9 events shared of 8"},
		{"fewer than none", []run{{Values: "least", Shared: -1, Passes: whole.Passes}}, "run 0: got -1 events shared of 8"},
		{"events that do not follow", []run{{Values: "least", Shared: events, Count: 1, Passes: whole.Passes}},
			"run 0: got 0 events, want 1"},
		{"shared ones of a run that failed", []run{{Values: "least", Failed: "killed", Shared: 1}},
			"run 0: got events of a run that has none"},
		{"own ones of a run that failed", []run{{Values: "least", Failed: "killed", Count: 1, Events: whole.Events[:1]}},
			"run 0: got events of a run that has none"},
		{"phases of a run that failed", []run{{Values: "least", Failed: "killed", Passes: whole.Passes}},
			"run 0: got events of a run that has none"},
		{"a size of a run with another's events", []run{{Values: "least", As: "balanced", OOM: &recording.OutOfMemory{}}},
			"run 0: got events of a run that has none"},
		{"no phases", []run{{Values: "least", Shared: events}}, "run 0: got 0 phases, want 1 to 1000"},
	} {
		r := *whole
		r.Values = &recording.Values{Runs: tt.runs}
		err := r.Check()
		if tt.want == "" {
			assert.NoError(t, err, tt.why)
			continue
		}
		assert.ErrorContains(t, err, tt.want, tt.why)
	}
	elsewhere := *record(t, "small")
	elsewhere.Values = &recording.Values{Runs: []run{own}}
	assert.ErrorContains(t, elsewhere.Check(), "got them of a run on cuda, want one on a pretend GPU")
	whole.Values = &recording.Values{Runs: []run{own}, Lines: []recording.ValueLine{{File: "a.py"},
		{File: "a.py", Line: -1}}}
	assert.ErrorContains(t, whole.Check(), "line 1: got line -1")
}

// What is written of runs with other values is read again: the events of each begin from its last
// shared one.
func TestRunsWithOtherValuesAreKept(t *testing.T) {
	r := record(t, "small")
	r.Where = recording.OnPretend
	of := func(values string, shared int) recording.ValueRun {
		return recording.ValueRun{Values: values, Shared: shared, Count: len(r.Events) - shared, Events: r.Events[shared:],
			Passes: r.Passes}
	}
	r.Values = &recording.Values{Lines: []recording.ValueLine{}, Runs: []recording.ValueRun{of("most", 6), of("least", 0),
		{Values: "skewed", As: "least"}}}
	require.NoError(t, r.Check())
	again, err := recording.Decode(bytes.NewReader(encoded(t, r)))
	require.NoError(t, err)
	assert.Equal(t, r.Values, again.Values)
	assert.Equal(t, r.Events, again.Events)
	assert.Equal(t, r.Events, again.With(0).Events)
	require.Error(t, r.Encode(failing{}))
}

// failing takes nothing.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

// A run with other events differs; what failed is the first that did.
func TestRunsWithOtherValues(t *testing.T) {
	same := recording.ValueRun{Values: "least", As: "balanced"}
	failed := recording.ValueRun{Values: "most", Failed: "killed"}
	v := recording.Values{Runs: []recording.ValueRun{same, failed, {Values: "skewed", Failed: "later"}}}
	assert.False(t, v.Differs())
	assert.Equal(t, "killed", v.Failed().Failed)
	v.Runs = []recording.ValueRun{same, {Values: "most"}}
	assert.True(t, v.Differs())
	assert.Nil(t, v.Failed())
}
