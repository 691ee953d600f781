package aotinductor

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/memspec/memspec/engine/program"
)

//go:embed shims.txt
var shimTable string

// shim is a function of PyTorch's C interface that calls an operator.
type shim struct {
	key     string      // the overload
	args    []shimParam // in C's order, out arguments first
	results string      // a letter each: T a tensor, n a number
}

// shimParam is an argument of the schema; C gives a list's length or a device's index behind it.
type shimParam struct {
	name    string
	counted bool
}

// shims are the functions by their names without aoti_torch_ and the device: torchgen's list of
// fallback operators with their versions, and those of shim.h (python -m truth shims).
var shims = sync.OnceValue(func() map[string]*shim {
	out := map[string]*shim{}
	for line := range strings.Lines(shimTable) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		call, results, _ := strings.Cut(strings.TrimSpace(line), " ->")
		f := strings.Fields(call)
		s := &shim{key: f[1], results: strings.TrimSpace(results)}
		for _, name := range f[2:] {
			bare := strings.TrimRight(name, "*@")
			s.args = append(s.args, shimParam{bare, bare != name})
		}
		out[f[0]] = s
	}
	return out
})

// count is how many arguments a call in C has, results included.
func (s *shim) count() int {
	n := len(s.args) + len(s.results)
	for _, p := range s.args {
		if p.counted {
			n++
		}
	}
	return n
}

// known reads a call of a function of the table: each argument by its name, each result at its
// place in the schema, whether the wrapper takes it or not.
func (r *cppReader) known(x *term, s *shim) error {
	op, _, _ := strings.Cut(s.key, ".")
	meta := &program.NodeMeta{Key: s.key}
	var list []program.Arg
	at := 0
	for _, p := range s.args {
		a, _, err := r.argument(x.args[at])
		if err != nil {
			return err
		}
		at++
		if p.counted {
			at++
		}
		a.Name = p.name
		list = append(list, a)
	}
	n := r.node(op, x.where)
	n.Args, n.Meta = list, meta
	var unused []*program.Value
	for i, out := range x.args[at:] {
		if name := out.addressed(); name != nil && r.declared[name.text] {
			r.result(n, name.text)
			continue
		}
		v := r.value(fmt.Sprintf("result %d", i))
		n.Outs = append(n.Outs, v)
		if s.results[i] == 'T' {
			unused = append(unused, v)
		}
	}
	r.last, r.lastKnown = n, true
	r.describe(n)
	for _, v := range unused { // the tuple of results ends with the C function, the first member first
		free := r.node(program.BufferFree, x.where)
		free.Args = []program.Arg{{Value: v}}
	}
	return nil
}

// result gives a node's next result the handle that takes it.
func (r *cppReader) result(n *program.Node, handle string) {
	v := r.value(strings.TrimSuffix(handle, "_handle"))
	n.Outs = append(n.Outs, v)
	r.made[v] = n
	r.handles[handle] = program.Arg{Value: v}
}
