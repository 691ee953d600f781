package fx_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/internal/expr"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// edits are changes of the small archives that their exporter could have written, of what no
// archive here has.
var edits = []struct {
	why, archive string
	more         int64
	edit         func(p *program.Program, g *program.Graph)
}{
	{"autocast on a GPU to bfloat16", "branch", 0, func(_ *program.Program, g *program.Graph) {
		autocast(g, "cuda", int64(tensor.BFloat16), true)
	}},
	{"autocast on a GPU to a dtype that is not stated: float16", "branch", 0, func(_ *program.Program, g *program.Graph) {
		autocast(g, "cuda", nil, true)
	}},
	{"autocast that is turned off", "branch", 0, func(_ *program.Program, g *program.Graph) {
		autocast(g, "cuda", int64(tensor.BFloat16), false)
	}},
	{"autocast on the host, of a program that was exported on a GPU", "branch", 0,
		func(p *program.Program, _ *program.Graph) {
			p.Entry.Params[0].Meta.Device = "cuda:0"
		}},
	{"a number to the power of a tensor", "nested", 0, func(_ *program.Program, g *program.Graph) {
		n := find(g.Body, "aten::mul")
		n.Op, n.Meta.Key = "aten::pow", "aten::pow.Tensor_Tensor"
		n.Args[0], n.Args[1] = program.Arg{Name: "self", Const: int64(2)},
			program.Arg{Name: "exponent", Value: n.Args[0].Value}
	}},
	{"two results of a tensor that is not known", "nested", 1, func(_ *program.Program, g *program.Graph) {
		n := find(g.Body, "aten::cat")
		n.Op, n.Meta.Key = "test::none", "test::none"
		n = find(g.Body, "aten::mul")
		n.Op, n.Meta.Key, n.Args[1] = "aten::max", "aten::max.dim", program.Arg{Name: "dim", Const: int64(0)}
		second := &program.Value{ID: g.NumValues, Name: "indices", Type: n.Outs[0].Type}
		g.NumValues++
		n.Outs, n.Meta.Recorded = append(n.Outs, second), append(n.Meta.Recorded, n.Meta.Recorded[0])
	}},
	{"the parts of a tensor that is not known", "nested", 1, func(_ *program.Program, g *program.Graph) {
		n := find(g.Body, "aten::cat")
		n.Op, n.Meta.Key = "test::none", "test::none"
		n = find(g.Body, "aten::mul")
		n.Op, n.Meta.Key, n.Args[1] = "aten::unbind", "aten::unbind.int", program.Arg{Name: "dim", Const: int64(0)}
		second := &program.Value{ID: g.NumValues, Name: "second", Type: n.Outs[0].Type}
		g.NumValues++
		n.Outs, n.Meta.Recorded = append(n.Outs, second), append(n.Meta.Recorded, n.Meta.Recorded[0])
	}},
	{"a tensor without memory takes none where the program runs", "mapped", 0, func(_ *program.Program, g *program.Graph) {
		made := &program.Value{ID: g.NumValues, Name: "made", Type: g.Params[0].Type}
		g.NumValues++
		args := []program.Arg{{Name: "self", Value: g.Params[0]}, {Name: "device", Const: program.Device("meta")}}
		insert(g, 0, &program.Node{Operation: &program.Operation{Op: "aten::zeros_like", Where: g.Body.Nodes[0].Where,
			Meta: &program.NodeMeta{Key: "aten::zeros_like"}}, Args: args, Outs: []*program.Value{made}})
	}},
	{"a scan over a tensor that ends with it", "scanned", 0, func(_ *program.Program, g *program.Graph) {
		over(g, "higher_order::scan", 1)
	}},
	{"a map over a tensor that ends with it", "mapped", 0, func(_ *program.Program, g *program.Graph) {
		over(g, "higher_order::map_impl", 0)
	}},
	{"two results of a map, put together in the order of its graph", "mapped", 0,
		func(_ *program.Program, g *program.Graph) {
			n := find(g.Body, "higher_order::map_impl")
			b := n.Blocks[0]
			short := &program.Value{ID: g.NumValues, Name: "short", Type: n.Outs[0].Type}
			second := &program.Value{ID: g.NumValues + 1, Name: "second", Type: n.Outs[0].Type}
			g.NumValues += 2
			sum := &program.Node{Operation: &program.Operation{Op: "aten::sum", Where: n.Where,
				Meta: &program.NodeMeta{Key: "aten::sum"}}, Args: []program.Arg{{Name: "self", Value: b.Outs[0].Value}},
				Outs: []*program.Value{short}}
			b.Nodes, b.Outs = append(slices.Clone(b.Nodes), sum), append(slices.Clone(b.Outs), program.Arg{Value: short})
			n.Outs = append(n.Outs, second)
		}},
	{"what a branch gives ends with its last user", "branch", 0, func(_ *program.Program, g *program.Graph) {
		consume(g)
	}},
	{"what a loop gives ends with its last user", "loops", 0, func(_ *program.Program, g *program.Graph) { consume(g) }},
	{"what a map gives ends with its last user", "mapped", 0, func(_ *program.Program, g *program.Graph) { consume(g) }},
	{"what a scan gives ends with its last user", "scanned", 0, func(_ *program.Program, g *program.Graph) { consume(g) }},
	{"what an associative scan gives ends with its last user", "associated", 0,
		func(_ *program.Program, g *program.Graph) { consume(g) }},
	{"what a map gives has no name", "mapped", 0, func(_ *program.Program, g *program.Graph) {
		forget(g, "higher_order::map_impl")
	}},
	{"what a scan gives has no name", "scanned", 0, func(_ *program.Program, g *program.Graph) {
		forget(g, "higher_order::scan")
	}},
	{"what an associative scan gives has no name", "associated", 0, func(_ *program.Program, g *program.Graph) {
		forget(g, "higher_order::associative_scan")
	}},
	{"an associative scan's graph takes a tensor beside those it combines", "associated", 0,
		func(_ *program.Program, g *program.Graph) {
			n := find(g.Body, "higher_order::associative_scan")
			n.Args = append(slices.Clone(n.Args), program.Arg{Items: []program.Arg{{Value: g.Params[0]}}})
			b := n.Blocks[0]
			more := &program.Value{ID: g.NumValues, Name: "more", Type: g.Params[0].Type}
			made := &program.Value{ID: g.NumValues + 1, Name: "made", Type: g.Params[0].Type}
			g.NumValues += 2
			relu := &program.Node{Operation: &program.Operation{Op: "aten::relu", Where: n.Where,
				Meta: &program.NodeMeta{Key: "aten::relu"}}, Args: []program.Arg{{Name: "self", Value: more}},
				Outs: []*program.Value{made}}
			b.Params, b.Nodes = append(slices.Clone(b.Params), more), append(slices.Clone(b.Nodes), relu)
		}},
	{"a scan's results do not fit what can be addressed", "scanned", 0, func(_ *program.Program, g *program.Graph) {
		n := find(g.Body, "higher_order::scan")
		b := n.Blocks[0]
		result := &b.Outs[len(b.Outs)-1]
		flags := &program.Value{ID: g.NumValues, Name: "flags", Type: n.Outs[0].Type}
		wide := &program.Value{ID: g.NumValues + 1, Name: "wide", Type: n.Outs[0].Type}
		g.NumValues += 2
		sum := &program.Node{Operation: &program.Operation{Op: "aten::any", Where: n.Where,
			Meta: &program.NodeMeta{Key: "aten::any"}}, Args: []program.Arg{{Name: "self", Value: result.Value}},
			Outs: []*program.Value{flags}}
		size := program.Arg{Name: "size", Items: []program.Arg{{Const: int64(1) << 60}}}
		expand := &program.Node{Operation: &program.Operation{Op: "aten::expand", Where: n.Where,
			Meta: &program.NodeMeta{Key: "aten::expand"}}, Args: []program.Arg{{Name: "self", Value: flags}, size},
			Outs: []*program.Value{wide}}
		b.Nodes = append(slices.Clone(b.Nodes), sum, expand)
		result.Value = wide
	}},
	{"a loop without rounds gives copies of tensors, and numbers as they are", "loops", 0,
		func(_ *program.Program, g *program.Graph) {
			n := find(g.Body, "higher_order::while_loop")
			n.Blocks[0].Outs[0] = program.Arg{Const: false}
		}},
	{"a loop that is given more than it carries", "loops", 0, func(_ *program.Program, g *program.Graph) {
		n := find(g.Body, "higher_order::while_loop")
		n.Args = append(slices.Clone(n.Args), program.Arg{Items: []program.Arg{{Value: g.Params[0]}}})
		for _, b := range n.Blocks {
			more := &program.Value{ID: g.NumValues, Name: "more", Type: g.Params[0].Type}
			g.NumValues++
			b.Params = append(slices.Clone(b.Params), more)
			made := &program.Value{ID: g.NumValues, Name: "made", Type: g.Params[0].Type}
			g.NumValues++
			relu := &program.Node{Operation: &program.Operation{Op: "aten::relu", Where: n.Where,
				Meta: &program.NodeMeta{Key: "aten::relu"}}, Args: []program.Arg{{Name: "self", Value: more}},
				Outs: []*program.Value{made}}
			b.Nodes = append(slices.Clone(b.Nodes), relu)
		}
	}},
	{"a wrapper with hints runs its graph on a tuple", "branch", 0, func(_ *program.Program, g *program.Graph) {
		n := find(g.Body, "higher_order::wrap_with_autocast")
		n.Op, n.Args = "higher_order::hints_wrapper", []program.Arg{{Items: n.Args[4:]}}
	}},
	{"a wrapper that sets gradients runs its graph on its last arguments", "branch", 0,
		func(_ *program.Program, g *program.Graph) {
			n := find(g.Body, "higher_order::wrap_with_autocast")
			n.Op, n.Args = "higher_order::wrap_with_set_grad_enabled", slices.Clone(n.Args[3:])
		}},
	{"a wrapper of nothing else runs its graph on all of its arguments", "branch", 0,
		func(_ *program.Program, g *program.Graph) {
			n := find(g.Body, "higher_order::wrap_with_autocast")
			n.Op, n.Args = "higher_order::wrap", slices.Clone(n.Args[4:])
		}},
	{"a branch whose way is known", "branch", 0, func(_ *program.Program, g *program.Graph) {
		find(g.Body, "higher_order::cond").Args[0] = program.Arg{Const: true}
	}},
	{"the other way", "branch", 0, func(_ *program.Program, g *program.Graph) {
		find(g.Body, "higher_order::cond").Args[0] = program.Arg{Const: false}
	}},
	{"a scan over two tensors", "scanned", 0, func(_ *program.Program, g *program.Graph) {
		n := find(g.Body, "higher_order::scan")
		n.Args[1].Items = append(slices.Clone(n.Args[1].Items), first(g, n, 3))
		b := n.Blocks[0]
		more := &program.Value{ID: g.NumValues, Name: "more", Type: g.Params[0].Type}
		g.NumValues++
		b.Params = slices.Insert(slices.Clone(b.Params), 2, more)
		find(b, "aten::relu").Args[0].Value = more
	}},
	{"an operator that runs a graph in a way that is not known", "branch", 1, func(_ *program.Program, g *program.Graph) {
		find(g.Body, "higher_order::wrap_with_autocast").Op = "higher_order::other"
	}},
	{"a function of vmap that is not known", "vectorised", 0, func(_ *program.Program, g *program.Graph) {
		find(g.Body, addBatchDim).Op = addBatchDim + "s"
	}},
	{"a loop without rounds that carries a number", "loops", 0, func(_ *program.Program, g *program.Graph) {
		n := find(g.Body, "higher_order::while_loop")
		n.Args[0].Items = append(slices.Clone(n.Args[0].Items), program.Arg{Const: int64(3)})
		for _, b := range n.Blocks {
			more := &program.Value{ID: g.NumValues, Name: "more", Type: &program.Type{Kind: program.IntType}}
			g.NumValues++
			b.Params = append(slices.Clone(b.Params), more)
		}
		body := n.Blocks[1]
		body.Outs = append(slices.Clone(body.Outs), program.Arg{Value: body.Params[2]})
		made := &program.Value{ID: g.NumValues, Name: "made", Type: &program.Type{Kind: program.IntType}}
		g.NumValues++
		n.Outs, n.Meta.Recorded = append(n.Outs, made), append(n.Meta.Recorded, nil)
		n.Blocks[0].Outs[0] = program.Arg{Const: false}
		find(g.Body, "aten::add").Args[1] = program.Arg{Name: "other", Value: made}
	}},
	{"a map over a tensor that is not known", "mapped", 0, func(_ *program.Program, g *program.Graph) {
		unknown(g, find(g.Body, "higher_order::map_impl"))
	}},
	{"a map over tensors of different lengths", "mapped", 0, func(_ *program.Program, g *program.Graph) {
		n := find(g.Body, "higher_order::map_impl")
		short := first(g, n, 1)
		n.Args[0].Items = append(slices.Clone(n.Args[0].Items), short)
		b := n.Blocks[0]
		b.Params = []*program.Value{b.Params[0], {ID: g.NumValues, Name: "part", Type: g.Params[0].Type}, b.Params[1]}
		g.NumValues++
	}},
	{"a scan over a tensor without elements", "scanned", 0, func(_ *program.Program, g *program.Graph) {
		n := find(g.Body, "higher_order::scan")
		n.Args[1].Items[0] = first(g, n, 0)
	}},
	{"an associative scan over two", "associated", -2, func(_ *program.Program, g *program.Graph) { alongFirst(g) }},
	{"an associative scan over four", "associated", 0, func(_ *program.Program, g *program.Graph) { alongFirst(g) }},
	{"an operator without a rule of which no result is recorded", "nested", 0,
		func(_ *program.Program, g *program.Graph) {
			n := find(g.Body, "aten::mul")
			n.Op, n.Meta.Key, n.Meta.Recorded = "test::none", "test::none", []*program.TensorMeta{nil}
		}},
	{"a recorded result that cannot be addressed", "nested", 0, func(_ *program.Program, g *program.Graph) {
		n := find(g.Body, "aten::mul")
		n.Op, n.Meta.Key = "test::none", "test::none"
		n.Meta.Recorded[0].Sizes[1] = expr.Const(1 << 62)
	}},
	{"a recorded result of a size that nothing gives", "nested", 0, func(_ *program.Program, g *program.Graph) {
		n := find(g.Body, "aten::mul")
		n.Op, n.Meta.Key = "test::none", "test::none"
		n.Meta.Recorded[0].Sizes[1], _ = expr.Parse("u9")
	}},
	{"a list for an argument that may be left out", "branch", 0, func(_ *program.Program, g *program.Graph) {
		cond := find(g.Body, "higher_order::cond")
		cond.Args[0] = program.Arg{Const: false}
		n := find(cond.Blocks[1], "aten::sum")
		n.Args[1] = program.Arg{Name: "dim", Items: []program.Arg{{Const: int64(1)}}}
	}},
	{"a constant that was copied from elsewhere lies on the device", "loops", 0,
		func(p *program.Program, _ *program.Graph) {
			p.States[0].OfCode = false
		}},
	{"an operator within a loop's body fails", "loops", 0, func(_ *program.Program, g *program.Graph) {
		find(g.Body, "higher_order::while_loop").Blocks[1].Nodes[0].Args[0] = program.Arg{Name: "self", Const: "text"}
	}},
	{"an error within two calls", "branch", 0, func(_ *program.Program, g *program.Graph) {
		n := find(g.Body, "aten::sum")
		n.Args[0] = program.Arg{Name: "self", Const: "text"}
		n.Where.Stack = &program.Stack{Frames: []*program.Frame{{File: "outer.py", Line: 7, Function: "outer"},
			{File: "inner.py", Line: 3, Function: "inner"}}}
	}},
	{"an argument that the operator has not", "branch", 0, func(_ *program.Program, g *program.Graph) {
		find(g.Body, "aten::sum").Args[0].Name = "other"
	}},
	{"an argument twice", "branch", 0, func(_ *program.Program, g *program.Graph) {
		n := find(g.Body, "aten::mul")
		n.Args[1].Name = "self"
	}},
	{"an argument is missing", "branch", 0, func(_ *program.Program, g *program.Graph) {
		n := find(g.Body, "aten::mul")
		n.Args = n.Args[:1]
	}},
}

