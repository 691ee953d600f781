package inductor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/program"
)

// Python's wrappers keep a choice's ways, a loop's condition and body, and the parts of a graph that is cut for CUDA graphs (graph_partition) in
// functions of their own, which take a list of arguments and empty it. They are read where they are called.

// Bounds of what a text may unfold to: the lines of functions each time they are called, with the members of lists that are declared; and one list's.
const (
	maxInlined = 1 << 16
	maxList    = 1 << 12
)

// lines reads a block.
func (r *pyReader) lines(list []codeLine) error {
	for len(list) > 0 {
		l := &list[0]
		if r.returned {
			return fail(l.where(), "got code after the return, want the end of call")
		}
		if first := l.words[0]; first.kind != nameToken || first.text != "if" && first.text != "while" {
			if err := r.line(l); err != nil {
				return err
			}
			list = list[1:]
			continue
		}
		rest, err := r.control(list)
		if err != nil {
			return err
		}
		list = rest
	}
	return nil
}

// control reads what begins with if or while, and returns the lines behind it.
func (r *pyReader) control(list []codeLine) ([]codeLine, error) {
	l := &list[0]
	block := blockOf(list)
	list = list[1+len(block):]
	test, not, err := condition(l)
	if err != nil {
		return nil, err
	}
	inner := func(lines []codeLine) func() error { return func() error { return r.lines(lines) } }
	switch {
	case not && len(block) == 1 && strings.HasPrefix(block[0].text(), "raise "):
		r.bounded(test)
		return list, nil
	case l.words[0].text == "while":
		if not || test.kind != nameTerm {
			return nil, fail(l.where(), "got a loop while %s, want a name", test)
		}
		before := maps.Clone(r.names)
		return list, r.loop(l.where(), func() error {
			value, err := r.truth(test)
			if err != nil {
				return err
			}
			if err := r.leaves(value, before, l.where()); err != nil {
				return err
			}
			return r.lines(block)
		})
	case not: // if not should_loop:
		value, err := r.truth(test)
		if err != nil {
			return nil, err
		}
		return list, r.choice(value, 0, l.where(), inner(block), func() error { return nil })
	case test.kind != signTerm || test.text != "==" || test.args[0].kind != nameTerm || test.args[1].kind != intTerm:
		return nil, fail(l.where(), "got a block that runs if %s, want a value that was read held against a number", test)
	}
	n := r.reads[test.args[0].text]
	if n == nil || len(n.Outs) != 1 {
		return nil, fail(l.where(), "got a block that runs if %s, want a value that was read held against a number", test.args[0])
	}
	var other []codeLine
	if len(list) > 0 && list[0].indent == l.indent {
		switch list[0].words[0].text {
		case "else":
			if list[0].text() != "else :" {
				return nil, fail(list[0].where(), "got %s, want else:", short(list[0].text()))
			}
			other = blockOf(list)
			list = list[1+len(other):]
		case "elif": // an if in the block of an else
			end := 1 + len(blockOf(list))
			for end < len(list) && list[end].indent == l.indent && (list[end].words[0].text == "elif" || list[end].words[0].text == "else") {
				end += 1 + len(blockOf(list[end:]))
			}
			other = slices.Clone(list[:end])
			other[0].words = slices.Clone(other[0].words)
			other[0].words[0].text = "if"
			list = list[end:]
		}
	}
	return list, r.choice(n.Outs[0], test.args[1].n, l.where(), inner(block), inner(other))
}

// condition reads if X:, if not X:, while X:.
func condition(l *codeLine) (test *term, not bool, err error) {
	p := &parser{toks: l.words, lang: python, pos: 1}
	if t := p.peek(); t.kind == nameToken && t.text == "not" {
		not = true
		p.pos++
	}
	if test, err = p.term(); err != nil {
		return nil, not, err
	}
	if !p.take(":") || p.peek().kind != endToken {
		return nil, not, fail(p.peek().where, "got %s, want : and the end of the line", got(p.peek()))
	}
	if test == nil {
		return nil, not, fail(l.where(), "got no condition")
	}
	return test, not, nil
}

// truth reads the value of a tensor that decides.
func (r *pyReader) truth(x *term) (*program.Value, error) {
	a, ok := r.names[x.text]
	if x.kind != nameTerm || !ok || a.Value == nil {
		return nil, fail(x.where, "got %s, want a tensor to decide by", x)
	}
	return r.item("", a, x.where), nil
}

// readsValue reads u0 = arg0_1.item(), buf3_selector = int(buf1.item()) and u0 = buf1.size(0); ok says whether it is one of them.
func (r *pyReader) readsValue(name string, x *term) (ok bool, err error) {
	if x.kind == callTerm && x.text == "int" && len(x.args) == 1 {
		x = x.args[0]
	}
	if x.kind != callTerm {
		return false, nil
	}
	of, method := x.text, ""
	if at := strings.LastIndexByte(of, '.'); at > 0 {
		of, method = of[:at], of[at+1:]
	}
	a, known := r.names[of]
	if !known || a.Value == nil {
		return false, nil
	}
	switch {
	case method == "item" && len(x.args) == 0:
		r.item(name, a, x.where)
	case method == "size" && len(x.args) == 1 && x.args[0].kind == intTerm:
		r.size(name, a, x.args[0].n, x.where)
	default:
		return false, nil
	}
	delete(r.numbers, name)
	return true, nil
}

