package torchscript

import (
	"strings"

	"github.com/memspec/memspec/engine/internal/pysource"
	"github.com/memspec/memspec/engine/internal/slab"
	"github.com/memspec/memspec/engine/program"
)

// Debug records give most nodes a range in the user's text, but not all: what makes a list or a tuple or takes one apart has none, nor
// has what reads or writes an attribute, and some point into functions of PyTorch's own. This file finds the statement of each.

// place fills stmt, header and placed.
func (n *names) place() {
	n.findMates()
	for i, in := range n.nodes {
		n.stmt[i], n.header[i] = nowhere, nowhere
		if in.node.Src.Text != n.text || in.node.Op == "prim::GetAttr" {
			continue
		}
		at := n.src.At(int(in.node.Src.Start))
		n.stmt[i] = int32(at)
		if at < 0 {
			continue
		}
		if st := &n.src.Stmts[at]; st.Start == int(in.node.Src.Start) {
			switch in.node.Op {
			case "prim::If":
				if st.Kind == pysource.If {
					n.header[i] = int32(at)
				}
			case "prim::Loop":
				if st.Kind == pysource.For || st.Kind == pysource.While {
					n.header[i] = int32(at)
				}
			}
		}
	}
	n.placeMates()
	n.placeByName()
	for i := len(n.nodes) - 1; i >= 0; i-- {
		if n.stmt[i] == nowhere {
			n.stmt[i] = n.placeByUse(n.nodes[i])
		}
	}
	for i, in := range n.nodes {
		if n.stmt[i] >= 0 && in.node.Op != "prim::GetAttr" {
			n.placed[n.stmt[i]] = true
		}
	}
}

// findMates strings the nodes of each printed statement together, in order.
func (n *names) findMates() {
	for i := len(n.nodes) - 1; i >= 0; i-- {
		s := int(n.nodes[i].node.Stmt)
		if s >= len(n.first) {
			n.first = slab.Extend(n.first, s+1-len(n.first))
		}
		n.mate[i], n.first[s] = n.first[s], int32(i+1)
	}
}

// open says whether a node has yet to be placed. Reading an attribute is not: the printer puts it where it likes.
func (n *names) open(i int) bool {
	return n.stmt[i] == nowhere && n.nodes[i].node.Op != "prim::GetAttr" && n.nodes[i].node.Op != "prim::Return"
}

// placeMates puts a node where others of the same printed statement stand: a printed statement comes from one of the text's. What makes the
// value of a printed return does not: the printer brings there what a name held (see canInline in torch/csrc/jit/serialization/python_print.cpp);
// but what has no name is used in its own statement.
func (n *names) placeMates() {
	for i, in := range n.nodes {
		if !n.open(i) || n.emptyList(in) {
			continue
		}
		if in.node.Flags&program.InReturn != 0 {
			n.stmt[i] = n.placeByOperand(in)
			continue
		}
		before, behind := nowhere, nowhere
		for k := int(n.first[in.node.Stmt]) - 1; k >= 0; k = int(n.mate[k]) - 1 {
			if n.stmt[k] == nowhere || len(n.nodes[k].blocks) > 0 {
				continue
			}
			if k < i {
				before = int(n.stmt[k])
			} else if behind == nowhere {
				behind = int(n.stmt[k])
			}
		}
		if before != nowhere {
			n.stmt[i] = int32(before)
		} else {
			n.stmt[i] = int32(behind)
		}
	}
}

// placeByOperand is the statement of what in takes without a name.
func (n *names) placeByOperand(in *inst) int32 {
	for j := len(in.node.Args) - 1; j >= 0; j-- {
		v := in.node.Args[j].Value
		if v == nil || printed(v.Name) || n.defs[v.ID] == nil {
			continue
		}
		if at := n.stmt[n.defs[v.ID].num]; at != nowhere {
			return at
		}
	}
	return nowhere
}

// placeByName puts a node at the statement, between those of its neighbours, that binds the names of its results or writes its attribute.
func (n *names) placeByName() {
	last := 0
	for i, in := range n.nodes {
		if !n.open(i) {
			if n.stmt[i] >= 0 {
				last = int(n.stmt[i])
			}
			continue
		}
		next := len(n.src.Stmts)
		for k := i + 1; k < len(n.nodes); k++ {
			if at := int(n.stmt[k]); at >= last {
				next = at + 1
				break
			}
		}
		for at := last; at < next; at++ {
			if n.binds(in, &n.src.Stmts[at]) {
				n.stmt[i], last = int32(at), at
				break
			}
		}
	}
}

// binds says whether a statement binds all the names that in's results were printed with, or writes the attribute that in writes.
func (n *names) binds(in *inst, st *pysource.Stmt) bool {
	if in.node.Op == "prim::SetAttr" {
		if len(st.Targets) == 0 {
			return false
		}
		left := n.src.Text[st.Start:st.Right]
		i := strings.Index(left, "."+in.node.Text)
		end := i + 1 + len(in.node.Text)
		return i >= 0 && (end == len(left) || !pysource.InName(left[end]))
	}
	if n.emptyList(in) {
		return n.bindsList(in, st)
	}
	found := false
	for _, v := range in.node.Outs {
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

// emptyList says whether in makes a list or dict without members: it lost its name, which its first use tells.
func (n *names) emptyList(in *inst) bool {
	return (in.node.Op == "prim::ListConstruct" || in.node.Op == "prim::DictConstruct") && len(in.node.Args) == 0
}

// bindsList says whether a statement is the `name = []` of an empty list whose first use reads `name.append`.
func (n *names) bindsList(in *inst, st *pysource.Stmt) bool {
	name := n.usedAs(in)
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
func (n *names) usedAs(in *inst) string {
	v := in.node.Outs[0]
	for k := int(in.num) + 1; k < len(n.nodes); k++ {
		u := n.nodes[k].node
		if len(u.Args) == 0 || u.Args[0].Value != v || u.Src.Text != n.text {
			continue
		}
		return pysource.FirstWord(n.src.Text[u.Src.Start:])
	}
	return ""
}

// placeByUse is the statement of a node's first user, or that of what it takes apart.
func (n *names) placeByUse(in *inst) int32 {
	if in.node.Op == "prim::GetAttr" {
		return nowhere
	}
	switch in.node.Op {
	case "prim::TupleUnpack", "prim::ListUnpack":
		if v := in.node.Args[0].Value; v != nil && n.defs[v.ID] != nil {
			return n.stmt[n.defs[v.ID].num]
		}
	case "prim::Return", "prim::Enter", "prim::Exit", "prim::SetAttr":
		return nowhere
	}
	for k := int(in.num) + 1; k < len(n.nodes); k++ {
		for j := range n.nodes[k].node.Args {
			if v := n.nodes[k].node.Args[j].Value; v != nil && n.defs[v.ID] == in {
				return n.stmt[k]
			}
		}
	}
	return nowhere
}
