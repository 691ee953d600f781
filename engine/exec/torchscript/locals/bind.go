package locals

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/internal/pysource"
	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/program"
)

// This file finds the names that the results of each node are bound to.

// gather lists nodes, and what defines each value.
func (r *reading) gather(b *program.Block) {
	for _, n := range b.Nodes {
		r.nodes = append(r.nodes, node{n, int32(len(r.nodes))}) // there is room: pointers into it stay good
		in := &r.nodes[len(r.nodes)-1]
		for _, v := range n.Outs {
			r.defs[v.ID] = in
		}
		for _, sub := range n.Blocks {
			r.gather(sub)
		}
	}
}

// consume notes where values are used; at is the number of the block's first node, the result that
// of the node behind it.
func (r *reading) consume(b *program.Block, at int) int {
	use := func(v *program.Value, stmt int32, in *node) {
		if v == nil {
			return
		}
		u := &r.uses[v.ID]
		switch {
		case !u.any:
			*u = uses{any: true, stmt: stmt, first: in}
		case u.stmt != stmt:
			u.mixed = true
		}
	}
	for range b.Nodes {
		in := &r.nodes[at]
		for j := range in.Args {
			use(in.Args[j].Value, r.stmt[at], in)
		}
		at++
		for _, sub := range in.Blocks {
			at = r.consume(sub, at)
		}
	}
	for i := range b.Outs {
		use(b.Outs[i].Value, outFlow, nil)
	}
	return at
}

// bindNode finds the names of a node's results.
func (r *reading) bindNode(in *node) {
	switch in.Op {
	// a name of the attribute's; the same value seen as another type
	case "prim::GetAttr", "prim::unchecked_cast", "prim::Uninitialized":
		return
	case "prim::If", "prim::Loop":
		if r.header[in.num] >= 0 {
			return // its results were bound inside
		}
	}
	if initializes(in.Node) {
		return // the name is the object's
	}
	stmt := r.stmt[in.num]
	if stmt < 0 {
		for _, v := range in.Outs {
			if printed(v.Name) {
				r.bindTo(v, r.anyLocal(v.Name))
			}
		}
		return
	}
	st := &r.src.Stmts[stmt]
	r.fill[in.num] = in.Op == "aten::tensor" && r.feedsCopy(in, stmt)
	if len(in.Outs) > 1 && (r.unpack(in, st) || r.keepTogether(in, st)) {
		return
	}
	for _, v := range in.Outs {
		r.bindValue(in, v, stmt)
	}
}

// initializes says whether a node is the second half of `Class(x)`, which scripting writes as
// __new__ and __init__.
func initializes(n *program.Node) bool { return n.Op == "prim::CallMethod" && n.Text == "__init__" }

// unpack binds the results of `a, _, b = f(x)` by place: a name that is underscores alone is not
// printed.
func (r *reading) unpack(in *node, st *pysource.Stmt) bool {
	outs := in.Outs
	for _, group := range st.Targets {
		fits := len(group.Names) == len(outs) && !group.Deep
		for i := 0; fits && i < len(outs); i++ {
			fits = printedAs(outs[i].Name, group.Names[i]) || !printed(outs[i].Name)
		}
		if !fits {
			continue
		}
		for i, v := range outs {
			if group.Names[i] != "" {
				r.bindTo(v, r.numberOf(group.Names[i]))
			}
		}
		return true
	}
	return false
}

// keepTogether binds the results of `t = f(x)` to the one name that holds their tuple, and that of
// `a = f(x)[0]` or `a = f(x).values` alone. Where a member is printed as the name itself, bindValue
// binds it.
func (r *reading) keepTogether(in *node, st *pysource.Stmt) bool {
	if st.Kind != pysource.Simple || len(st.Targets) != 1 || !r.whole(in, st) || int(in.Where.End) > st.End {
		return false
	}
	name := st.Targets[0].Single()
	if name == "" {
		return false
	}
	var member *program.Value // the only one that is used
	several := false
	for _, v := range in.Outs {
		if printed(v.Name) {
			return false
		}
		if r.uses[v.ID].any {
			several = member != nil
			member = v
		}
	}
	part, ok := afterCall(r.src.Text[in.Where.End:st.End])
	switch {
	case !ok:
		return false
	case part != "" && (several || member == nil):
		return false
	case part != "":
		r.bindTo(member, r.numberOf(name))
		return true
	}
	if r.together == nil {
		r.together = map[int]int32{}
	}
	r.together[int(in.num)] = r.numberOf(name)
	return true
}

