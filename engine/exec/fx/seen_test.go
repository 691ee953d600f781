package fx_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/internal/expr"
	"github.com/memspec/memspec/engine/internal/testing/conformance"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// TestWhatTheLiveModelDoesOtherwise: what was seen of the model when it was exported is a note
// where it is so: always, under autocast, or where a parameter is of another dtype than it was; a
// constant keeps its own.
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
		{"in half, of which nothing was seen", "tied", fx.Seen{Autocast: "a.py:2"}, tensor.Float16, false, tensor.Parameter,
			""},
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

// TestAttentionLaidOutOtherwise: where the live model may call contiguous(), an attention whose
// result lies otherwise here than it was recorded is a note; dimensions of one lie anyhow.
func TestAttentionLaidOutOtherwise(t *testing.T) {
	const subject = "aten::scaled_dot_product_attention lays its result out otherwise than where the program was " +
		"exported: the model's contiguous() may copy here"
	for _, tt := range []struct {
		why        string
		contiguous bool
		frees      exec.Liveness
		strides    string // as recorded, of sizes s77, s27 and 16; "" where nothing was
		want       string
	}{
		{"another operator", true, exec.PythonFrame, "16 16*s77 7", ""},
		{"as recorded", true, exec.PythonFrame, "16 16*s77 1", ""},
		{"the first dimension", true, exec.PythonFrame, "7 16*s77 1", subject},
		{"the last dimension", true, exec.PythonFrame, "16 16*s77 7", subject},
		{"of fewer dimensions", true, exec.PythonFrame, "16 16*s77", ""},
		{"of fewer dimensions, one of which differs", true, exec.PythonFrame, "16 7", subject},
		{"the model calls no contiguous()", false, exec.PythonFrame, "16 16 1", ""},
		{"the program itself runs", true, exec.LastUse, "16 16 1", ""},
		{"nothing was recorded", true, exec.PythonFrame, "", ""},
		{"by a size that is not known", true, exec.PythonFrame, "s9 16 1", ""},
	} {
		p := open(t, filepath.Join("..", "..", "..", "testdata", "artifacts", "exported", "tied.pt2"))
		g, err := p.Entry.Graph()
		require.NoError(t, err)
		n := find(g.Body, "aten::linear")
		of := n.Args[0].Value
		if tt.why != "another operator" {
			n.Op, n.Meta.Key, n.Args = "aten::scaled_dot_product_attention", "aten::scaled_dot_product_attention",
				[]program.Arg{{Name: "query", Value: of}, {Name: "key", Value: of}, {Name: "value", Value: of}}
		}
		recorded := *n.Meta.Recorded[0]
		recorded.Strides = nil
		for _, word := range strings.Fields(tt.strides) {
			s, err := expr.Parse(word)
			require.NoError(t, err)
			recorded.Strides = append(recorded.Strides, s)
		}
		recorded.Sizes = recorded.Sizes[:len(recorded.Strides)]
		if n.Meta.Recorded = []*program.TensorMeta{&recorded}; tt.strides == "" {
			n.Meta.Recorded[0] = nil
		}
		o := exec.Options{Inputs: example(t, p), Platform: on(t, "t4"), DType: tensor.Undefined, Liveness: tt.frees}
		r, err := exec.Run(context.Background(), fx.NewSeen(p, &fx.Seen{Contiguous: tt.contiguous}), builtin.Table(), o)
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

// TestSeenReleases: what Python was seen to release decides, unless the account holds all that
// Python might hold; releases of another program are refused.
func TestSeenReleases(t *testing.T) {
	p := open(t, filepath.Join("..", "..", "..", "testdata", "artifacts", "exported", "nested.pt2"))
	g, err := p.Entry.Graph()
	require.NoError(t, err)
	var seen fx.Seen
	for _, n := range g.Body.Nodes {
		for _, v := range n.Outs {
			seen.Releases = append(seen.Releases, lifetime.Release{Value: v.Name, After: v.Name})
		}
	}
	events := func(start exec.Start, hold bool) string {
		o := exec.Options{Inputs: example(t, p), Platform: on(t, "t4"), DType: tensor.Undefined, Liveness: exec.PythonFrame,
			HoldLocals: hold}
		r, err := exec.Run(context.Background(), start, builtin.Table(), o)
		require.NoError(t, err)
		return conformance.Events(r.Trace, 1)
	}
	assert.Equal(t, events(fx.New(p), true), events(fx.NewSeen(p, &seen), true), "what might be held ends later than "+
		"all that was seen")
	assert.NotEqual(t, events(fx.NewSeen(p, &seen), false), events(fx.NewSeen(p, &seen), true))
	seen.Releases = append(seen.Releases, lifetime.Release{Value: "nobody's", After: "nothing"})
	_, err = exec.Run(context.Background(), fx.NewSeen(p, &seen), builtin.Table(),
		exec.Options{Inputs: example(t, p), Platform: on(t, "t4"), DType: tensor.Undefined, Liveness: exec.PythonFrame})
	require.ErrorContains(t, err, "it was written for another one")
}

// TestWatch: after a run its live ranges are reported, and none before one.
func TestWatch(t *testing.T) {
	p := open(t, filepath.Join("..", "..", "..", "testdata", "artifacts", "exported", "nested.pt2"))
	g, err := p.Entry.Graph()
	require.NoError(t, err)
	start, ranges := fx.Watch(p, nil)
	assert.Nil(t, ranges())
	_, err = exec.Run(context.Background(), start, builtin.Table(),
		exec.Options{Inputs: example(t, p), Platform: on(t, "t4"), DType: tensor.Undefined})
	require.NoError(t, err)
	funcs := ranges()
	require.Len(t, funcs, 1)
	assert.Same(t, p.Entry, funcs[0].Func)
	assert.Equal(t, lifetime.Generated(g), funcs[0].Ranges, "a program that runs by itself frees where its generated "+
		"code does")
	require.NoError(t, lifetime.Check(&funcs[0]))
}