// element is the name of a list's member.
func element(list string, i int64) string { return fmt.Sprintf("%s[%d]", list, i) }

// list reads a = [b, c], which holds its members, and a = [None] * 2; ok says whether it is one.
func (r *pyReader) list(name string, x *term) (ok bool, err error) {
	if x.kind == signTerm && x.text == "*" && len(x.args) == 2 && x.args[0].kind == listTerm && len(x.args[0].args) == 1 && x.args[0].args[0].text == "None" && x.args[1].kind == intTerm {
		n := x.args[1].n
		if r.inlined += int(min(max(n, 0), maxList)); n < 0 || n > maxList || r.inlined > maxInlined {
			return true, fail(x.where, "got a list of %d, want one of at most %d results, and %d together", n, maxList, maxInlined)
		}
		r.lists[name] = n
		for i := range n {
			r.declare(element(name, i), x.where)
		}
		return true, nil
	}
	if x.kind != listTerm {
		return false, nil
	}
	r.lists[name] = int64(len(x.args))
	for i, item := range x.args {
		to := element(name, int64(i))
		if n, nested := r.lists[item.text]; nested && item.kind == nameTerm {
			inner := &term{kind: listTerm, where: item.where}
			for j := range n {
				inner.args = append(inner.args, &term{kind: indexTerm, args: []*term{item, {kind: intTerm, n: j}}, where: item.where})
			}
			if _, err := r.list(to, inner); err != nil {
				return true, err
			}
			continue
		}
		a, isTensor := r.member(item)
		if !isTensor {
			if err := computed(item); err != nil {
				return true, err
			}
			if item.kind == nameTerm && !r.known(item.text) {
				return true, fail(item.where, "got %s, want a buffer or a number", item)
			}
			delete(r.names, to)
			r.numbers[to] = item
			continue
		}
		delete(r.numbers, to)
		r.counter++
		temp := fmt.Sprintf("member %d", r.counter)
		r.view(temp, a, nil, x.where)
		if err := r.give(to, temp, x.where); err != nil {
			return true, err
		}
	}
	return true, nil
}

// member is the tensor that a name or a list's member stands for.
func (r *pyReader) member(x *term) (program.Arg, bool) {
	name := x.text
	if x.kind == indexTerm && x.args[0].kind == nameTerm && x.args[1].kind == intTerm {
		name = element(x.args[0].text, x.args[1].n)
	} else if x.kind != nameTerm {
		return program.Arg{}, false
	}
	a, ok := r.names[name]
	return a, ok && a.Value != nil
}

// give moves what one name holds to another, which may be there already.
func (r *pyReader) give(to, from string, where place) error {
	if a, there := r.names[to]; there && a.Value != nil {
		return r.assign(to, from, where)
	}
	return r.move(to, from, where)
}

// targets are the names that a line gives something: x, x[0], (x[0], x[1]), (x,); the name alone where the list of all results is meant.
func (r *pyReader) targets(l []token) (names []string, whole bool, err error) {
	p := &parser{toks: append(slices.Clone(l), token{where: l[0].where}), lang: python}
	x, err := p.term()
	if err != nil {
		return nil, false, err
	}
	if x == nil || p.peek().kind != endToken {
		return nil, false, fail(l[0].where, "got an assignment to %s…, want one to names", short(l[0].text))
	}
	if x.kind == nameTerm {
		return []string{x.text}, true, nil
	}
	list := []*term{x}
	if x.kind == listTerm {
		list = x.args
	}
	for _, t := range list {
		switch {
		case t.kind == nameTerm:
			names = append(names, t.text)
		case t.kind == indexTerm && t.args[0].kind == nameTerm && t.args[1].kind == intTerm && t.args[1].n >= 0 && t.args[1].n < r.lists[t.args[0].text]:
			names = append(names, element(t.args[0].text, t.args[1].n))
		default:
			return nil, false, fail(t.where, "got an assignment to %s, want one to a name or to a member of a list", t)
		}
	}
	return names, false, nil
}

// called is the function that a term calls; "" where it calls none of the module's.
func (r *pyReader) called(x *term) string {
	if x.kind != callTerm {
		return ""
	}
	for i, name := range r.module.partitions {
		if x.text == element("self.partitions", int64(i)) {
			return name
		}
	}
	if r.module.functions[x.text] != nil {
		return x.text
	}
	return ""
}

