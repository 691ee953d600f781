package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
)

func TestLinesThatAreNotShownAreSummed(t *testing.T) {
	lines := []*heldLine{
		{location: untraced, mem: 4 * units.MiB, blocks: []units.Bytes{units.MiB, 3 * units.MiB}},
		{location: "net.py:7", ops: []string{"a", "b", "c", "d", "e"}, mem: 3 * units.MiB,
			blocks: []units.Bytes{2 * units.MiB, units.MiB}},
		{location: "net.py:8", mem: units.MiB, blocks: []units.Bytes{units.MiB}},
		{location: "net.py:9", mem: 512, blocks: []units.Bytes{512}},
	}
	var b strings.Builder
	require.NoError(t, writeLines(&b, lines, 2))
	assert.Equal(t, `      Mem  Cumulative Mem   Median  Count  Location
  4.0 MiB         4.0 MiB                  untraced
  3.0 MiB         7.0 MiB  1.5 MiB      2  net.py:7 (a, b, c, 2 more)
  … 2 more, 1.0 MiB (-v)
`, b.String())
	b.Reset()
	require.NoError(t, writeLines(&b, lines, 0))
	assert.NotContains(t, b.String(), "-v")
	assert.Equal(t, 5, strings.Count(b.String(), "\n"))
}

func TestMedianOfBlocks(t *testing.T) {
	for _, c := range []struct {
		blocks []units.Bytes
		want   units.Bytes
	}{{[]units.Bytes{5}, 5}, {[]units.Bytes{9, 1, 2}, 2}, {[]units.Bytes{4, 1, 2, 100}, 3}} {
		l := heldLine{blocks: c.blocks}
		assert.Equal(t, c.want, l.median())
	}
}

// TestDecoderByLine explains a bfloat16 decoder of four billion parameters at 8,192 tokens by
// source line, from its exported program and from a recording of the live model on a pretend A100:
// the two agree in every line, to the byte.
func TestDecoderByLine(t *testing.T) {
	d, err := device.Lookup("a100-sxm-80gb")
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	table := func(file string, runtime spec.Runtime, inputs ...spec.Input) (string, *report.Report) {
		path := filepath.Join("..", "..", "examples", "llm", file)
		r, err := new(suite.Models).Run(context.Background(), spec.Case{Name: file, Artifact: path, Platform: p,
			Runtime: runtime, Inputs: inputs})
		require.NoError(t, err)
		var b strings.Builder
		for _, l := range heldByLine(r.Timeline) { // operators aside: a recording names the function where it saw none
			fmt.Fprintln(&b, int64(l.mem), l.median(), len(l.blocks), l.location)
		}
		return b.String(), r.Report
	}
	in, err := spec.ParseInput("input_ids=int64[1,8192]")
	require.NoError(t, err)
	exported, predicted := table("prefill.pt2", spec.Eager, in)
	recorded, was := table("prefill-8192.rec", spec.ByArtifact)
	assert.Equal(t, recorded, exported)
	assert.Equal(t, report.Exact, predicted.Quality)
	assert.Equal(t, was.Peak.Allocated, predicted.Peak.Allocated)
	assert.Equal(t, was.Peak.Reserved, predicted.Peak.Reserved)
	for _, want := range []string{ // parameters, keys and values of 36 layers, the rest
		" untraced\n",
		"603979776 16.0 MiB 36 transformers/cache_utils.py:136\n",
		"603979776 16.0 MiB 36 transformers/cache_utils.py:137\n",
		"318767104 152.0 MiB 2 transformers/models/qwen3/modeling_qwen3.py:81\n",
	} {
		assert.Contains(t, exported, want)
	}
}