// unknown makes an operator's first tensor one that is not known.
func unknown(g *program.Graph, n *program.Node) {
	made := &program.Value{ID: g.NumValues, Name: "made", Type: g.Params[0].Type}
	g.NumValues++
	before(g, n, &program.Node{Operation: &program.Operation{Op: "test::none", Where: n.Where,
		Meta: &program.NodeMeta{Key: "test::none", Recorded: []*program.TensorMeta{nil}}}, Outs: []*program.Value{made}})
	n.Args[0].Items[0] = program.Arg{Value: made}
}

// first is the beginning of the program's first input, made for a node.
func first(g *program.Graph, n *program.Node, rows int64) program.Arg {
	made := &program.Value{ID: g.NumValues, Name: "made", Type: g.Params[0].Type}
	g.NumValues++
	args := []program.Arg{{Name: "self", Value: g.Params[0]}, {Name: "end", Const: rows}}
	before(g, n, &program.Node{Operation: &program.Operation{Op: "aten::slice", Where: n.Where,
		Meta: &program.NodeMeta{Key: "aten::slice.Tensor"}}, Args: args, Outs: []*program.Value{made}})
	return program.Arg{Value: made}
}

// alongFirst makes an associative scan go along its inputs' first dimension, whose size is a
// symbol.
func alongFirst(g *program.Graph) {
	for _, n := range g.Body.Nodes {
		if n.Op == "aten::movedim" {
			n.Args[1].Const, n.Args[2].Const = int64(0), int64(0)
		}
	}
}

