package fx_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestWhatTheLiveModelDoesOtherwise: what was seen of the model when it was exported is a note where it is so: always, under autocast, or where a parameter
// is of another dtype than it was; a constant keeps its own.
func TestWhatTheLiveModelDoesOtherwise(t *testing.T) {
	autocast := *on(t, "t4")
	autocast.Autocast = "float16"
	all := fx.Seen{Differs: "a.py:1", Autocast: "a.py:2", Converted: "a.py:3"}
	later := fx.Seen{Autocast: "a.py:2", Converted: "a.py:3"}
	for _, tt := range []struct {
		why, archive string
		seen         fx.Seen
		to           tensor.DType
		under        bool
		class        tensor.Category // that all states are given
		want         string
	}{
		{"it does the same", "tied", fx.Seen{}, tensor.Float16, true, tensor.Parameter, ""},
		{"always", "tied", all, tensor.Float16, true, tensor.Parameter, "a.py:1"},
		{"under autocast", "tied", later, tensor.Float16, true, tensor.Parameter, "under autocast: a.py:2"},
		{"not under autocast", "tied", later, tensor.Undefined, false, tensor.Parameter, ""},
		{"in half", "tied", later, tensor.Float16, false, tensor.Parameter, "in float16: a.py:3"},
		{"in what it was", "tied", later, tensor.Float32, false, tensor.Parameter, ""},
		{"in half, of which nothing was seen", "tied", fx.Seen{Autocast: "a.py:2"}, tensor.Float16, false, tensor.Parameter, ""},
		{"in half, which buffers become as well", "tied", later, tensor.Float16, false, tensor.Buffer, "in float16: a.py:3"},
		{"in half, which constants do not become", "tied", later, tensor.Float16, false, tensor.Constant, ""},
		{"in half, which whole numbers do not become", "loops", later, tensor.Float16, false, tensor.Buffer, ""},
	} {
		p := open(t, filepath.Join("..", "..", "..", "testdata", "artifacts", "exported", tt.archive+".pt2"))
		require.NotEmpty(t, p.States, tt.why)
		o := exec.Options{Inputs: example(t, p), Platform: on(t, "t4"), DType: tt.to, Liveness: exec.PythonFrame}
		if tt.under {
			o.Platform = &autocast
		}
		for _, s := range p.States {
			s.Class = tt.class
		}
		r, err := exec.Run(context.Background(), fx.NewSeen(p, &tt.seen), builtin.Table(), o)
		require.NoError(t, err, tt.why)
		got := ""
		for _, n := range r.Trace.Notes {
			if n.ID == note.OperatorsDiffer {
				got = n.Subject
			}
		}
		assert.Equal(t, tt.want, got, tt.why)
	}
}
