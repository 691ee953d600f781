package fx_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// find is the first node of an operator, in blocks too.
func find(b *program.Block, op string) *program.Node {
	for _, n := range b.Nodes {
		if n.Op == op {
			return n
		}
		for _, sub := range n.Blocks {
			if found := find(sub, op); found != nil {
				return found
			}
		}
	}
	return nil
}

// made is the node of a graph's body that makes a value.
func made(g *program.Graph, v *program.Value) *program.Node {
	for _, n := range g.Body.Nodes {
		if slices.Contains(n.Outs, v) {
			return n
		}
	}
	return nil
}

// before puts a node before another.
func before(g *program.Graph, at, n *program.Node) { insert(g, slices.Index(g.Body.Nodes, at), n) }

const (
	addBatchDim    = "python::torch._functorch.predispatch._add_batch_dim"
	removeBatchDim = "python::torch._functorch.predispatch._remove_batch_dim"
)

// TestVectorised: what vmap would lay out in another way than operators on the tensors as they are
// makes an account incomplete.
func TestVectorised(t *testing.T) {
	number := func(n int64) program.Arg { return program.Arg{Const: n} }
	for _, tt := range []struct {
		why, op string
		edit    func(g *program.Graph, n *program.Node)
		lacks   string // the operator that is not followed; none where the account is whole
	}{
		{"as exported", "aten::mul", func(*program.Graph, *program.Node) {}, ""},
		{"a sum over what is shown", "aten::mul", func(_ *program.Graph, n *program.Node) {
			n.Op, n.Meta.Key, n.Args = "aten::sum", "aten::sum", n.Args[:1]
		}, "aten::sum"},
		{"a tensor without a hidden dimension besides", "aten::mul", func(g *program.Graph, n *program.Node) {
			n.Args[0] = program.Arg{Value: g.Params[0]}
		}, "aten::mul.Tensor"},
		{"a tensor of another dtype, which vmap promotes as what is shown would be", "aten::mul",
			func(g *program.Graph, n *program.Node) {
				flags := &program.Value{ID: g.NumValues, Name: "flags", Type: n.Outs[0].Type}
				g.NumValues++
				args := []program.Arg{{Name: "self", Value: n.Args[0].Value}, {Name: "other", Value: n.Args[0].Value}}
				before(g, n,
					&program.Node{Operation: &program.Operation{Op: "aten::eq", Where: n.Where,
						Meta: &program.NodeMeta{Key: "aten::eq.Tensor"}}, Args: args, Outs: []*program.Value{flags}})
				n.Args[1].Value = flags
			}, "aten::mul.Tensor"},
		{"a tensor of more dimensions, which vmap lines up by what is shown", "aten::mul",
			func(g *program.Graph, n *program.Node) {
				hide := made(g, n.Args[1].Value)
				longer := &program.Value{ID: g.NumValues, Name: "longer", Type: n.Outs[0].Type}
				g.NumValues++
				args := []program.Arg{{Name: "self", Value: hide.Args[0].Value}, {Name: "dim", Const: int64(-1)}}
				before(g, hide, &program.Node{Operation: &program.Operation{Op: "aten::unsqueeze", Where: n.Where,
					Meta: &program.NodeMeta{Key: "aten::unsqueeze"}}, Args: args, Outs: []*program.Value{longer}})
				hide.Args[0].Value = longer
			}, "aten::mul.Tensor"},
		{"a vmap in another", addBatchDim, func(g *program.Graph, n *program.Node) {
			var second *program.Node
			for _, m := range g.Body.Nodes {
				if m.Op == addBatchDim && m != n && second == nil {
					second = m
				}
			}
			second.Args[0] = program.Arg{Value: n.Outs[0]}
		}, addBatchDim},
		{"another level is ended", removeBatchDim, func(_ *program.Graph, n *program.Node) {
			n.Args[1] = number(7)
		}, removeBatchDim},
	} {
		t.Run(tt.why, func(t *testing.T) {
			p := open(t, filepath.Join("..", "..", "..", "testdata", "artifacts", "exported", "vectorised.pt2"))
			g, err := p.Entry.Graph()
			require.NoError(t, err)
			n := find(g.Body, tt.op)
			require.NotNil(t, n)
			tt.edit(g, n)
			r, err := exec.Run(context.Background(), fx.New(p), builtin.Table(),
				exec.Options{Inputs: example(t, p), Platform: on(t, "t4"), DType: tensor.Undefined})
			require.NoError(t, err)
			first := ""
			if u := r.Trace.Coverage.Unsupported; len(u) > 0 {
				first = u[0].Op
			}
			assert.Equal(t, tt.lacks, first)
		})
	}
}