// autocast makes the region of the archive another.
func autocast(g *program.Graph, device string, dtype any, enabled bool) {
	n := find(g.Body, "higher_order::wrap_with_autocast")
	n.Args[0].Const, n.Args[1].Const, n.Args[2].Const = device, dtype, enabled
}

// over makes an operator go over a tensor that is made for it.
func over(g *program.Graph, op string, arg int) {
	n := find(g.Body, op)
	made := &program.Value{ID: g.NumValues, Name: "made", Type: g.Params[0].Type}
	g.NumValues++
	relu := &program.Node{Operation: &program.Operation{Op: "aten::relu", Where: n.Where,
		Meta: &program.NodeMeta{Key: "aten::relu"}}, Args: []program.Arg{{Name: "self", Value: g.Params[0]}},
		Outs: []*program.Value{made}}
	n.Args[arg].Items[0] = program.Arg{Value: made}
	insert(g, slices.Index(g.Body.Nodes, n), relu)
}

// consume makes the program return, in place of each tensor, what is made of it at the end.
func consume(g *program.Graph) {
	end := g.Body.Nodes[len(g.Body.Nodes)-1]
	var replace func(args []program.Arg)
	replace = func(args []program.Arg) {
		for i := range args {
			replace(args[i].Items)
			v := args[i].Value
			if v == nil {
				continue
			}
			made := &program.Value{ID: g.NumValues, Name: "made", Type: v.Type}
			g.NumValues++
			args[i].Value = made
			insert(g, len(g.Body.Nodes)-1, &program.Node{Operation: &program.Operation{Op: "aten::relu", Where: end.Where,
				Meta: &program.NodeMeta{Key: "aten::relu"}}, Args: []program.Arg{{Name: "self", Value: v}},
				Outs: []*program.Value{made}})
		}
	}
	replace(end.Args)
}

