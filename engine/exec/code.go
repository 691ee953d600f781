package exec

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
)

// code is a function made ready to run: its nodes with the values that die after them, and what eager execution knows of the user's names.
type code struct {
	fn    *program.Func
	graph *program.Graph
	body  *block
	count int    // of nodes
	owner []int  // by value: the block that defines it
	names *names // eager only; nil where the archive tells nothing

	pytorch bool // one of PyTorch's own modules or functions
}

// block mirrors program.Block.
type block struct {
	id    int
	src   *program.Block
	insts []inst
	dead  []int // params no one uses
}

// inst is one node.
type inst struct {
	node   *program.Node
	blocks []*block
	move   []bool // the argument's last use: its value dies when the node is done
	drop   []int  // values whose last use was inside the node's blocks, and results no one uses

	bound *ops.Bound // what the operator resolved to last
	kinds []kind     // for arguments of these kinds
	site  int32      // of an inlined node: its place, see codeSites
	num   int32      // place in the function's order of nodes
}

// compile lays out g; last uses follow PyTorch's interpreter (torch/csrc/jit/runtime/interpreter/preprocess_graph.cpp FindLastUses): a
// value used for the last time inside an If or Loop, and defined outside of it, dies right after it.
func (m *machine) compile(fn *program.Func, g *program.Graph) *code {
	c := &code{fn: fn, graph: g, pytorch: fn.Library()}
	l := &m.layout
	*l = layout{m: m, owner: m.ids.cut(g.NumValues), seen: extend(l.seen[:0], g.NumValues), stack: l.stack[:0], around: l.around[:0]}
	c.body = l.block(g.Body)
	c.count, c.owner = int(l.nodes), l.owner
	for _, p := range g.Params {
		l.owner[p.ID] = 0
	}
	l.backward(c.body)
	for _, p := range g.Params {
		if !l.seen[p.ID] {
			c.body.dead = append(c.body.dead, p.ID)
		}
	}
	return c
}

// layout numbers blocks and nodes, notes which block defines each value, and then finds last uses, walking backwards.
type layout struct {
	m      *machine
	owner  []int // the block that defines a value
	seen   []bool
	blocks int
	nodes  int32
	stack  []*inst // the nodes around the current block
	around []int   // their blocks
}

func (l *layout) block(b *program.Block) *block {
	out := l.m.blocks.new()
	*out = block{src: b, id: l.blocks, insts: l.m.insts.cut(len(b.Nodes))}
	l.blocks++
	for _, p := range b.Params {
		l.owner[p.ID] = out.id
	}
	args := 0
	for _, n := range b.Nodes {
		args += len(n.Args)
	}
	moves := l.m.flags.cut(args)
	for i, n := range b.Nodes {
		in := &out.insts[i]
		in.node, in.num = n, l.nodes
		l.nodes++
		in.move, moves = moves[:len(n.Args):len(n.Args)], moves[len(n.Args):]
		for _, v := range n.Outs {
			l.owner[v.ID] = out.id
		}
		in.blocks = l.m.blockLists.cut(len(n.Blocks))
		for i, sub := range n.Blocks {
			in.blocks[i] = l.block(sub)
		}
	}
	return out
}

func (l *layout) backward(b *block) {
	for i := len(b.src.Outs) - 1; i >= 0; i-- {
		l.use(b.src.Outs[i].Value, nil, -1, b.id)
	}
	for i := len(b.insts) - 1; i >= 0; i-- {
		in := &b.insts[i]
		for _, v := range in.node.Outs {
			if !l.seen[v.ID] {
				l.seen[v.ID] = true
				l.drop(in, v.ID)
			}
		}
		l.stack, l.around = append(l.stack, in), append(l.around, b.id)
		for j := range in.blocks { // forward, as the interpreter scans them: it decides the order of drops
			l.backward(in.blocks[j])
			for _, p := range in.blocks[j].src.Params {
				if !l.seen[p.ID] {
					in.blocks[j].dead = append(in.blocks[j].dead, p.ID)
				}
			}
		}
		l.stack, l.around = l.stack[:len(l.stack)-1], l.around[:len(l.around)-1]
		for j := len(in.node.Args) - 1; j >= 0; j-- {
			l.use(in.node.Args[j].Value, in, j, b.id)
		}
	}
}

func (l *layout) use(v *program.Value, in *inst, arg, id int) {
	if v == nil || l.seen[v.ID] {
		return
	}
	l.seen[v.ID] = true
	if l.owner[v.ID] == id {
		if in != nil {
			in.move[arg] = true
		}
		return // a block's own outs move
	}
	for i := len(l.stack) - 1; i >= 0; i-- {
		if l.around[i] == l.owner[v.ID] {
			l.drop(l.stack[i], v.ID)
			return
		}
	}
}

// drop adds a value that dies with in.
func (l *layout) drop(in *inst, id int) {
	if in.drop == nil {
		in.drop = l.m.ids.cut(1)[:0]
	}
	in.drop = append(in.drop, id)
}

// local says whether v is defined in b itself.
func (c *code) local(v *program.Value, b *block) bool { return c.owner[v.ID] == b.id }
