package stacks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
)

// traced reads a traced program as text: a section a module, "" for the root, named by its path. A
// node is a line
//
//	x1 = aten::relu(x0) | net.py:7 forward, net.py:3 helper
//	y, z = self.layers.0(x1) | net.py:8 forward
//	_0 = [y, z] | net.py:9 forward
//	return _0
//
// with its frames within the module's forward behind the bar, outermost first. Names without a
// letter are the printer's, and not written where they are returned. The first parameter of each
// module is self, the others are p, q, r; numbers are arguments as they stand.
func traced(t *testing.T, sections map[string]string) *Program {
	t.Helper()
	b := &builder{t: t, sections: sections, frames: map[string]*program.Frame{}}
	root := b.module("", nil)
	return New(&program.Program{Records: program.RecordsStacks, Entry: root.Class.Method("forward"),
		Objects: program.Objects{Root: root, Classes: b.classes}})
}

type builder struct {
	t        *testing.T
	sections map[string]string
	frames   map[string]*program.Frame
	classes  []*program.Class
}

// module is the object at path, called from frames of its caller.
func (b *builder) module(path string, caller []*program.Frame) *program.Object {
	class := &program.Class{Name: "M." + path, Kind: program.ModuleClass}
	o := &program.Object{Class: class, FQN: path}
	text, ok := b.sections[path]
	if !ok { // a list of modules, or one that nothing of the program runs
		return o
	}
	f := &program.Func{Name: "M." + path + ".forward", Method: "forward", Class: class, Record: "code/" + path + ".py",
		Line: 1}
	g := b.graph(text, path, o, caller)
	for _, v := range g.Params {
		f.Params = append(f.Params, program.Param{Name: v.Name})
	}
	class.Methods = []*program.Func{program.NewFunc(f, func(*program.Func) (*program.Graph, error) { return g, nil })}
	b.classes = append(b.classes, class)
	return o
}

// body is a graph in the making.
type body struct {
	*builder
	g      *program.Graph
	values map[string]*program.Value
	path   string
	self   *program.Object
}

func (b *builder) graph(text, path string, self *program.Object, caller []*program.Frame) *program.Graph {
	d := &body{builder: b, g: &program.Graph{Body: &program.Block{}}, values: map[string]*program.Value{}, path: path,
		self: self}
	for _, name := range []string{"self", "p", "q", "r"} {
		d.g.Params = append(d.g.Params, d.value(name))
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			d.line(line, caller)
		}
	}
	return d.g
}

func (d *body) value(name string) *program.Value {
	v := &program.Value{ID: d.g.NumValues, Name: name}
	d.g.NumValues++
	d.values[name] = v
	return v
}

func (d *body) args(text string) (out []program.Arg) {
	for _, a := range strings.Split(text, ",") {
		a = strings.TrimSpace(a)
		if n, err := strconv.ParseInt(a, 10, 64); err == nil {
			out = append(out, program.Arg{Const: n})
		} else if a != "" {
			require.Contains(d.t, d.values, a)
			out = append(out, program.Arg{Value: d.values[a]})
		}
	}
	return out
}

func (d *body) line(line string, caller []*program.Frame) {
	if name, ok := strings.CutPrefix(line, "return "); ok {
		if n := d.g.Body.Nodes[len(d.g.Body.Nodes)-1]; strings.HasPrefix(name, "_") {
			// printed inside the return, without its name
			n.Flags |= program.InReturn
		}
		d.g.Body.Nodes = append(d.g.Body.Nodes, &program.Node{Operation: &program.Operation{Op: "prim::Return"},
			Args: d.args(name)})
		return
	}
	line, stack, _ := strings.Cut(line, " | ")
	outs, right, ok := strings.Cut(line, " = ")
	require.True(d.t, ok, line)
	var frames []*program.Frame
	for _, f := range strings.Split(stack, ", ") {
		if f != "" {
			frames = append(frames, d.frame(f))
		}
	}
	n :=
		&program.Node{Operation: &program.Operation{Where: program.Where{Stack: &program.Stack{Frames: stackOf(frames,
			caller)}}}}
	head, args, _ := strings.Cut(strings.TrimSuffix(right, ")"), "(")
	switch {
	case strings.HasPrefix(right, "["):
		n.Op, n.Args = "prim::ListConstruct", d.args(strings.Trim(right, "[]"))
	case strings.HasPrefix(head, "self."):
		at := d.values["self"]
		o := d.self
		path := d.path
		for _, name := range strings.Split(strings.TrimPrefix(head, "self."), ".") {
			path = strings.TrimPrefix(path+"."+name, ".")
			at, o = d.attribute(at, o, name, path, frames)
		}
		n.Op, n.Text, n.Args = "prim::CallMethod", "forward", append([]program.Arg{{Value: at}}, d.args(args)...)
		n.Where = program.Where{}
	default:
		n.Op, n.Args = head, d.args(args)
	}
	for _, name := range strings.Split(outs, ", ") {
		n.Outs = append(n.Outs, d.value(name))
	}
	d.g.Body.Nodes = append(d.g.Body.Nodes, n)
}

// attribute reads an attribute of a module, which it makes where it is new.
func (d *body) attribute(of *program.Value, o *program.Object, name, path string, caller []*program.Frame) (
	*program.Value, *program.Object) {
	i, ok := o.Class.AttrIndex(name)
	if !ok {
		i = len(o.Attrs)
		o.Class.Attrs = append(o.Class.Attrs, program.Attr{Name: name})
		o.Attrs = append(o.Attrs, nil)
		o.Attrs[i] = d.module(path, caller)
	}
	v := d.value("%" + path)
	d.g.Body.Nodes = append(d.g.Body.Nodes, &program.Node{Operation: &program.Operation{Op: "prim::GetAttr", Text: name},
		Args: []program.Arg{{Value: of}}, Outs: []*program.Value{v}})
	return v, o.Attrs[i].(*program.Object)
}

// frame is FILE:LINE FUNCTION.
func (b *builder) frame(text string) *program.Frame {
	if f := b.frames[text]; f != nil {
		return f
	}
	place, function, ok := strings.Cut(text, " ")
	require.True(b.t, ok, text)
	file, line, _ := strings.Cut(place, ":")
	n, err := strconv.Atoi(line)
	require.NoError(b.t, err)
	b.frames[text] = &program.Frame{File: file, Line: n, Function: function}
	return b.frames[text]
}

// stackOf is a stack as the archive has it: innermost first, a line of module.py behind each
// module's.
func stackOf(frames, caller []*program.Frame) []*program.Frame {
	module := &program.Frame{File: "site-packages/torch/nn/modules/module.py", Line: 1, Function: "_call_impl"}
	if len(frames) == 0 {
		return nil
	}
	out := slices.Clone(frames)
	slices.Reverse(out)
	out = append(out, module)
	if len(caller) > 0 {
		up := slices.Clone(caller)
		slices.Reverse(up)
		out = append(append(out, up...), module)
	}
	return out
}

// read is the root's forward of a program.
func read(t *testing.T, sections map[string]string) (*Program, *function) {
	t.Helper()
	p := traced(t, sections)
	f, err := p.function(p.prog.Entry, p.prog.Root)
	require.NoError(t, err)
	return p, f
}

// show prints what f says of each node that gives a value, one a line; a module that is read has
// none.
func show(t *function, f func(i int, v *program.Value) string) string {
	var b strings.Builder
	for i, n := range t.nodes {
		if n.Op == "prim::GetAttr" {
			continue
		}
		for _, v := range n.Outs {
			fmt.Fprintf(&b, "%s: %s\n", v.Name, f(i, v))
		}
	}
	return b.String()
}
