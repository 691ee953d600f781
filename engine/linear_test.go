//go:build unix

package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/spec"
)

// longProgram writes an exported program of n nodes as a folder: blocks of ten nodes, each a module
// with a separate line for each node, whose input is held to its end.
func longProgram(t testing.TB, n int) string {
	dir := filepath.Join(t.TempDir(), "long")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "models"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "archive_format"), []byte("pt2"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "archive_version"), []byte("0"), 0o644))
	var nodes, values strings.Builder
	value := func(name string) {
		if values.Len() > 0 {
			values.WriteByte(',')
		}
		fmt.Fprintf(&values,
			`%q:{"dtype":7,"sizes":[{"as_int":64},{"as_int":64}],"requires_grad":false,"device":{"type":"cpu","index":null},`+
				`"strides":[{"as_int":64},{"as_int":1}],"storage_offset":{"as_int":0},"layout":7}`, name)
	}
	tensor := func(param, name string) string {
		return fmt.Sprintf(`{"name":%q,"arg":{"as_tensor":{"name":%q}},"kind":1}`, param, name)
	}
	value("x")
	at, held := "x", "x"
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		op, in := "t.default", tensor("self", at)
		switch i % 10 {
		case 0:
			op = "relu.default"
		case 9: // the block's end
			op, in = "add.Tensor", tensor("self", at)+","+tensor("other", held)
		}
		if i > 0 {
			nodes.WriteByte(',')
		}
		fmt.Fprintf(&nodes, `{"target":"torch.ops.aten.%s","inputs":[%s],"outputs":[{"as_tensor":{"name":%q}}],`+
			`"metadata":{"stack_trace":"File \"m.py\", line %d, in forward\n    x = f(x)","nn_module_stack":"L__self__,,m.Model;L__self___b%d,b%d,m.Block"},"name":%q}`, op, in, name, i%10+1, i/10, i/10, name)
		value(name)
		if at = name; i%10 == 9 {
			held = name
		}
	}
	text := fmt.Sprintf(
		`{"graph_module":{"graph":{"inputs":[{"as_tensor":{"name":"x"}}],"outputs":[{"as_tensor":{"name":%q}}],"nodes":[%s],"tensor_values":{%s},`+
			`"sym_int_values":{},"sym_bool_values":{},"is_single_tensor_return":false,"custom_obj_values":{},"sym_float_values":{}},`+
			`"signature":{"input_specs":[{"user_input":{"arg":{"as_tensor":{"name":"x"}}}}],"output_specs":[{"user_output":{"arg":{"as_tensor":{"name":%q}}}}]},"module_call_graph":[],"metadata":{}},`+
			`"opset_version":{"aten":10},"range_constraints":{},"schema_version":{"major":8,"minor":20},"torch_version":"2.15.0"}`, at, &nodes, &values, at)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "models", "model.json"), []byte(text), 0o644))
	return dir
}

// TestCostIsLinear: eight times the nodes take no more than twenty times the processor time; a cost
// that grows with their square would take 64 times it.
func TestCostIsLinear(t *testing.T) {
	const few, many = 2000, 16000
	cost := map[int]time.Duration{}
	for _, runtime := range []spec.Runtime{spec.Export, spec.Eager} {
		cases := map[int]spec.Case{}
		for _, n := range []int{few, many} {
			cases[n] = testcase.On(t, "t4", longProgram(t, n), "x=float32[64,64]")
		}
		for range 3 { // one will do, unless another process took the processor meanwhile
			for _, n := range []int{few, many} {
				c := cases[n]
				c.Runtime = runtime
				begin := cpuTime()
				r, err := engine.Estimate(context.Background(), c)
				took := time.Duration(cpuTime() - begin)
				require.NoError(t, err)
				require.Empty(t, r.Coverage.Unsupported)
				if cost[n] == 0 || took < cost[n] {
					cost[n] = took
				}
			}
			if cost[many] < 20*cost[few] {
				break
			}
		}
		assert.Less(t, cost[many], 20*cost[few], "%s: %d nodes took %v, %d took %v", runtime, few, cost[few], many,
			cost[many])
		clear(cost)
	}
}

// BenchmarkNodes is a program of so many nodes from its file to the report: its cost is linear in
// them. GOMAXPROCS=1 go test ./engine -run '^$' -bench Nodes -benchmem
func BenchmarkNodes(b *testing.B) {
	for n := 1000; n <= 1_000_000; n *= 10 {
		for _, runtime := range []spec.Runtime{spec.Export, spec.Eager} {
			b.Run(fmt.Sprintf("%d/%s", n, runtime), func(b *testing.B) {
				c := testcase.On(b, "t4", longProgram(b, n), "x=float32[64,64]")
				c.Runtime = runtime
				b.ReportAllocs()
				meter := newCPUMeter()
				for b.Loop() {
					_, err := engine.Estimate(context.Background(), c)
					require.NoError(b, err)
					meter.iteration()
				}
				meter.report(b)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
			})
		}
	}
}
