package aotinductor

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"

	"github.com/memspec/memspec/engine/program"
)

// proxied reads a call of an operator that has no C function: its tensors, results among them, are
// in a list, and the package's record of such calls reports its name and arguments.
func (r *cppReader) proxied(x *term) error {
	n := r.node(program.Proxied, x.where)
	n.Text, n.Meta = "an operator of the package's own", &program.NodeMeta{}
	if len(x.args) > 1 && x.args[1].kind == intTerm && x.args[1].n >= 0 && x.args[1].n < int64(len(r.own)) {
		r.own[x.args[1].n].describe(r.graph, n)
	}
	var list func(t *term)
	list = func(t *term) {
		for _, a := range t.args {
			list(a)
		}
		a, ok := r.names[t.text]
		if !ok {
			a = r.handles[t.text]
		}
		if t.kind == nameTerm && r.none[a.Value] {
			delete(r.none, a.Value)
			n.Outs = append(n.Outs, a.Value)
			r.made[a.Value] = n
		}
	}
	list(x)
	r.last, r.lastKnown = n, false
	r.describe(n)
	return nil
}

// ownCall is a call of an operator that has no C function (torch/_export/serde/schema.py
// ExternKernelNode).
type ownCall struct {
	Node struct {
		Target string
		Inputs []struct {
			Name string
			Arg  map[string]json.RawMessage
		}
	}
}

// readOwn reads the record of a package's calls of such operators; nothing where it has none.
func readOwn(f fs.FS, record string) ([]ownCall, error) {
	name := strings.TrimSuffix(record, ".cpp") + ".json"
	data, err := fs.ReadFile(f, name)
	if err != nil || len(data) == 0 {
		return nil, nil
	}
	if len(data) > maxText {
		return nil, fmt.Errorf("%s: got %d bytes, want at most %d", name, len(data), maxText)
	}
	var own struct{ Nodes []ownCall }
	if err := json.Unmarshal(data, &own); err != nil {
		return nil, fmt.Errorf("%s: got %v, want the calls of operators that the package brings", name, err)
	}
	return own.Nodes, nil
}

var target = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_]\w*::[A-Za-z_]\w*(\.[A-Za-z_]\w*)?$`)
})

// describe gives a node the operator's name, and its arguments where each of them is of a form that
// is known; else it has none.
func (c *ownCall) describe(g *graph, n *program.Node) {
	key := strings.TrimSuffix(c.Node.Target, ".default")
	if !target().MatchString(key) {
		return
	}
	n.Text = key
	args := make([]program.Arg, 0, len(c.Node.Inputs))
	for _, in := range c.Node.Inputs {
		a, ok := ownArgument(g, in.Arg)
		if !ok {
			return
		}
		a.Name = in.Name
		args = append(args, a)
	}
	n.Op, _, _ = strings.Cut(key, ".")
	n.Text, n.Meta.Key, n.Args = "", key, args
}

// ownArgument is one argument; ok is false of a form that is not known.
func ownArgument(g *graph, arg map[string]json.RawMessage) (a program.Arg, ok bool) {
	if len(arg) != 1 {
		return a, false
	}
	for form, data := range arg {
		switch form {
		case "as_none":
			return a, true
		case "as_int":
			return ownConst[int64](data)
		case "as_float":
			return ownConst[float64](data)
		case "as_bool":
			return ownConst[bool](data)
		case "as_string":
			return ownConst[string](data)
		case "as_ints":
			return ownList[int64](data)
		case "as_floats":
			return ownList[float64](data)
		case "as_bools":
			return ownList[bool](data)
		case "as_tensor":
			return ownTensor(g, data)
		case "as_tensors":
			var list []json.RawMessage
			if json.Unmarshal(data, &list) != nil {
				return a, false
			}
			a.Items = make([]program.Arg, len(list))
			for i := range list {
				if a.Items[i], ok = ownTensor(g, list[i]); !ok {
					return a, false
				}
			}
			return a, true
		}
	}
	return a, false
}

func ownConst[T any](data json.RawMessage) (a program.Arg, ok bool) {
	var v T
	err := json.Unmarshal(data, &v)
	return program.Arg{Const: v}, err == nil
}

func ownList[T any](data json.RawMessage) (a program.Arg, ok bool) {
	var list []T
	err := json.Unmarshal(data, &list)
	a.Items = make([]program.Arg, len(list))
	for i, v := range list {
		a.Items[i].Const = v
	}
	return a, err == nil
}

func ownTensor(g *graph, data json.RawMessage) (program.Arg, bool) {
	var t struct{ Name string }
	if json.Unmarshal(data, &t) != nil {
		return program.Arg{}, false
	}
	a, ok := g.names[t.Name]
	return a, ok && !g.none[a.Value]
}
