package exec

import (
	"slices"
	"strconv"

	"github.com/memspec/memspec/engine/program"
)

// When the tracer first meets a tensor as an operator's argument, it looks for it among the locals of the frame that calls the operator, and
// names the value so (torch/jit/_trace.py _create_interpreter_name_lookup_fn, torch/csrc/jit/frontend/tracer.cpp getValue). So a value with a
// name was that local of the frame of its first use; an operator's result without one was no local of that frame, but a temporary, a list's
// member, or a local of another frame. What first went into a module's call has its name from inside.

// localName is what is known of the name that holds a value where it is used first.
type localName struct {
	call *activation // that uses it first, nil where that is not known
	base string
	none bool // no local of it
}

// origin is the name that a value got where it was first used, by whatever function that was.
type origin struct {
	known bool
	base  string // "" for none
	op    string // that made it
}

// tracedProgram is what is known of all functions of a traced program.
type tracedProgram struct {
	m       *machine
	codes   map[*program.Graph]*tracedCode
	order   []*tracedCode
	targets map[lineOf]string
	made    map[string]bool // names that hold an operator's or a module's result somewhere
	again   map[string]bool // names that some call binds more than once
}

// lineOf is an operator on a line of the user's code: what it gave a name once, it gives that name each time.
type lineOf struct {
	file, function, op string
	line               int
}

// tracedProgram reads the functions of m's program.
func (m *machine) tracedProgram() *tracedProgram {
	s := m.stacksOf()
	if s.program != nil {
		return s.program
	}
	p := &tracedProgram{m: m, codes: map[*program.Graph]*tracedCode{}, targets: map[lineOf]string{}, again: map[string]bool{}, made: map[string]bool{}}
	s.program = p
	if root := m.prog.Root; root != nil && m.prog.Entry != nil {
		if g, err := m.prog.Entry.Graph(); err == nil {
			p.read(m.prog.Entry, g, m.object(root))
		}
	}
	for _, t := range p.order {
		p.findTargets(t)
	}
	for _, t := range p.order {
		p.bind(t)
	}
	return p
}

// code is what is known of a function.
func (p *tracedProgram) code(fn *program.Func, g *program.Graph, self *Object) *tracedCode {
	t := p.codes[g]
	if t == nil { // not called from the root's forward
		t = p.read(fn, g, self)
		p.bind(t)
	}
	return t
}

// read reads a function, those that it calls first.
func (p *tracedProgram) read(fn *program.Func, g *program.Graph, self *Object) *tracedCode {
	if t := p.codes[g]; t != nil {
		return t
	}
	n := g.NumValues
	t := &tracedCode{nodes: g.Body.Nodes, at: make([]place, len(g.Body.Nodes)), def: make([]int, n), uses: make([][]int, n),
		host: make([]bool, n), member: make([]*Object, len(g.Body.Nodes)), made: make([]string, n), names: make([]localName, n), root: fn == p.m.prog.Entry}
	p.codes[g] = t
	for i := range t.def {
		t.def[i] = -1
	}
	for i, n := range t.nodes {
		for _, v := range n.Outs {
			t.def[v.ID] = i
			t.host[v.ID] = t.number(n)
		}
		eachUse(n, func(v *program.Value) { t.uses[v.ID] = append(t.uses[v.ID], i) })
	}
	objects := map[int]*Object{}
	if len(g.Params) > 0 {
		objects[g.Params[0].ID] = self
	}
	callees := make([]*tracedCode, len(t.nodes))
	for i, n := range t.nodes {
		p.m.submodule(n, objects)
		if n.Op != "prim::CallMethod" {
			continue
		}
		callee := firstArg(n)
		if o := objects[callee]; o != nil {
			if def := t.def[callee]; def >= 0 && t.nodes[def].Op == "prim::GetAttr" && numbered(t.nodes[def].Text) {
				t.member[i] = objects[firstArg(t.nodes[def])]
			}
			if f := o.Class.Method(n.Text); f != nil {
				if sub, err := f.Graph(); err == nil {
					callees[i] = p.read(f, sub, o)
				}
			}
		}
	}
	t.frames = t.framesOf(p.m, g, self)
	t.findCalls(t.frames)
	t.base = baseNames(g, p.m.opensRecord(fn))
	t.findNames(callees)
	p.order = append(p.order, t)
	return t
}

