package aotinductor_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	artifact "github.com/memspec/memspec/engine/artifact/aotinductor"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/aotinductor"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// TestPieces: what pieces of wrappers allocate and free, with what is assumed, or why they do not
// run: testdata/runs. A piece follows a line == REASON. A line ! assume PLACE N states what depends
// on tensor data, and ! lower takes it at the lower bound.
func TestPieces(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "runs", "*.txtar"), func(a *golden.Archive) {
		matrix := func(d tensor.DType, sizes ...int64) exec.Input {
			return exec.Input{Value: tensor.Meta{DType: d, Sizes: sizes, Strides: tensor.ContiguousStrides(sizes),
				Device: exec.Accelerator}}
		}
		inputs := []exec.Input{matrix(tensor.Float32, 6, 8)}
		decode := func(code string) (*program.Program, error) {
			text := string(a.Input("head.cpp")) + code + "}\n"
			return artifact.Decode(fstest.MapFS{"data/aotinductor/model/a.wrapper.cpp": {Data: []byte(text)}}, "")
		}
		d, err := device.Lookup("t4")
		require.NoError(a.T(), err)
		on, err := platform.New(d, platform.Version{Major: 2, Minor: 15})
		require.NoError(a.T(), err)
		var out strings.Builder
		for _, piece := range strings.Split("\n"+string(a.Input("code")), "\n== ")[1:] {
			why, code, _ := strings.Cut(piece, "\n")
			o := exec.Options{Inputs: inputs, Platform: &on, DType: tensor.Undefined}
			for strings.HasPrefix(code, "! ") {
				var option string
				option, code, _ = strings.Cut(code, "\n")
				switch words := strings.Fields(option); words[1] {
				case "lower":
					o.Lower = true
				case "assume":
					n, err := strconv.ParseInt(words[3], 10, 64)
					require.NoError(a.T(), err, why)
					o.Assume = map[string]int64{words[2]: n}
				}
			}
			fmt.Fprintf(&out, "== %s\n", why)
			p, err := decode(strings.TrimRight(code, "\n") + "\n")
			require.NoError(a.T(), err, why)
			r, err := exec.Run(context.Background(), aotinductor.New(p), builtin.Table(), o)
			if err != nil {
				fmt.Fprintln(&out, err)
				continue
			}
			require.NoError(a.T(), r.Trace.Validate(), why)
			var lines []string
			if n := r.Trace.Outside; n > 0 {
				lines = append(lines, fmt.Sprintf("outside of the allocator %d\n", n))
			}
			for line := range strings.Lines(r.Trace.String()) {
				if line != "origin exec\n" && line != "passes first steady\n" && !strings.Contains(line, " input ") {
					lines = append(lines, line)
				}
			}
			if n := len(lines); n > 100 { // of a loop that is given up
				lines = slices.Concat(lines[:8], []string{fmt.Sprintf("%d more\n", n-18)}, lines[n-10:])
			}
			out.WriteString(strings.Join(lines, ""))
		}
		a.Want("run", []byte(out.String()))
	})
}
