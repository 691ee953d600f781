package locals

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/pysource"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
)

// TestScope goes through functions as the interpreter does. A case of the golden file is a line
// with two sharps and the reason, a function (line 1 is its def, with the parameters' names), and
// steps behind dashes, one a line:
//
//	4 y=A z=B     a node of the statement on line 4, whose results A and B those names are bound to
//	4 y=A again   the same node once more
//	4 takes A     a node that takes A
//	4 calls 7     a node that makes the call at column 7
//	4 all t=A,B   a node of several results, bound to one name as a tuple
//	if 6 then     the If of line 6; else; and fi 6 behind it
//	loop 8        the Loop of line 8; round 8 before each round, next 8 behind it; done 8 behind the loop
//
// Each step is followed by what the names hold, and what was released.
func TestScope(t *testing.T) {
	const file = "testdata/scope.txt"
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out strings.Builder
	for _, c := range strings.Split(string(data), "## ")[1:] {
		why, body, _ := strings.Cut(c, "\n")
		text, steps, _ := strings.Cut(body, "--\n")
		var lines []string
		for _, l := range strings.Split(strings.TrimSpace(steps), "\n") {
			step, _, _ := strings.Cut(l, "  |")
			lines = append(lines, strings.TrimSpace(step))
		}
		r := newRunner(t, text, lines)
		fmt.Fprintf(&out, "## %s\n%s--\n", why, text)
		for i, l := range lines {
			r.step(i, l)
			fmt.Fprintf(&out, "%-20s  | %s\n", l, r.state())
		}
		r.scope.Leave()
		for _, v := range r.values {
			require.Zero(t, v.refs, "%s: %s", why, v.name)
		}
		out.WriteString("\n")
	}
	golden.File(t, file, out.String())
}

// value is a value of a run.
type value struct {
	name string
	refs int
}

// runner runs one function.
type runner struct {
	t       *testing.T
	reader  Reader
	scope   *Scope
	names   *Names
	lines   []int // where each line begins
	nodes   []*program.Node
	ids     map[string]int
	values  map[string]*value
	dropped []string
}

func newRunner(t *testing.T, text string, steps []string) *runner {
	r := &runner{t: t, values: map[string]*value{}, ids: map[string]int{}}
	src := &program.SourceText{Text: text}
	at := 0
	for l := range strings.Lines(text) {
		r.lines = append(r.lines, at)
		at += len(l)
	}
	n := &Names{text: src, src: pysource.Read(text), stmt: make([]int32, len(steps)), header: make([]int32, len(steps)),
		bind: make([][]int32, 40)}
	r.names = n
	_, params, _ := strings.Cut(strings.SplitN(text, "\n", 2)[0], "(")
	var args []any
	for _, p := range strings.Split(strings.TrimSuffix(strings.TrimSpace(params), "):"), ", ") {
		n.local(p)
		v := r.value(strings.ToUpper(p))
		args = append(args, v)
	}
	for _, l := range n.src.Locals {
		n.local(l)
	}
	n.placed = make([]bool, len(n.src.Stmts))
	for i, l := range steps {
		words := strings.Fields(l)
		n.header[i] = nowhere
		if line, err := strconv.Atoi(words[0]); err == nil {
			n.stmt[i] = r.statement(line)
			n.placed[n.stmt[i]] = true
		} else {
			line, err := strconv.Atoi(words[1])
			require.NoError(t, err, l)
			n.stmt[i] = r.statement(line)
			n.header[i] = n.stmt[i]
			n.placed[n.stmt[i]] = true
		}
		node := &program.Node{Operation: &program.Operation{Where: program.Where{Stmt: int32(i)}}}
		r.nodes = append(r.nodes, node)
		for j, w := range words[1:] {
			name, v, ok := strings.Cut(w, "=")
			switch {
			case words[min(j, len(words)-1)] == "takes":
				node.Args = append(node.Args, program.Arg{Value: &program.Value{ID: r.id(w)}})
			case words[min(j, len(words)-1)] == "calls":
				col, err := strconv.Atoi(w)
				require.NoError(t, err, l)
				node.Op, node.Where.SourceRange = "prim::CallMethod", program.SourceRange{Text: src, Start: int32(col),
					End: int32(col) + 1}
			case ok && words[1] == "all":
				if n.together == nil {
					n.together = map[int]int32{}
				}
				n.together[i] = n.numberOf(name)
			case ok:
				if id := r.id(v); !slices.Contains(n.bind[id], n.numberOf(name)) {
					n.bind[id] = append(n.bind[id], n.numberOf(name))
				}
			}
		}
	}
	r.scope = r.reader.Enter(n, r, args)
	for _, v := range args {
		v.(*value).refs-- // the caller keeps its own
	}
	return r
}