// arithmetic are the operators that the tracer writes for those of sizes.
var arithmetic = map[string]bool{
	"aten::add": true, "aten::sub": true, "aten::rsub": true, "aten::mul": true, "aten::div": true, "aten::floor_divide": true, "aten::floordiv": true,
	"aten::remainder": true, "aten::neg": true, "aten::pow": true, "aten::floor": true, "aten::ceil": true, "aten::true_divide": true,
}

// number says whether a node gives a number: sizes are traced as tensors of one.
func (t *tracedCode) number(n *program.Node) bool {
	switch n.Op {
	case "prim::NumToTensor", "aten::size", "aten::Int", "aten::Float", "aten::Bool", "aten::ScalarImplicit", "aten::IntImplicit":
		return true
	}
	if !arithmetic[n.Op] {
		return false
	}
	some := false
	for j := range n.Args {
		if v := n.Args[j].Value; v != nil {
			if !t.host[v.ID] {
				return false
			}
			some = true
		}
	}
	return some
}

// firstArg is the value that a node takes first, -1 where that is none: a constant, which no printer writes there.
func firstArg(n *program.Node) int {
	if len(n.Args) == 0 || n.Args[0].Value == nil {
		return -1
	}
	return n.Args[0].Value.ID
}

// numbered says whether an attribute is a member of a Sequential or ModuleList.
func numbered(name string) bool { return name != "" && name[0] >= '0' && name[0] <= '9' }

// findNames finds the names of values in the calls that use them first, and what the function's results are called by its callers.
func (t *tracedCode) findNames(callees []*tracedCode) {
	for id := range t.def {
		def := t.def[id]
		if len(t.uses[id]) == 0 || t.host[id] || def < 0 {
			continue
		}
		o := t.origin(id, callees)
		t.made[id] = o.op
		if v := t.nodes[def].Args; o.op == "aten::to" && len(v) > 0 && v[0].Value != nil {
			t.made[id] = t.made[v[0].Value.ID] // the same value, where it is of that type
		}
		first := t.uses[id][0]
		switch op := t.nodes[first].Op; {
		case !o.known || op == "prim::CallMethod" || op == "prim::Return" || t.returned(first) || t.at[first].inner() == nil:
		default:
			t.names[id] = localName{call: t.at[first].inner(), base: o.base, none: o.base == ""}
		}
	}
	for id := range t.def {
		t.returnsArgument(id)
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
				t.given = append(t.given, o)
			}
		} else if def >= 0 && t.uses[id][0] == i {
			t.given = []origin{t.origin(id, callees)}
		}
	}
}

// sameTensor are operators that give back the very tensor that they were given where there is nothing to do.
var sameTensor = map[string]bool{"aten::to": true, "aten::contiguous": true, "aten::dropout": true, "aten::type_as": true}

// returnsArgument moves the name of a value that is used on the line that made it to the operator's argument, where the operator may give that back.
func (t *tracedCode) returnsArgument(id int) {
	name := t.names[id]
	if name.call == nil || name.none {
		return
	}
	n := t.nodes[t.def[id]]
	arg := firstArg(n)
	if !sameTensor[n.Op] || arg < 0 || t.leavesLine(id) {
		return
	}
	t.names[id] = localName{call: name.call, none: true}
	if t.def[arg] >= 0 && t.names[arg].call == nil {
		t.names[arg] = name
	}
}

// argumentOf is the value that an operator may have given back as id.
func (t *tracedCode) argumentOf(id int) int {
	for t.def[id] >= 0 && sameTensor[t.nodes[t.def[id]].Op] && firstArg(t.nodes[t.def[id]]) >= 0 {
		id = firstArg(t.nodes[t.def[id]])
	}
	return id
}

// returned says whether node i makes the tuple that the function returns.
func (t *tracedCode) returned(i int) bool {
	n := t.nodes[i]
	return n.Op == "prim::TupleConstruct" && len(t.uses[n.Outs[0].ID]) == 1 && t.nodes[t.uses[n.Outs[0].ID][0]].Op == "prim::Return"
}

// origin is the name of a value; a module's result was named by the function that made it, unless that used it itself.
func (t *tracedCode) origin(id int, callees []*tracedCode) origin {
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
		if c := callees[call]; c != nil && place < len(c.given) && (len(c.given) == 1) == (call == t.def[id]) {
			return c.given[place]
		}
		return origin{}
	}
	if t.base[id] == "" && n.Flags&program.InReturn != 0 {
		return origin{op: n.Op} // written without its name
	}
	return origin{known: true, base: t.base[id], op: n.Op}
}

