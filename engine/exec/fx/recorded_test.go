package fx_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// exampleInputs are the inputs that a program was exported with.
func exampleInputs(t *testing.T, p *program.Program) []exec.Input {
	values := map[string]int64{}
	for _, s := range p.Symbols {
		values[s.Name] = s.Example
	}
	f := p.Entry
	leaves := make([]any, len(f.Params))
	for i := range f.Params {
		q := &f.Params[i]
		switch {
		case q.Meta != nil:
			m, err := q.Meta.Bind(values)
			require.NoError(t, err)
			m.Device = exec.Accelerator
			leaves[i] = m
		case q.Size != nil:
			n, err := q.Size.Eval(values)
			require.NoError(t, err)
			leaves[i] = n
		default:
			leaves[i] = q.Default
		}
	}
	if f.Inputs == nil {
		out := make([]exec.Input, len(leaves))
		for i := range leaves {
			out[i].Value = leaves[i]
		}
		return out
	}
	var out []exec.Input
	for _, in := range f.Inputs {
		var v any
		v, leaves = treeValue(in.Tree, leaves)
		out = append(out, exec.Input{Name: in.Name, Value: v})
	}
	return out
}

func treeValue(t *program.Tree, leaves []any) (any, []any) {
	if t.Kind == program.LeafTree {
		return leaves[0], leaves[1:]
	}
	var items []exec.Input
	for _, item := range t.Items {
		var v any
		v, leaves = treeValue(item, leaves)
		items = append(items, exec.Input{Value: v})
	}
	return items, leaves
}

// TestRecordedResults holds what the rules give against every result that the programs recorded when they were exported.
func TestRecordedResults(t *testing.T) {
	dir := os.Getenv("PT2")
	if dir == "" {
		t.Skip()
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.pt2"))
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".pt2"), func(t *testing.T) {
			a, err := artifact.Open(path)
			require.NoError(t, err)
			dev, err := device.Lookup("a100-sxm-80gb")
			require.NoError(t, err)
			pl, err := platform.New(dev, platform.Version{Major: 2, Minor: 15})
			require.NoError(t, err)
			all, bad := 0, map[string]int{}
			r, err := exec.Run(context.Background(), fx.Compare(a.Program, func(m fx.Mismatch) {
				all++
				if m.Got.DType != m.Recorded.DType || !slices.Equal(m.Got.Sizes, m.Recorded.Sizes) {
					bad[fmt.Sprintf("%s result %d: got %s%v, recorded %s%v", m.Node.Key, m.Result, m.Got.DType, m.Got.Sizes, m.Recorded.DType, m.Recorded.Sizes)]++
				} else if !slices.Equal(m.Got.Strides, m.Recorded.Strides) && m.Got.Numel() > 0 {
					bad[fmt.Sprintf("%s result %d of %v: got strides %v, recorded %v", m.Node.Key, m.Result, m.Got.Sizes, m.Got.Strides, m.Recorded.Strides)]++
				}
			}), builtin.Table(), exec.Options{Inputs: exampleInputs(t, a.Program), Platform: &pl})
			var lines []string
			for k, n := range bad {
				lines = append(lines, fmt.Sprintf("%4d× %s", n, k))
			}
			sort.Strings(lines)
			if r != nil {
				for _, u := range r.Trace.Coverage.Unsupported {
					lines = append(lines, fmt.Sprintf("unsupported %s ×%d: %v at %v", u.Op, u.Count, u.Reason, u.First))
				}
				for _, n := range r.Trace.Notes {
					lines = append(lines, "note "+string(n.ID)+" "+n.Subject)
				}
			}
			fmt.Printf("%s: %d recorded, %d events\n%s\n", t.Name(), all, len(r.Trace.Events), strings.Join(lines, "\n"))
			if err != nil {
				fmt.Println("ERR", err)
			}
		})
	}
}

var _ = tensor.Float32