// callsOwn reads a call of one of the module's functions, and gives its results to names.
func (r *pyReader) callsOwn(words []token, x *term) error {
	targets, whole, err := r.targets(words)
	if err != nil {
		return err
	}
	results, err := r.inline(r.called(x), x)
	if err != nil {
		return err
	}
	if whole { // the list of them
		name := targets[0]
		if n, ok := r.lists[name]; ok && n != int64(len(results)) {
			return fail(x.where, "got %d results for a list of %d", len(results), n)
		}
		r.lists[name] = int64(len(results))
		targets = nil
		for i := range results {
			targets = append(targets, element(name, int64(i)))
		}
	}
	if len(targets) != len(results) {
		return fail(x.where, "got %d results for %d names", len(results), len(targets))
	}
	for i, a := range results {
		if a.Value == nil {
			delete(r.names, targets[i])
			r.numbers[targets[i]] = &term{kind: nameTerm, text: "None", where: x.where}
			continue
		}
		r.counter++
		temp := fmt.Sprintf("result %d", r.counter)
		r.bind(temp, a)
		if err := r.give(targets[i], temp, x.where); err != nil {
			return err
		}
	}
	return nil
}

// inline reads a function's lines where it is called, and returns its results, which nothing holds yet.
func (r *pyReader) inline(name string, x *term) ([]program.Arg, error) {
	block := r.module.functions[name]
	if len(x.args) != 1 || x.args[0].kind != nameTerm {
		return nil, fail(x.where, "got a call of %s, want one with a list of arguments", short(name))
	}
	list := x.args[0].text
	n, ok := r.lists[list]
	if !ok {
		return nil, fail(x.where, "got %s, want a list of arguments", x.args[0])
	}
	r.inlined += len(block)
	if r.depth++; r.depth > maxNested || r.inlined > maxInlined {
		return nil, fail(x.where, "got functions that call others deeper than %d, or of more than %d lines together", maxNested, maxInlined)
	}
	defer func() { r.depth-- }()
	calling, returns, returned, names, lists := r.calling, r.returns, r.returned, r.names, r.lists
	r.calling = make([]callee, n)
	for i := range n {
		from := element(list, i)
		r.calling[i] = callee{tensor: names[from], number: r.numbers[from]}
		r.forget(from)
		for j := range lists[from] {
			member := element(from, j)
			r.calling[i].members = append(r.calling[i].members, names[member])
			r.forget(member)
		}
	}
	owned := r.owned
	r.names, r.owned, r.lists, r.returns, r.returned = map[string]program.Arg{}, nil, map[string]int64{}, nil, false
	if err := r.lines(block); err != nil {
		return nil, err
	}
	if !r.returned {
		return nil, fail(x.where, "got the function %s without a return", short(name))
	}
	for len(r.owned) > 0 { // its locals, in their order
		if err := r.free(r.owned[0], x.where); err != nil {
			return nil, err
		}
	}
	results := r.returns
	r.calling, r.returns, r.returned, r.names, r.owned, r.lists = calling, returns, returned, names, owned, lists
	return results, nil
}

// callee is an argument of a function of the module's.
type callee struct {
	tensor  program.Arg
	number  *term
	members []program.Arg // of a list
}

// unpacks reads a, b = args in a function of the module's: the list gives up its members.
func (r *pyReader) unpacks(l []token) error {
	i := 0
	for at, t := range l {
		if t.kind == signToken && t.text == "," && at%2 == 1 {
			continue
		}
		if t.kind != nameToken || at%2 == 1 || i >= len(r.calling) {
			return fail(t.where, "got %s among %d arguments, want their names", got(&t), len(r.calling))
		}
		given := r.calling[i]
		i++
		if given.members != nil {
			r.lists[t.text] = int64(len(given.members))
			for j, a := range given.members {
				r.takesOver(element(t.text, int64(j)), a, t.where)
			}
			continue
		}
		if given.tensor.Value == nil {
			if given.number != nil && !(given.number.kind == nameTerm && given.number.text == t.text) {
				r.numbers[t.text] = given.number
			}
			continue
		}
		r.takesOver(t.text, given.tensor, t.where)
	}
	if i != len(r.calling) {
		return fail(l[0].where, "got %d names for %d arguments", i, len(r.calling))
	}
	return nil
}

// takesOver gives a name what an argument holds.
func (r *pyReader) takesOver(name string, a program.Arg, where place) {
	n := r.node(program.BufferMove, where)
	n.Args = []program.Arg{a}
	v := r.name(name, n)
	r.made[v] = r.made[a.Value]
}

// setMember reads buf1[0] = buf0 and buf1[0] = buf0.clone().
func (r *pyReader) setMember(l []token, x *term) error {
	targets, _, err := r.targets(l)
	if err != nil {
		return err
	}
	r.counter++
	temp := fmt.Sprintf("member %d", r.counter)
	if of, ok := strings.CutSuffix(x.text, ".clone"); ok && x.kind == callTerm && len(x.args) == 0 && r.names[of].Value != nil {
		n := r.node("aten::clone", x.where)
		n.Told, n.Args = &program.Told{Key: "aten::clone"}, []program.Arg{r.names[of]}
		r.made[r.name(temp, n)] = n
	} else if a, ok := r.member(x); ok {
		r.view(temp, a, nil, x.where)
	} else {
		return fail(x.where, "got %s, want a buffer", x)
	}
	return r.give(targets[0], temp, x.where)
}