// findTargets notes the names that the operators of t are known to give.
func (p *tracedProgram) findTargets(t *tracedCode) {
	for id, n := range t.names {
		if n.call == nil || n.none || t.at[t.def[id]].inner() != n.call {
			continue
		}
		key := t.lineOf(t.def[id])
		if was, ok := p.targets[key]; ok && was != n.base {
			p.targets[key] = "" // several on the line
			continue
		}
		p.targets[key] = n.base
	}
}

// bind gives values of unknown names those that the same line gives elsewhere, and lists the values of each name.
func (p *tracedProgram) bind(t *tracedCode) {
	t.bound = map[localName][]int{}
	var order []localName
	for id := range t.names {
		n := &t.names[id]
		def := t.def[id]
		switch {
		case len(t.uses[id]) == 0 || t.host[id]:
			continue
		case def < 0:
			if t.root && len(t.at) > 0 && t.base[id] != "" {
				if first := t.uses[id][0]; len(t.at[first].calls) > 0 {
					*n = localName{call: t.at[first].calls[0], base: t.base[id]}
				}
			}
		case n.call == nil && t.at[def].inner() != nil:
			if name := p.targets[t.lineOf(def)]; name != "" && t.leavesLine(id) {
				*n = localName{call: t.at[def].inner(), base: name}
			}
		}
		if n.call != nil && !n.none {
			if t.bound[*n] == nil {
				order = append(order, *n)
			}
			t.bound[*n] = append(t.bound[*n], id)
			p.made[n.base] = p.made[n.base] || def >= 0
		}
	}
	for _, n := range order {
		if len(t.bound[n]) > 1 {
			p.again[n.base] = true
		}
	}
}

// bindsParam says whether a function is likely to bind its parameter again. What the model is given has a telling name, unless that is a single
// letter or some result has it too; what goes from module to module does not.
func (p *tracedProgram) bindsParam(t *tracedCode, name string) bool {
	if !slices.ContainsFunc(p.m.prog.Entry.Params, func(q program.Param) bool { return q.Name == name }) {
		return true
	}
	return p.made[name] || t.root && len(name) == 1
}

// leavesLine says whether a value is first used on another line than it was made on.
func (t *tracedCode) leavesLine(id int) bool {
	def, first := t.def[id], t.uses[id][0]
	d := t.at[def].inner().depth
	return !t.at[first].in(t.at[def].inner()) || t.frames[first][d].Line != t.frames[def][d].Line
}

func (t *tracedCode) lineOf(i int) lineOf {
	f := t.frames[i][len(t.frames[i])-1]
	return lineOf{f.File, f.Function, t.nodes[i].Op, f.Line}
}

// opensRecord says whether fn is the first function of its record: the printer's counters begin anew there.
func (m *machine) opensRecord(fn *program.Func) bool {
	s := m.stacksOf()
	if s.opening == nil {
		s.opening = map[string]int{}
		for _, c := range m.prog.Classes {
			for _, f := range c.Methods {
				if line, ok := s.opening[f.Record]; !ok || f.Line < line {
					s.opening[f.Record] = f.Line
				}
			}
		}
	}
	return fn.Line == s.opening[fn.Record]
}

// baseNames takes the printer's counters off the names of a function's values: "" for values without a name of the user's. A name that is
// taken gets a counter of its file's behind it (torch/csrc/jit/serialization/python_print.cpp genName): in a file's first function it
// begins at 0, and always goes up by one.
func baseNames(g *program.Graph, first bool) []string {
	b := &bases{out: make([]string, g.NumValues), next: map[string]int{}, first: first}
	for _, p := range g.Params {
		b.add(p)
	}
	b.block(g.Body)
	return b.out
}

type bases struct {
	out   []string
	next  map[string]int // the counter a name gets next, -1 where that is not known; a name is there when it is taken
	first bool
}

func (b *bases) block(blk *program.Block) {
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

func (b *bases) add(v *program.Value) {
	if !printed(v.Name) {
		return
	}
	base := v.Name
	for end := len(base) - 1; end > 0 && base[end] >= '0' && base[end] <= '9'; end-- {
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