// forget makes the program return its first input, and nothing that an operator, its last, gives.
func forget(g *program.Graph, op string) {
	n := find(g.Body, op)
	n.Outs = nil
	end := g.Body.Nodes[len(g.Body.Nodes)-1]
	end.Args = []program.Arg{{Value: g.Params[0]}}
	g.Body.Nodes = append(slices.Clone(g.Body.Nodes[:slices.Index(g.Body.Nodes, n)+1]), end)
}

func insert(g *program.Graph, at int, n *program.Node) {
	g.Body.Nodes = slices.Insert(slices.Clone(g.Body.Nodes), at, n)
}

// TestEdited holds the first pass of each edited program, or its error with the calls that lead
// there: testdata/edited.txt.
func TestEdited(t *testing.T) {
	var b strings.Builder
	for _, tt := range edits {
		for _, l := range []exec.Liveness{exec.LastUse, exec.PythonFrame} {
			p := open(t, filepath.Join("..", "..", "..", "testdata", "artifacts", "exported", tt.archive+".pt2"))
			inputs := larger(t, p, tt.more)
			g, err := p.Entry.Graph()
			require.NoError(t, err)
			tt.edit(p, g)
			how := "export"
			if l == exec.PythonFrame {
				how = "eager"
			}
			fmt.Fprintf(&b, "## %s: %s\n", tt.why, how)
			r, err := exec.Run(context.Background(), fx.New(p), builtin.Table(),
				exec.Options{Inputs: inputs, Platform: on(t, "t4"), DType: tensor.Undefined, Liveness: l})
			if err != nil {
				fmt.Fprintln(&b, "error:", err)
				var e *exec.EvalError
				require.True(t, errors.As(err, &e), "%T", err)
				for _, s := range e.Stack {
					fmt.Fprintf(&b, "  %s %s:%d\n", s.Func, s.Record, s.Line)
				}
				continue
			}
			require.NoError(t, r.Trace.Validate())
			first, rest, _ := strings.Cut(r.Trace.String(), "\npass 2")
			b.WriteString(first + "\n")
			if at := strings.Index(rest, "\ncoverage"); at >= 0 {
				b.WriteString(rest[at+1:])
			}
		}
	}
	golden.File(t, filepath.Join("testdata", "edited.txt"), b.String())
}
