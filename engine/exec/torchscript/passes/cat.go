package passes

import "github.com/memspec/memspec/engine/program"

// concat is an aten::cat with its list.
type concat struct {
	node, list *program.Node
	dim        int64
}

// combineConcats puts the members of a concatenation into the one that alone uses it, where both go
// along one dimension (passes/concat_opt.cpp CombineConcats). Of several inner ones in one list
// only the first moves, as in PyTorch.
func (g *Graph) combineConcats() {
	if !has(g.Body, "aten::cat") {
		return
	}
	c := &combiner{g: g, def: g.definers(), members: map[*program.Node][]program.Arg{}}
	c.uses = make([]use, g.NumValues)
	c.count(g.Body)
	c.collect(g.Body)
	if len(c.members) == 0 {
		return
	}
	for list, args := range c.members {
		list.Args = args
		g.operator[list.ID] = 0 // it has another number of arguments
	}
	g.eliminateDeadCode()
}

type combiner struct {
	g       *Graph
	def     []*program.Node
	uses    []use // by value
	aliases *aliases
	members map[*program.Node][]program.Arg // the new members of lists, by list
}

// use is how often a value is used, and by which node last.
type use struct {
	n    int
	user *program.Node // nil where a block hands the value on
}

func (c *combiner) count(b *program.Block) {
	add := func(a *program.Arg, user *program.Node) {
		if a.Value != nil {
			u := &c.uses[a.Value.ID]
			u.n, u.user = u.n+1, user
		}
	}
	for _, n := range b.Nodes {
		for i := range n.Args {
			add(&n.Args[i], n)
		}
		eachBlock(n, c.count)
	}
	for i := range b.Outs {
		add(&b.Outs[i], nil)
	}
}

func (c *combiner) collect(b *program.Block) {
	for _, n := range b.Nodes {
		if inner, ok := c.concat(n); ok && c.unchanged(b, inner) {
			if outer, ok := c.onlyUser(inner); ok {
				c.combine(inner, outer)
			}
		}
		eachBlock(n, c.collect)
	}
}

// concat reads an aten::cat of a list that is made for it, along a dimension that is known.
func (c *combiner) concat(n *program.Node) (concat, bool) {
	if n.Op != "aten::cat" || len(n.Args) == 0 || n.Args[0].Value == nil {
		return concat{}, false
	}
	list := c.def[n.Args[0].Value.ID]
	if list == nil || list.Op != "prim::ListConstruct" {
		return concat{}, false
	}
	k := concat{node: n, list: list}
	if len(n.Args) > 1 {
		dim, ok := n.Args[1].Const.(int64)
		if !ok {
			return concat{}, false
		}
		k.dim = dim
	}
	return k, true
}

// onlyUser is the concatenation along the same dimension whose list alone uses the result of
// another.
func (c *combiner) onlyUser(k concat) (concat, bool) {
	u := c.uses[k.node.Outs[0].ID]
	if u.n != 1 || u.user == nil || u.user.Op != "prim::ListConstruct" {
		return concat{}, false
	}
	u = c.uses[u.user.Outs[0].ID]
	if u.n != 1 || u.user == nil {
		return concat{}, false
	}
	outer, ok := c.concat(u.user)
	return outer, ok && outer.dim == k.dim
}

// combine gives the outer list the members of the inner one in the place of its concatenation.
func (c *combiner) combine(inner, outer concat) {
	first, chained := c.members[inner.list]
	if !chained {
		first = inner.list.Args
	}
	delete(c.members, inner.list)
	if _, done := c.members[outer.list]; done {
		return // a second one of the same list
	}
	var members []program.Arg
	for _, a := range outer.list.Args {
		if a.Value == inner.node.Outs[0] {
			members = append(members, first...)
		} else {
			members = append(members, a)
		}
	}
	c.members[outer.list] = members
}

// unchanged says whether nothing writes a concatenation's list, or a tensor in it, between the two
// (AliasDb::couldMoveBeforeTopologically). b is the block of the concatenation.
func (c *combiner) unchanged(b *program.Block, k concat) bool {
	between := false
	for _, n := range b.Nodes {
		if n == k.node {
			break
		}
		if between && c.writes(n, k.list) {
			return false
		}
		between = between || n == k.list
	}
	return between
}

// writes says whether a node, or one in its blocks, may write to a list or to its members.
func (c *combiner) writes(n, list *program.Node) bool {
	for _, sub := range n.Blocks {
		for _, inside := range sub.Nodes {
			if c.writes(inside, list) {
				return true
			}
		}
	}
	if len(n.Blocks) > 0 {
		return false
	}
	if c.aliases == nil {
		c.aliases = c.g.aliases()
	}
	return c.aliases.writesTo(n, list)
}