// TestMalformed: a graph that says what no exporter writes is an error of the model, at its node.
func TestMalformed(t *testing.T) {
	constant := func(v any) program.Arg { return program.Arg{Const: v} }
	for _, tt := range []struct {
		why, archive, op string
		edit             func(n *program.Node)
		want             string
	}{
		{"a graph is missing", "branch", "higher_order::cond", func(n *program.Node) {
			n.Blocks = n.Blocks[:1]
		}, "got 1 graphs, want 2"},
		{"a loop without its body", "loops", "higher_order::while_loop", func(n *program.Node) {
			n.Blocks = n.Blocks[:1]
		}, "got 1 graphs, want 2"},
		{"no predicate", "branch", "higher_order::cond", func(n *program.Node) { n.Args = nil }, "got no predicate"},
		{"a predicate that is no number", "branch", "higher_order::cond", func(n *program.Node) {
			n.Args[0] = constant("text")
		}, "want a bool"},
		{"operands are too few", "branch", "higher_order::cond", func(n *program.Node) {
			n.Args = n.Args[:1]
		}, "operands, want the"},
		{"a loop's operands are too few", "loops", "higher_order::while_loop", func(n *program.Node) {
			n.Args = nil
		}, "operands, want the"},
		{"a condition of two results", "loops", "higher_order::while_loop", func(n *program.Node) {
			n.Blocks[0].Outs = append(n.Blocks[0].Outs, n.Blocks[0].Outs...)
		}, "another form"},
		{"a condition that is no number", "loops", "higher_order::while_loop", func(n *program.Node) {
			n.Blocks[0].Outs = []program.Arg{constant("text")}
		}, "want a bool"},
		{"an operator within a loop's condition fails", "loops", "higher_order::while_loop", func(n *program.Node) {
			n.Blocks[0].Nodes[0].Args[0] = constant("text")
		}, "aten::lt.Scalar: got str as self"},
		{"a body of more results than there are operands", "loops", "higher_order::while_loop", func(n *program.Node) {
			for len(n.Blocks[1].Outs) < 20 {
				n.Blocks[1].Outs = append(n.Blocks[1].Outs, n.Blocks[1].Outs...)
			}
		}, "another form"},
		{"a scan of something else than tensors", "scanned", "higher_order::scan", func(n *program.Node) {
			n.Blocks[0].Outs[len(n.Blocks[0].Outs)-1] = constant(int64(1))
		}, "got int from its graph, want a tensor"},
		{"nothing to map", "mapped", "higher_order::map_impl", func(n *program.Node) { n.Args = nil }, "got no operands"},
		{"no tensors to map", "mapped", "higher_order::map_impl", func(n *program.Node) {
			n.Args[0] = constant(int64(1))
		}, "got no tensors to go over"},
		{"nothing to combine", "associated", "higher_order::associative_scan", func(n *program.Node) {
			n.Args = nil
		}, "got no tensors to go over"},
		{"a graph that combines fewer", "associated", "higher_order::associative_scan", func(n *program.Node) {
			n.Blocks[0].Params = n.Blocks[0].Params[:2]
		}, "want a graph of two of each"},
		{"no tensor to combine", "associated", "higher_order::associative_scan", func(n *program.Node) {
			n.Args[0].Items[0] = constant("text")
		}, "want a tensor with a dimension"},
		{"nothing to hide a dimension of", "vectorised", addBatchDim, func(n *program.Node) {
			n.Args = nil
		}, "want a tensor, a dimension and a level"},
		{"nothing to show a dimension of", "vectorised", removeBatchDim, func(n *program.Node) {
			n.Args = n.Args[:2]
		}, "a size and a dimension"},
		{"a wrapper of fewer arguments than its graph", "branch", "higher_order::wrap_with_autocast",
			func(n *program.Node) {
				n.Op, n.Args = "higher_order::wrap_with_set_grad_enabled", n.Args[5:]
			}, "higher_order::wrap_with_set_grad_enabled: got 1 arguments, want 2 for its graph"},
		{"an autocast region that does not say which", "branch", "higher_order::wrap_with_autocast",
			func(n *program.Node) {
				n.Args = n.Args[3:]
			}, "higher_order::wrap_with_autocast: got 3 arguments, want at least 4"},
		{"a wrapper with hints of too few operands", "branch", "higher_order::wrap_with_autocast", func(n *program.Node) {
			n.Op, n.Args = "higher_order::hints_wrapper", []program.Arg{{Items: n.Args[5:]}}
		}, "higher_order::hints_wrapper: got 1 operands, want the 2 of its graph"},
		{"a scan without lists", "scanned", "higher_order::scan", func(n *program.Node) {
			n.Args = []program.Arg{{Items: append(append(n.Args[0].Items, n.Args[1].Items...), n.Args[2].Items...)}}
		}, "higher_order::scan: got no lists of what is carried and gone over"},
		{"a scan over nothing", "scanned", "higher_order::scan", func(n *program.Node) {
			n.Args = []program.Arg{n.Args[0], {Items: []program.Arg{}}, {Items: append(n.Args[1].Items, n.Args[2].Items...)}}
		}, "higher_order::scan: got no tensors to go over"},
		{"a scan that carries more than its graph gives", "scanned", "higher_order::scan", func(n *program.Node) {
			n.Blocks[0].Outs = nil
		}, "higher_order::scan: got no tensors to go over"},
		{"a scan over a number", "scanned", "higher_order::scan", func(n *program.Node) {
			n.Args[1].Items[0] = constant(int64(1))
		}, "higher_order::scan: got something else than tensors with a dimension to go over"},
		{"a graph that combines gives a number", "associated", "higher_order::associative_scan", func(n *program.Node) {
			n.Blocks[0].Outs[1] = constant(int64(1))
		}, "got int"},
		{"an operator within an autocast region fails", "branch", "aten::matmul", func(n *program.Node) {
			n.Args[1] = constant("text")
		}, "want Tensor"},
		{"a number is computed of text", "branch", "aten::mul", func(n *program.Node) {
			n.Meta.Key, n.Args[0], n.Args[1] = "", constant("a"), constant(int64(1))
		}, "aten::mul: "},
		{"an operator within a mapped graph fails", "mapped", "aten::add", func(n *program.Node) {
			n.Args[0] = constant("text")
		}, "aten::add"},
		{"an operator within a branch fails", "branch", "higher_order::cond", func(n *program.Node) {
			for _, b := range n.Blocks {
				b.Nodes[0].Args[0] = constant("text")
			}
		}, "want Tensor"},
		{"more results are named than there are", "mapped", "aten::relu", func(n *program.Node) {
			n.Outs = append(n.Outs, n.Outs[0])
		}, "got 1 results, want 2"},
		{"an operator that must have its tensor has none", "mapped", "aten::relu", func(n *program.Node) {
			n.Args[0] = constant(nil)
		}, "want Tensor"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			p := open(t, filepath.Join("..", "..", "..", "testdata", "artifacts", "exported", tt.archive+".pt2"))
			inputs := example(t, p)
			g, err := p.Entry.Graph()
			require.NoError(t, err)
			n := find(g.Body, tt.op)
			require.NotNil(t, n, "%s has no %s", tt.archive, tt.op)
			tt.edit(n)
			for _, l := range []exec.Liveness{exec.LastUse, exec.PythonFrame} {
				_, err = exec.Run(context.Background(), fx.New(p), builtin.Table(),
					exec.Options{Inputs: inputs, Platform: on(t, "t4"), DType: tensor.Undefined, Liveness: l})
				require.ErrorContains(t, err, tt.want)
				var e *exec.EvalError
				require.True(t, errors.As(err, &e), "%T", err)
				assert.NotEmpty(t, e.Stack)
				assert.NotEmpty(t, e.Op)
			}
		})
	}
}

// TestNoGraph: a program that has none to run is an error.
func TestNoGraph(t *testing.T) {
	failing := errors.New("no graph")
	for _, tt := range []struct {
		why   string
		entry *program.Func
		want  string
	}{
		{"no entry", nil, "got a program without a graph, want one"},
		{"a graph that cannot be read", program.NewFunc(&program.Func{}, func(*program.Func) (*program.Graph, error) {
			return nil, failing
		}), "no graph"},
	} {
		_, err := exec.Run(context.Background(), fx.New(&program.Program{Entry: tt.entry}), builtin.Table(),
			exec.Options{Platform: on(t, "t4")})
		assert.ErrorContains(t, err, tt.want, tt.why)
	}
}
