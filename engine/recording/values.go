package recording

import (
	"errors"
	"fmt"
	"slices"
)

// Values is what the same run takes with other values in the place of those that it read and no
// kernel computed.
type Values struct {
	// Lines are those that read values before the first event that differs: all or some of them
	// decide. None where all runs take the same.
	Lines []ValueLine `json:"lines"`
	Runs  []ValueRun  `json:"runs"` // in the order in which they ran
}

// ValueLine is a line of the program that read a value.
type ValueLine struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function,omitempty"`
	Open     string `json:"open,omitempty"` // why the runs have no upper end of what the line reads
}

// ValueRun is the run with other values. It has the events of another run, or failed, or has its
// own events.
type ValueRun struct {
	Values string       `json:"values"`           // least, most or skewed
	As     string       `json:"as,omitempty"`     // the run whose events it has: balanced for the recording's own
	Failed string       `json:"failed,omitempty"` // why it did not come to its end
	Passes []Pass       `json:"phases,omitempty"`
	OOM    *OutOfMemory `json:"oom,omitempty"`
	Shared int          `json:"shared,omitempty"` // how many of the recording's own events it begins with
	Count  int          `json:"events,omitempty"` // how many follow them

	Events []Event `json:"-"` // those that follow
}

// Balanced is the word for the values of the recording's own events.
const Balanced = "balanced"

// valueWords are the words for the values of the other runs.
var valueWords = []string{"least", "most", "skewed"}

// Own says whether the run has events that no other run has.
func (v *ValueRun) Own() bool { return v.As == "" && v.Failed == "" }

// Differs says whether a run takes otherwise than the recording.
func (v *Values) Differs() bool {
	return slices.ContainsFunc(v.Runs, func(r ValueRun) bool { return r.Own() })
}

// Failed is the first run that did not come to its end; nil where all did.
func (v *Values) Failed() *ValueRun {
	for i := range v.Runs {
		if v.Runs[i].Failed != "" {
			return &v.Runs[i]
		}
	}
	return nil
}

// With is the recording as the i-th of the runs with other values has it.
func (r *Recording) With(i int) *Recording {
	v := &r.Values.Runs[i]
	out := *r
	out.Passes, out.OOM, out.Values = v.Passes, v.OOM, nil
	out.Events = slices.Concat(r.Events[:v.Shared], v.Events)
	return &out
}

// check says what the runs with other values may not say: the first of it.
func (v *Values) check(r *Recording) error {
	if r.Where != OnPretend {
		return fmt.Errorf("got them of a run on %s, want one on a pretend GPU", r.Where)
	}
	if len(v.Runs) == 0 || len(v.Runs) > len(valueWords) {
		return fmt.Errorf("got %d runs, want 1 to %d", len(v.Runs), len(valueWords))
	}
	for i, l := range v.Lines {
		if l.Line < 0 {
			return fmt.Errorf("line %d: got line %d", i, l.Line)
		}
	}
	own := []string{Balanced}
	for i := range v.Runs {
		run := &v.Runs[i]
		if err := run.check(r, own); err != nil {
			return fmt.Errorf("run %d: %w", i, err)
		}
		if slices.ContainsFunc(v.Runs[:i], func(before ValueRun) bool { return before.Values == run.Values }) {
			return fmt.Errorf("run %d: got values %q twice", i, run.Values)
		}
		if !run.Own() {
			continue
		}
		own = append(own, run.Values)
		if err := r.With(i).Check(); err != nil {
			return fmt.Errorf("run %d: %w", i, err)
		}
	}
	return nil
}

// check says what a run may not say by itself. own are the runs before it with events that no other
// has.
func (v *ValueRun) check(r *Recording, own []string) error {
	switch {
	case !slices.Contains(valueWords, v.Values):
		return fmt.Errorf("got values %q, want one of %v", v.Values, valueWords)
	case v.As != "" && v.Failed != "":
		return errors.New("got a run that failed with events of another, want one of both")
	case v.As != "" && !slices.Contains(own, v.As):
		return fmt.Errorf("got the events of %q, want one of %v", v.As, own)
	case v.Shared < 0 || v.Shared > len(r.Events):
		return fmt.Errorf("got %d events shared of %d", v.Shared, len(r.Events))
	case v.Count != len(v.Events):
		return fmt.Errorf("got %d events, want %d", len(v.Events), v.Count)
	case !v.Own() && (v.Shared > 0 || v.Count > 0 || len(v.Passes) > 0 || v.OOM != nil):
		return errors.New("got events of a run that has none")
	}
	return nil
}

// readValues reads the events of the runs with other values, which follow the recording's own.
func (j *recReader) readValues() error {
	v := j.r.Values
	if v == nil {
		return nil
	}
	if len(v.Runs) > len(valueWords) {
		return fmt.Errorf("values: got %d runs, want at most %d", len(v.Runs), len(valueWords))
	}
	own := j.r.Events
	left := j.most.events - len(own)
	defer func() { j.r.Events = own }()
	for i := range v.Runs {
		run := &v.Runs[i]
		if run.Shared < 0 || run.Shared > len(own) || run.Count < 0 || run.Count > left {
			return fmt.Errorf("values: run %d: got %d events shared of %d, and %d more", i, run.Shared, len(own), run.Count)
		}
		left -= run.Count
		j.key, j.r.Events = 0, nil
		if run.Shared > 0 {
			j.key = own[run.Shared-1].Key
		}
		if err := j.part("event", run.Count, j.event); err != nil {
			return fmt.Errorf("values: run %d: %w", i, err)
		}
		run.Events = j.r.Events
	}
	return nil
}
