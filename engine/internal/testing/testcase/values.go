package testcase

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/memspec/memspec/engine/note"
	file "github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Reading is Trained, which read a value at a line; with what runs with other values came to.
func Reading(v file.Values) *file.Recording {
	rec := Trained()
	rec.Notes = []file.Note{{ID: string(note.ValueRead), Text: "aten::item read 1 value that no kernel computed",
		File: "zoo.py", Line: 12}}
	rec.Values = &v
	if len(v.Lines) == 0 && !v.Differs() && v.Failed() == nil {
		rec.Notes[0].ID = string(note.ValueCompared)
	}
	return rec
}

// WithValues makes a case of a recording that read a value.
func WithValues(t *testing.T, v file.Values) func(*spec.Case) {
	return func(c *spec.Case) {
		c.Artifact = filepath.Join(t.TempDir(), "a.rec")
		Keep(t, Reading(v), c.Artifact)
	}
}

// More is a run that allocates and frees so much beside, at its end.
func More(values string, size units.Bytes) file.Values {
	rec := Trained()
	n := len(rec.Events)
	passes := slices.Clone(rec.Passes)
	rows := []file.Event{{Action: trace.Alloc, Key: 1 << 50, Size: size},
		{Action: trace.FreeRequested, Key: 1 << 50, Size: size},
		{Action: trace.FreeCompleted, Key: 1 << 50, Size: size}}
	passes[len(passes)-1].Events += len(rows)
	return file.Values{Lines: []file.ValueLine{{File: "zoo.py", Line: 12, Function: "route"}},
		Runs: []file.ValueRun{{Values: values, Passes: passes, Shared: n, Count: len(rows), Events: rows}}}
}

// Less is a run that takes nothing after its baseline.
func Less() file.Values {
	rec := Trained()
	passes := slices.Clone(rec.Passes)
	for i := range passes {
		passes[i].Phases, passes[i].Events = nil, rec.Passes[0].Events
	}
	return file.Values{Lines: []file.ValueLine{{File: "zoo.py", Line: 12}},
		Runs: []file.ValueRun{{Values: "least", Passes: passes, Shared: rec.Passes[0].Events}}}
}
