package stacks

import (
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/program"
)

// The third step: printed names to locals.
//
// When the tracer first meets a tensor as an operator's argument, it looks for it among the locals
// of the frame that calls the operator, and names the value so (torch/jit/_trace.py
// _create_interpreter_name_lookup_fn, torch/csrc/jit/frontend/tracer.cpp getValue). So a value with
// a name was that local of the frame of its first use; an operator's result without one was no
// local of that frame, but a temporary, a container's member, or a local of another frame. What
// first went into a module's call has its name from inside.

// name is what is known of the local that holds a value where it is used first.
type name struct {
	call *call // that uses it first, nil where that is not known
	text string
	none bool // no local of that call holds it
}

// known says whether n is a name.
func (n *name) known() bool { return n.call != nil && !n.none }

// origin is the name that a value got where it was first used, by whatever function that was.
type origin struct {
	known bool
	text  string // "" for none
}

// findNames finds the names of values in the calls that use them first, and what the function's
// results are called by its callers.
func (t *function) findNames(callees []*function) {
	for id, def := range t.def {
		if len(t.uses[id]) == 0 || t.number[id] != notNumber || def < 0 {
			continue
		}
		o := t.origin(id, callees)
		first := t.uses[id][0]
		switch op := t.nodes[first].Op; {
		case !o.known || op == "prim::CallMethod" || op == "prim::Return" || t.returned(first) ||
			t.at[first].inner() == nil:
		default:
			t.names[id] = name{call: t.at[first].inner(), text: o.text, none: o.text == ""}
		}
	}
	for i, n := range t.nodes {
		if n.Op != "prim::Return" || len(n.Args) != 1 || n.Args[0].Value == nil {
			continue
		}
		id := n.Args[0].Value.ID
		if def := t.def[id]; def >= 0 && t.nodes[def].Op == "prim::TupleConstruct" {
			for j := range t.nodes[def].Args {
				o := origin{}
				if v := t.nodes[def].Args[j].Value; v != nil && t.def[v.ID] >= 0 && t.uses[v.ID][0] == def {
					o = t.origin(v.ID, callees)
				}
				t.result = append(t.result, o)
			}
		} else if def >= 0 && t.uses[id][0] == i {
			t.result = []origin{t.origin(id, callees)}
		}
	}
}

// returned says whether node i makes the tuple that the function returns.
func (t *function) returned(i int) bool {
	n := t.nodes[i]
	return n.Op == "prim::TupleConstruct" && len(t.uses[n.Outs[0].ID]) == 1 &&
		t.nodes[t.uses[n.Outs[0].ID][0]].Op == "prim::Return"
}

// origin is the name of a value; a module's result was named by the function that made it, unless
// that used it itself.
func (t *function) origin(id int, callees []*function) origin {
	n := t.nodes[t.def[id]]
	place, call := 0, t.def[id]
	if arg := firstArg(n); n.Op == "prim::TupleUnpack" && arg >= 0 && t.def[arg] >= 0 {
		call = t.def[arg]
		for i, v := range n.Outs {
			if v.ID == id {
				place = i
			}
		}
	}
	if t.nodes[call].Op == "prim::CallMethod" {
		if c := callees[call]; c != nil && place < len(c.result) && (len(c.result) == 1) == (call == t.def[id]) {
			return c.result[place]
		}
		return origin{}
	}
	if t.printed[id] == "" && n.Flags&program.InReturn != 0 {
		return origin{} // written without its name
	}
	return origin{known: true, text: t.printed[id]}
}

// bind links the values of each name, in order.
func (t *function) bind() {
	var last few[name, int]
	for id := range t.names {
		n := &t.names[id]
		if !n.known() {
			continue
		}
		if t.first == nil {
			t.first, t.next = make([]int, len(t.names)), make([]int, len(t.names))
		}
		if before, ok := last.get(*n); ok {
			t.first[id], t.next[before] = t.first[before], id+1
		} else {
			t.first[id] = id + 1
		}
		last.set(*n, id)
	}
}

// opensRecord says whether fn is the first function of its record: the printer's counters begin
// anew there.
func (p *Program) opensRecord(fn *program.Func) bool {
	if p.records == nil {
		p.records = map[string]int{}
		for _, c := range p.prog.Classes {
			for _, f := range c.Methods {
				if line, ok := p.records[f.Record]; !ok || f.Line < line {
					p.records[f.Record] = f.Line
				}
			}
		}
	}
	return fn.Line == p.records[fn.Record]
}

// userNames takes the printer's counters off the names of a function's values: "" for values
// without a name of the user's. A name that is taken gets a counter of its file's behind it
// (torch/csrc/jit/serialization/python_print.cpp genName): in a file's first function it begins at
// 0, and always goes up by one.
func (p *Program) userNames(g *program.Graph, first bool) []string {
	if p.counts == nil {
		p.counts = map[string]int{}
	}
	clear(p.counts)
	b := counters{out: make([]string, g.NumValues), next: p.counts, first: first}
	for _, p := range g.Params {
		b.add(p)
	}
	b.block(g.Body)
	return b.out
}

type counters struct {
	out   []string
	next  map[string]int // the counter a name gets next, -1 where that is not known; a name is there when it is taken
	first bool
}

func (b *counters) block(blk *program.Block) {
	for _, p := range blk.Params {
		b.add(p)
	}
	for _, n := range blk.Nodes {
		for _, sub := range n.Blocks {
			b.block(sub)
		}
		for _, v := range n.Outs {
			b.add(v)
		}
	}
}

func (b *counters) add(v *program.Value) {
	if strings.TrimLeft(v.Name, "_0123456789") == "" {
		return // the printer's own: an underscore and a number
	}
	base := v.Name
	for end := len(base) - 1; end >= len(strings.TrimRight(v.Name, "0123456789")); end-- {
		next, taken := b.next[base[:end]]
		if !taken || base[end] == '0' && end+1 < len(base) {
			continue
		}
		if n, err := strconv.Atoi(base[end:]); err == nil && (next < 0 || n == next) {
			base = base[:end]
			b.next[base] = n + 1
			break
		}
	}
	if _, taken := b.next[base]; !taken {
		b.next[base] = -1
		if b.first {
			b.next[base] = 0
		}
	}
	b.out[v.ID] = base
}