// afterCall is what takes a part of a call's result, `[0]` or `.name`, or "". The text s begins
// behind the function's name; ok says that it is a call and nothing else.
func afterCall(s string) (part string, ok bool) {
	if !strings.HasPrefix(s, "(") {
		return "", false
	}
	end := python.ScanTop(s, func(i int) bool { return i > 0 && s[i] != ' ' && s[i] != '\n' })
	if end < 0 {
		return "", true
	}
	part = strings.TrimSpace(s[end:])
	inner := strings.TrimPrefix(part, ".")
	if strings.HasPrefix(part, "[") && strings.HasSuffix(part, "]") {
		inner = part[1 : len(part)-1]
	} else if inner == part {
		return "", false
	}
	for i := range len(inner) {
		if !python.InName(inner[i]) {
			return "", false
		}
	}
	return part, inner != ""
}

// bindValue finds the names of one result: the statement's target that it was printed as; where it
// has no printed name, it is the whole right side of an assignment if something outside of the
// statement uses it, or nothing at all.
func (r *reading) bindValue(in *node, v *program.Value, stmt int32) {
	st := &r.src.Stmts[stmt]
	if printed(v.Name) {
		best := ""
		for _, group := range st.Targets {
			for _, p := range group.Names {
				if printedAs(v.Name, p) && len(p) > len(best) {
					best = p
				}
			}
		}
		if best == "" {
			if st.Kind != pysource.Simple || len(st.Targets) == 0 {
				r.bindTo(v, r.anyLocal(v.Name))
			}
			return
		}
		r.bindTo(v, r.numberOf(best))
		if len(st.Targets) > 1 {
			r.chain(v, st, best)
		}
		return
	}
	u := &r.uses[v.ID]
	if st.Kind != pysource.Simple || len(in.Outs) != 1 || len(st.Targets) == 0 {
		return
	}
	if u.any && !u.mixed && u.stmt == stmt || !u.any && (in.Op == "aten::append" || !r.whole(in, st)) {
		return
	}
	r.chain(v, st, "")
}

// chain binds v to the single names of `a = b = value`, except the one that is done.
func (r *reading) chain(v *program.Value, st *pysource.Stmt, done string) {
	for _, group := range st.Targets {
		if name := group.Single(); name != "" && name != done {
			r.bindTo(v, r.numberOf(name))
		}
	}
}

// whole says whether in begins where a statement's right side does.
func (r *reading) whole(in *node, st *pysource.Stmt) bool {
	if in.Where.Text != r.text {
		return false
	}
	i := st.Right
	for i < st.End && strings.IndexByte(" \t\n\\(", r.src.Text[i]) >= 0 {
		i++
	}
	return int(in.Where.Start) == i
}

func (r *reading) bindTo(v *program.Value, local int32) {
	if local >= 0 && !slices.Contains(r.bind[v.ID], local) {
		r.bind[v.ID] = append(r.bind[v.ID], local)
	}
}

// feedsCopy says whether in makes the tensor of `x[i] = number`: scripting copies a tensor of the
// number into the slice.
func (r *reading) feedsCopy(in *node, stmt int32) bool {
	u := &r.uses[in.Outs[0].ID]
	return u.any && !u.mixed && u.stmt == stmt && u.first != nil &&
		(u.first.Op == "aten::copy_" || u.first.Op == "aten::index_put_")
}

// bindPrinted is the rule without text: the counter is cut off down to a name that was seen before.
func (r *reading) bindPrinted(b *program.Block) {
	for _, n := range b.Nodes {
		for _, sub := range n.Blocks {
			r.bindPrinted(sub)
		}
		if n.Op == "prim::GetAttr" {
			continue
		}
		for _, v := range n.Outs {
			if !printed(v.Name) {
				continue
			}
			at := r.anyLocal(v.Name)
			if at < 0 {
				at = r.local(v.Name)
			}
			r.bindTo(v, at)
		}
	}
}
