package lifetime

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/program"
)

// Calls is eager execution as far as an exported program says of it: in which calls of modules each
// node ran, and on which line of each of their forward methods. Names, functions other than
// forward, del and containers it does not record.
//
// A value belongs to the innermost call around the node that makes it and all that use it. A call
// of a module holds its arguments until it returns, so a value that is passed to one lives to that
// call's end; one that a later line uses had a name, and lives to the end of that statement at
// least. With most, a name is taken to hold it to the end of the call whose local it may be; and
// what a call may have given beside what the program uses, as its line has more targets, to the end
// of the caller; so does the last result of a separate call, which an object that it gives may
// hold.
func Calls(g *program.Graph, most bool) []Range {
	c := &calls{graph: g, most: most, around: make([]*call, g.NumValues), out: Generated(g)}
	c.read()
	for i := range c.out {
		// the caller of the program holds its parameters, and a block's values go in it
		if r := &c.out[i]; c.made[r.Value.ID] >= 0 {
			c.extend(r)
		}
	}
	slices.SortStableFunc(c.out, c.order)
	return c.out
}

// order is that of release: of values that go together those of inner calls first, and of one
// call's first what it passed on, then its locals.
func (c *calls) order(a, b Range) int {
	return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(c.depth(&b), c.depth(&a)),
		cmp.Compare(local[a.Why], local[b.Why]))
}

// local sorts values of one call that go together: what it passed on, then its locals.
var local = map[Why]int{Bound: 1}

func (c *calls) depth(r *Range) int {
	if r.Why != Passed && r.Why != Bound && r.Why != FrameEnd {
		return math.MaxInt // with its node, before any call returns
	}
	return c.around[r.Value.ID].depth
}

// call is a call of a module: the nodes from first to last ran in it.
type call struct {
	outer       *call
	depth       int
	first, last int
	lines       []int // by node from first on: the line of its forward, 0 where that is not known
	texts       []string
	more        bool // its caller's line has more targets than the program uses values of it
	used        map[*program.Value]struct{}
	kept        *program.Value // the last result of a separate call that the program uses nowhere else
}

type calls struct {
	graph  *program.Graph
	most   bool
	at     []*call // by node of the body: the innermost
	top    []int   // by number of a node of the body: its place there
	number []int   // by place in the body: the node's number
	around []*call // by value: the innermost call around all that make and use it
	made   []int   // by value: the place of the node that makes it, -1 of a parameter and of what a block makes
	out    []Range
}

// read finds the calls and what each value is around.
func (c *calls) read() {
	nodes, ends := Numbering(c.graph)
	c.top = make([]int, len(nodes))
	body := c.graph.Body.Nodes
	root := &call{last: len(body) - 1, used: map[*program.Value]struct{}{}}
	byCall := map[*program.ModuleCall]*call{}
	c.made = make([]int, c.graph.NumValues)
	for i := range c.made {
		c.made[i] = -1
	}
	for i, at := 0, 0; i < len(body); i++ {
		c.top[at] = i
		c.number = append(c.number, at)
		at = ends[at] + 1
		innermost := c.enter(byCall, root, body[i].Where.Call, i)
		c.at = append(c.at, innermost)
		c.line(innermost, body[i], i)
		for _, v := range body[i].Outs {
			c.made[v.ID] = i
			c.around[v.ID] = innermost
		}
	}
	for i, n := range body {
		c.uses(n, i)
	}
	if c.most {
		c.targets()
	}
}

// enter notes that node i ran in a call.
func (c *calls) enter(byCall map[*program.ModuleCall]*call, root *call, m *program.ModuleCall, i int) *call {
	if m == nil || m.Outer == nil { // the whole program is the call of its root
		return root
	}
	k := byCall[m]
	if k == nil {
		k = &call{outer: c.enter(byCall, root, m.Outer, i), first: i, used: map[*program.Value]struct{}{}}
		k.depth = k.outer.depth + 1
		byCall[m] = k
	}
	for o := k; o != nil; o = o.outer {
		o.last = max(o.last, i)
	}
	return k
}

// line notes on which line each call around node i stands. The frames of forward methods are one a
// module.
func (c *calls) line(k *call, n *program.Node, i int) {
	s := forwards(n.Where.Stack)
	known := len(s) == k.depth+1
	for o := k; o != nil; o = o.outer {
		for len(o.lines) <= i-o.first {
			o.lines, o.texts = append(o.lines, 0), append(o.texts, "")
		}
		if known {
			f := s[len(s)-1-o.depth] // innermost first
			o.lines[i-o.first], o.texts[i-o.first] = f.Line, f.Text
		}
	}
}

// forwards are the frames of forward methods, one a module: torch.export keeps those alone, memshim
// export all.
func forwards(s *program.Stack) []*program.Frame {
	if s == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Frames), func(f *program.Frame) bool {
		return f.Function != "forward" && f.Function != ""
	})
}

// uses widens what each value that node i takes is around.
func (c *calls) uses(n *program.Node, i int) {
	for j := range n.Args {
		n.Args[j].Values(func(v *program.Value) {
			if c.made[v.ID] < 0 {
				return
			}
			c.around[v.ID] = common(c.around[v.ID], c.at[i])
			for k := c.at[c.made[v.ID]]; k != c.around[v.ID]; k = k.outer {
				k.used[v] = struct{}{} // leaves it
			}
		})
	}
	for _, b := range n.Blocks {
		for _, inner := range b.Nodes {
			c.uses(inner, i)
		}
	}
}

// common is the innermost call around two.
func common(a, b *call) *call {
	for a != b {
		if a.depth >= b.depth {
			a = a.outer
		} else {
			b = b.outer
		}
	}
	return a
}

// targets notes the calls on whose lines more names are bound than values leave them, and what each
// call was given last.
func (c *calls) targets() {
	for i, n := range c.graph.Body.Nodes {
		for _, v := range n.Outs {
			if home := c.around[v.ID]; home != c.at[i] {
				home.kept = v
			}
		}
	}
	for _, k := range c.at {
		for ; k.outer != nil; k = k.outer {
			names, _, assigned := strings.Cut(k.outer.texts[k.first-k.outer.first], " = ")
			if n := strings.Count(names, ",") + 1; assigned && !strings.ContainsAny(names, "([") &&
				n > max(len(k.used), 1) {
				k.more = true
			}
		}
	}
}

// extend moves a range's end to where the value's name or call ends, if that is later.
func (c *calls) extend(r *Range) {
	place, why := c.end(r)
	if n := c.number[place]; n > r.To {
		r.To, r.Why = n, why
	}
}

// end is the place in the body at which a value goes.
func (c *calls) end(r *Range) (int, Why) {
	at, from := c.top[r.To], c.made[r.Value.ID]
	home := c.around[r.Value.ID]
	if c.most {
		for home.outer != nil && (home.more || home.kept == r.Value) {
			home = home.outer
		}
		return home.last, FrameEnd
	}
	end, why := at, r.Why
	if k := childAround(home, c.at[at]); k != nil {
		end, why = k.last, Passed
	}
	made, used := home.lineAt(from), home.lineAt(end)
	if made != 0 && used != 0 && made != used {
		for end < home.last && home.lineAt(end+1) == used {
			end++
			why = Bound
		}
	}
	return end, why
}

// childAround is the call that home made in which k ran; nil where k is home.
func childAround(home, k *call) *call {
	if k == home {
		return nil
	}
	for k.outer != home {
		k = k.outer
	}
	return k
}

// lineAt is the line at which a node in the call ran, 0 where that is not known.
func (k *call) lineAt(i int) int { return k.lines[i-k.first] }
