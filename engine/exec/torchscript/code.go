package torchscript

import (
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/exec/lifetime/stacks"
	"github.com/memspec/memspec/engine/exec/torchscript/locals"
	"github.com/memspec/memspec/engine/exec/torchscript/passes"
	"github.com/memspec/memspec/engine/internal/zeroed"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
)

// compiler makes functions ready to run: each once for all runs of a program, which come one after
// another.
type compiler struct {
	prog   *program.Program
	table  *ops.Table // by which operators were resolved
	made   map[recipe]*code
	first  map[layoutOf]*code // of the functions that have a graph, where the user's names are reported by text
	stacks *stacks.Program    // of a traced program
	reader locals.Reader

	fromHost bool // tracing wrote the host into the code

	layout layout
	apply  func(*lifetime.Range) // of layout
	uses   lifetime.LastUses
}

// recipe is a function and when its values go.
type recipe struct {
	fn   *program.Func
	ends ends
}

// layoutOf is a graph and when its values go: functions that are the same except their class have
// one graph.
type layoutOf struct {
	graph *program.Graph
	ends  ends
}

// ends says when the values of a function go.
type ends uint8

const (
	afterLastUse  ends = iota // after their last use
	recordedNames             // as the archive says of Python's names
	heldNames                 // as late as Python's names might hold them
)

func newCompiler(p *program.Program) *compiler {
	m := &compiler{prog: p, made: map[recipe]*code{}, first: map[layoutOf]*code{}, stacks: stacks.New(p),
		fromHost: p.Records != program.RecordsSource && exec.FromHost(p)}
	m.apply = m.layout.apply
	return m
}

// ready is fn made ready to run; self is the module it runs in.
func (m *compiler) ready(fn *program.Func, self *program.Object, e ends) (*code, error) {
	if c := m.made[recipe{fn, e}]; c != nil {
		return c, nil
	}
	g, err := fn.Graph()
	if err != nil {
		return nil, err
	}
	if c := m.first[layoutOf{g, e}]; c != nil {
		own := new(code)
		*own = *c
		own.fn = fn
		m.made[recipe{fn, e}] = own
		return own, nil
	}
	c := m.compile(fn, g, nil)
	switch {
	case e == afterLastUse:
	case m.prog.Records == program.RecordsStacks:
		m.followStacks(c, self, e)
	case m.prog.Records == program.RecordsSource:
		c.names = m.reader.Read(g, c.count)
		eagerUses(c)
		m.first[layoutOf{g, e}] = c
	case e == heldNames:
		m.replace(c, lifetime.ToEnd(g))
	}
	m.made[recipe{fn, e}] = c
	return c, nil
}

// code is a function made ready to run: its nodes with the values that die after them, and what
// eager execution knows of the user's names.
type code struct {
	fn    *program.Func
	graph *program.Graph
	body  *block
	count int           // of nodes
	owner []int         // by value: the block that defines it
	names *locals.Names // eager only; nil where the archive records nothing

	pytorch bool // one of PyTorch's own modules or functions

	fromStacks []lifetime.Range // what the stacks of a traced archive report, in the place of last uses
	escapes    []int            // values that a caller may hold on when the function returns
	// by instruction: until which one the function may hold what a call left; nil where it holds
	// nothing so
	until []int
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
	at     *passes.Call // of an inlined graph: the call that the node came from
	blocks []*block
	move   []bool // the argument's last use: its value dies when the node is done
	drop   []int  // values whose last use was inside the node's blocks, and results no one uses

	overload *overload // what the operator resolved to last
	site     int32     // of an inlined node: its place, see codeSites
	num      int32     // place in the function's order of nodes
}

// overload is what an operator resolves to for arguments of these kinds.
type overload struct {
	bound *ops.Bound
	kinds []kind // nil where another call may resolve to another
}

// compile lays out g; a value goes by the rule of PyTorch's interpreter.
func (m *compiler) compile(fn *program.Func, g *program.Graph, inlined *passes.Graph) *code {
	c := new(code)
	*c = code{fn: fn, graph: g, pytorch: fn.Library()}
	l := &m.layout
	*l = layout{m: m, code: c, inlined: inlined, owner: make([]int, g.NumValues), insts: l.insts[:0]}
	c.body = l.block(g.Body)
	c.count, c.owner = len(l.insts), l.owner
	for _, p := range g.Params {
		l.owner[p.ID] = 0
	}
	m.uses.Each(g, m.apply)
	return c
}

// layout numbers blocks and nodes, and notes which block defines each value.
type layout struct {
	m       *compiler
	code    *code
	inlined *passes.Graph // nil where the function stands for itself
	owner   []int         // the block that defines a value
	insts   []*inst       // in order
	blocks  int
}

func (l *layout) block(b *program.Block) *block {
	out := new(block)
	*out = block{src: b, id: l.blocks, insts: make([]inst, len(b.Nodes))}
	l.blocks++
	for _, p := range b.Params {
		l.owner[p.ID] = out.id
	}
	args := 0
	for _, n := range b.Nodes {
		args += len(n.Args)
	}
	moves := make([]bool, args)
	for i, n := range b.Nodes {
		in := &out.insts[i]
		in.node, in.num = n, int32(len(l.insts))
		if l.inlined != nil {
			in.at = l.inlined.Call(n)
		}
		l.insts = append(l.insts, in)
		in.move, moves = moves[:len(n.Args):len(n.Args)], moves[len(n.Args):]
		for _, v := range n.Outs {
			l.owner[v.ID] = out.id
		}
		in.blocks = make([]*block, len(n.Blocks))
		for i, sub := range n.Blocks {
			in.blocks[i] = l.block(sub)
		}
	}
	return out
}

// byNumber is room for count instructions by number, good until the next layout.
func (l *layout) byNumber(count int) []*inst {
	l.insts = zeroed.Extend(l.insts[:0], count)
	return l.insts
}

// apply puts the end of a live range into its instruction.
func (l *layout) apply(r *lifetime.Range) {
	switch r.End {
	case lifetime.AsArgument:
		l.insts[r.To].move[r.Arg] = true
	case lifetime.After:
		in := l.insts[r.To]
		if in.drop == nil {
			in.drop = make([]int, 0, 1)
		}
		in.drop = append(in.drop, r.Value.ID)
	case lifetime.AtEntry:
		b := l.code.body
		if r.To >= 0 {
			b = l.insts[r.To].blocks[r.Arg]
		}
		b.dead = append(b.dead, r.Value.ID)
	}
}

// local says whether v is defined in b itself.
func (c *code) local(v *program.Value, b *block) bool { return c.owner[v.ID] == b.id }
