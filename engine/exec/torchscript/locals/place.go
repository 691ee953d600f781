package locals

import (
	"strings"

	"github.com/memspec/memspec/engine/internal/pysource"
	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/internal/zeroed"
	"github.com/memspec/memspec/engine/program"
)

// Debug records give most nodes a range in the user's text, but not all: what makes a list or a
// tuple or takes one apart has none, nor has what reads or writes an attribute, and some point into
// functions of PyTorch's own. This file finds the statement of each.

// place fills stmt, header and placed.
func (r *reading) place() {
	r.findNeighbours()
	for i := range r.nodes {
		in := &r.nodes[i]
		r.stmt[i], r.header[i] = nowhere, nowhere
		if in.Where.Text != r.text || in.Op == "prim::GetAttr" {
			continue
		}
		at := r.src.At(int(in.Where.Start))
		r.stmt[i] = int32(at)
		if at < 0 {
			continue
		}
		if st := &r.src.Stmts[at]; st.Start == int(in.Where.Start) {
			switch in.Op {
			case "prim::If":
				if st.Kind == pysource.If {
					r.header[i] = int32(at)
				}
			case "prim::Loop":
				if st.Kind == pysource.For || st.Kind == pysource.While {
					r.header[i] = int32(at)
				}
			}
		}
	}
	r.placeNeighbours()
	r.placeByName()
	for i := len(r.nodes) - 1; i >= 0; i-- {
		if r.stmt[i] == nowhere {
			r.stmt[i] = r.placeByUse(&r.nodes[i])
		}
	}
	for i := range r.nodes {
		in := &r.nodes[i]
		if r.stmt[i] >= 0 && in.Op != "prim::GetAttr" {
			r.placed[r.stmt[i]] = true
		}
	}
}

// findNeighbours strings the nodes of each printed statement together, in order.
func (r *reading) findNeighbours() {
	for i := len(r.nodes) - 1; i >= 0; i-- {
		s := int(r.nodes[i].Where.Stmt)
		if s >= len(r.first) {
			r.first = zeroed.Extend(r.first, s+1-len(r.first))
		}
		r.next[i], r.first[s] = r.first[s], int32(i+1)
	}
}

// open says whether a node has yet to be placed. Reading an attribute is not: the printer puts it
// where it likes.
func (r *reading) open(i int) bool {
	return r.stmt[i] == nowhere && r.nodes[i].Op != "prim::GetAttr" && r.nodes[i].Op != "prim::Return"
}

// placeNeighbours puts a node where others of the same printed statement stand: a printed statement
// comes from one of the text's. What makes the value of a printed return does not: the printer
// brings there what a name held (see canInline in torch/csrc/jit/serialization/python_print.cpp);
// but what has no name is used in its own statement.
func (r *reading) placeNeighbours() {
	for i := range r.nodes {
		in := &r.nodes[i]
		if !r.open(i) || r.emptyList(in) {
			continue
		}
		if in.Flags&program.InReturn != 0 {
			r.stmt[i] = r.placeByOperand(in)
			continue
		}
		before, behind := nowhere, nowhere
		for k := int(r.first[in.Where.Stmt]) - 1; k >= 0; k = int(r.next[k]) - 1 {
			if r.stmt[k] == nowhere || len(r.nodes[k].Blocks) > 0 {
				continue
			}
			if k < i {
				before = int(r.stmt[k])
			} else if behind == nowhere {
				behind = int(r.stmt[k])
			}
		}
		if before != nowhere {
			r.stmt[i] = int32(before)
		} else {
			r.stmt[i] = int32(behind)
		}
	}
}

// placeByOperand is the statement of what in takes without a name.
func (r *reading) placeByOperand(in *node) int32 {
	for j := len(in.Args) - 1; j >= 0; j-- {
		v := in.Args[j].Value
		if v == nil || printed(v.Name) || r.defs[v.ID] == nil {
			continue
		}
		if at := r.stmt[r.defs[v.ID].num]; at != nowhere {
			return at
		}
	}
	return nowhere
}

// placeByName puts a node at the statement, between those of its neighbours, that binds the names
// of its results or writes its attribute.
func (r *reading) placeByName() {
	last := 0
	for i := range r.nodes {
		in := &r.nodes[i]
		if !r.open(i) {
			if r.stmt[i] >= 0 {
				last = int(r.stmt[i])
			}
			continue
		}
		next := len(r.src.Stmts)
		for k := i + 1; k < len(r.nodes); k++ {
			if at := int(r.stmt[k]); at >= last {
				next = at + 1
				break
			}
		}
		for at := last; at < next; at++ {
			if r.binds(in, &r.src.Stmts[at]) {
				r.stmt[i], last = int32(at), at
				break
			}
		}
	}
}

// binds says whether a statement binds all the names that in's results were printed with, or writes
// the attribute that in writes.
func (r *reading) binds(in *node, st *pysource.Stmt) bool {
	if in.Op == "prim::SetAttr" {
		if len(st.Targets) == 0 {
			return false
		}
		_, behind, found := strings.Cut(r.src.Text[st.Start:st.Right], "."+in.Text)
		return found && (behind == "" || !python.InName(behind[0]))
	}
	if r.emptyList(in) {
		return r.bindsList(in, st)
	}
	found := false
	for _, v := range in.Outs {
		if !printed(v.Name) {
			continue
		}
		has := false
		for _, group := range st.Targets {
			for _, p := range group.Names {
				has = has || printedAs(v.Name, p)
			}
		}
		if !has {
			return false
		}
		found = true
	}
	return found
}

// emptyList says whether in makes a list or dict without members: it lost its name, which its first
// use reports.
func (r *reading) emptyList(in *node) bool {
	return (in.Op == "prim::ListConstruct" || in.Op == "prim::DictConstruct") && len(in.Args) == 0
}

// bindsList says whether a statement is the `name = []` of an empty list whose first use reads
// `name.append`.
func (r *reading) bindsList(in *node, st *pysource.Stmt) bool {
	name := r.usedAs(in)
	if name == "" {
		return false
	}
	for _, group := range st.Targets {
		if group.Single() == name {
			return true
		}
	}
	return false
}

// usedAs is the name by which the text's first use of in's result goes.
func (r *reading) usedAs(in *node) string {
	v := in.Outs[0]
	for k := int(in.num) + 1; k < len(r.nodes); k++ {
		u := r.nodes[k].Node
		if len(u.Args) == 0 || u.Args[0].Value != v || u.Where.Text != r.text {
			continue
		}
		return python.FirstWord(r.src.Text[u.Where.Start:])
	}
	return ""
}

// placeByUse is the statement of a node's first user, or that of what it takes apart.
func (r *reading) placeByUse(in *node) int32 {
	if in.Op == "prim::GetAttr" {
		return nowhere
	}
	switch in.Op {
	case "prim::TupleUnpack", "prim::ListUnpack":
		if v := in.Args[0].Value; v != nil && r.defs[v.ID] != nil {
			return r.stmt[r.defs[v.ID].num]
		}
	case "prim::Return", "prim::Enter", "prim::Exit", "prim::SetAttr":
		return nowhere
	}
	for k := int(in.num) + 1; k < len(r.nodes); k++ {
		for j := range r.nodes[k].Args {
			if v := r.nodes[k].Args[j].Value; v != nil && r.defs[v.ID] == in {
				return r.stmt[k]
			}
		}
	}
	return nowhere
}