// statement is the statement that begins on a line.
func (r *runner) statement(line int) int32 {
	for i := range r.names.src.Stmts {
		start := r.names.src.Stmts[i].Start
		if start >= r.lines[line-1] && (line == len(r.lines) || start < r.lines[line]) {
			return int32(i)
		}
	}
	require.Fail(r.t, "no statement", "line %d", line)
	return 0
}

func (r *runner) id(name string) int {
	if _, ok := r.ids[name]; !ok {
		r.ids[name] = len(r.ids)
	}
	return r.ids[name]
}

func (r *runner) value(name string) *value {
	v := r.values[name]
	if v == nil {
		v = &value{name: name}
		r.values[name] = v
		v.refs++
	}
	return v
}

func (r *runner) step(i int, l string) {
	r.dropped = nil
	words := strings.Fields(l)
	s := r.scope
	switch words[0] {
	case "if":
		s.Before(i, r.nodes[i])
		s.EnterBranch(i, words[2] == "then")
		return
	case "fi":
		s.LeaveBranch(i)
		return
	case "loop":
		s.Before(i, r.nodes[i])
		return
	case "round":
		s.EnterRound(i)
		return
	case "next":
		s.LeaveBranch(i)
		return
	case "done":
		s.LeaveLoop(i)
		return
	}
	s.Before(i, r.nodes[i])
	var made []string
	for _, w := range words[1:] {
		_, v, ok := strings.Cut(w, "=")
		if !ok || slices.Contains(made, v) {
			continue
		}
		made = append(made, v)
		if words[1] == "all" {
			t := &ops.Tuple{Refs: 1}
			for _, item := range strings.Split(v, ",") {
				x := r.value(item)
				t.Items = append(t.Items, x)
			}
			s.Together(i, t)
			r.Drop(t)
			continue
		}
		x := r.value(v)
		s.Made(r.id(v), x)
		r.Drop(x) // the register's own hold
	}
}

// state writes what the names hold, what is about to be bound, and what was released.
func (r *runner) state() string {
	var out []string
	i := 0
	r.scope.Show(func(filled bool, v any) {
		if i < len(r.names.locals) {
			if filled {
				out = append(out, r.names.locals[i]+"="+text(v))
			}
		} else if filled {
			out = append(out, "("+text(v)+")")
		}
		i++
	})
	if len(r.dropped) > 0 {
		out = append(out, "- "+strings.Join(r.dropped, " "))
	}
	return strings.Join(out, " ")
}

func text(v any) string {
	items := func(vs []any) string {
		out := make([]string, len(vs))
		for i, v := range vs {
			out[i] = text(v)
		}
		return strings.Join(out, ",")
	}
	switch v := v.(type) {
	case *value:
		return v.name
	case *ops.List:
		return "[" + items(v.Items) + "]"
	case *ops.Tuple:
		return "(" + items(v.Items) + ")"
	case string:
		return strconv.Quote(v)
	case nil:
		return "None"
	}
	return fmt.Sprint(v)
}

func (r *runner) Hold(v any) {
	switch v := v.(type) {
	case *value:
		v.refs++
	case *ops.List:
		v.Refs++
	case *ops.Tuple:
		v.Refs++
	}
}

func (r *runner) Drop(v any) {
	switch v := v.(type) {
	case *value:
		if v.refs--; v.refs == 0 {
			r.dropped = append(r.dropped, v.name)
		}
		require.GreaterOrEqual(r.t, v.refs, 0, v.name)
	case *ops.List:
		if v.Refs--; v.Refs == 0 {
			r.DropItems(v.Items)
		}
	case *ops.Tuple:
		if v.Refs--; v.Refs == 0 {
			r.DropItems(v.Items)
		}
	}
}

func (r *runner) DropItems(items []any) {
	for i := len(items) - 1; i >= 0; i-- {
		r.Drop(items[i])
	}
}

func (r *runner) Touch(any) {}

// Attribute gives self some: a switch that is on, one that is off, a number, nothing, a text, a
// list of tensors and a dict.
func (r *runner) Attribute(object any, name string) (any, bool) {
	if v, ok := object.(*value); !ok || v.name != "SELF" {
		return nil, false
	}
	list := func(names ...string) any {
		l := &ops.List{Refs: 1 << 20}
		for _, n := range names {
			l.Items = append(l.Items, r.kept(n))
		}
		return l
	}
	switch name {
	case "on", "off":
		return name == "on", true
	case "three":
		return int64(3), true
	case "zero":
		return int64(0), true
	case "none":
		return nil, true
	case "mode":
		return "wide", true
	case "empty":
		return "", true
	case "weight":
		return r.kept("W"), true
	case "layers":
		return list("L0", "L1"), true
	case "nothing":
		return list(), true
	case "table":
		return &ops.Dict{Keys: []any{"k"}, Values: []any{r.kept("D")}}, true
	}
	return nil, false
}

// kept is a value that the module holds.
func (r *runner) kept(name string) *value {
	return &value{name: name, refs: 1 << 20}
}
