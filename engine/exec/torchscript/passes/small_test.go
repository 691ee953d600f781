package passes_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/internal/testing/conformance"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// TestSmall prints what the passes make of the small archives: the graph that PyTorch's executor
// runs. TestRecordings holds what it allocates to PyTorch.
func TestSmall(t *testing.T) {
	const testdata = "../../../../testdata"
	d, err := device.Lookup("none")
	require.NoError(t, err)
	none, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	out := &graphs{}
	for _, r := range conformance.Read(t, filepath.Join(testdata, "conformance/2.15-fake-cuda")) {
		s := r.Stream("script.torchscript")
		if s == nil || !strings.Contains(s.Artifact, "/small/") {
			continue
		}
		a, err := artifact.Open(filepath.Join(testdata, s.Artifact))
		require.NoError(t, err)
		start, functions := torchscript.Watch(a.Program)
		_, err = exec.Run(context.Background(), start, builtin.Table(), exec.Options{Inputs: r.ExecInputs(t),
			Platform: &none, DType: tensor.Undefined, Passes: []trace.Pass{{}}})
		require.NoError(t, err, r.Model)
		for _, f := range functions() {
			fmt.Fprintf(out, "## %s\n", r.Model)
			out.block(f.Graph.Body, "")
		}
	}
	golden.File(t, "testdata/small.txt", out.String())
}

// graphs are graphs as text, one node a line; values are numbers.
type graphs struct{ strings.Builder }

func (g *graphs) block(b *program.Block, indent string) {
	for _, n := range b.Nodes {
		op := strings.TrimPrefix(n.Op, "aten::")
		if n.Text != "" {
			op += "[" + n.Text + "]"
		}
		fmt.Fprintf(g, "%s%s%s(%s)\n", indent, values(n.Outs, " = "), op, args(n.Args))
		for _, sub := range n.Blocks {
			fmt.Fprintf(g, "%s  %s{\n", indent, values(sub.Params, " "))
			g.block(sub, indent+"    ")
			fmt.Fprintf(g, "%s  } %s\n", indent, args(sub.Outs))
		}
	}
}

func values(vs []*program.Value, end string) (out string) {
	for i, v := range vs {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%%%d", v.ID)
	}
	if out != "" {
		out += end
	}
	return out
}

func args(as []program.Arg) string {
	out := make([]string, len(as))
	for i, a := range as {
		if out[i] = constant(a.Const); a.Value != nil {
			out[i] = fmt.Sprintf("%%%d", a.Value.ID)
		}
		if a.Name != "" {
			out[i] = a.Name + "=" + out[i]
		}
	}
	return strings.Join(out, ", ")
}

func constant(v any) string {
	switch v := v.(type) {
	case *tensor.Tensor:
		return fmt.Sprintf("%v%v", v.DType, v.Sizes)
	case *program.State:
		return v.Name
	case *torchscript.Object:
		return "@" + v.FQN
	case *program.ListLit:
		return constants(v.Items)
	case *ops.List:
		return constants(v.Items)
	case *ops.Tuple:
		return constants(v.Items)
	case nil, bool, int64, float64, string:
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%T", v)
}

func constants(vs []any) string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i] = constant(v)
	}
	return "[" + strings.Join(out, " ") + "]"
}
