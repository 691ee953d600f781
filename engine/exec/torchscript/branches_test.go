package torchscript

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
)

// TestEagerUses goes through bodies as the interpreter lays them out. A line is a node: what it
// makes, its operator and its arguments, of which one with a bang is used there for the last time;
// behind a dash stands what the node releases besides. A deeper line is in a branch of the If above
// it, and `else` begins the other one; `gives` is what a branch hands on.
func TestEagerUses(t *testing.T) {
	for _, tt := range []struct{ why, in, want string }{
		{"1 / x holds x until the function returns, behind the product",
			"y = 1/ x!\nz = mul y!\nw = neg z!",
			"y = 1/ x\nz = mul y! - x\nw = neg z!"},
		{"also where the product is the last, with what that frees itself",
			"y = 1/ x!\nz = mul y! - w\nv = neg z! - q",
			"y = 1/ x\nz = mul y! - w x\nv = neg z! - q"},
		{"and is alone behind it",
			"y = 1/ x!\nz = mul y!",
			"y = 1/ x\nz = mul y! - x"},
		{"a reciprocal of the program's own does not",
			"y = reciprocal x!\nz = mul y!",
			"y = reciprocal x!\nz = mul y!"},
		{"nor one of what is used later",
			"y = 1/ x\nz = mul y! x!",
			"y = 1/ x\nz = mul y! x!"},
		{"one that ends a body has nothing behind it, and goes as other operators do",
			"y = 1/ x!",
			"y = 1/ x!"},
		{"nor has one without arguments an argument",
			"y = 1/\nz = mul y!",
			"y = 1/\nz = mul y!"},
		{"one that ends a branch too; what is behind the If is not behind it",
			"a = If c! - x\n  y = 1/ x\n  gives y\nz = neg a!",
			"a = If c!\n  y = 1/ x!\n  gives y\n else dead x\nz = neg a!"},
		{"a branch frees with its own last use, one without a use at its start",
			"a = If c! - x\n  y = neg x\n  z = abs x\n  gives z\n else\n  w = neg c\n  gives w",
			"a = If c!\n  y = neg x\n  z = abs x!\n  gives z\n else dead x\n  w = neg c\n  gives w"},
		{"of an argument twice it is the later one",
			"a = If c! - x\n  y = add x x\n  gives y",
			"a = If c!\n  y = add x x!\n  gives y\n else dead x"},
		{"what a branch hands on stays behind the If, though the other frees it",
			"a = If c! - x\n  y = neg x\n  gives x\n else\n  w = neg x\n  gives w",
			"a = If c! - x\n  y = neg x\n  gives x\n else\n  w = neg x!\n  gives w"},
		{"within two",
			"a = If c! - x\n  b = If c\n    y = neg x\n    gives y\n  gives b",
			"a = If c!\n  b = If c\n    y = neg x!\n    gives y\n   else dead x\n  gives b\n else dead x"},
		{"within two, of which the inner hands it on",
			"a = If c! - x\n  b = If c\n    y = neg x\n    gives x\n  gives b",
			"a = If c!\n  b = If c - x\n    y = neg x\n    gives x\n   else dead x\n  gives b\n else dead x"},
		{"a loop in a branch frees behind itself",
			"a = If c! - x\n  b = Loop c\n    y = neg x\n    gives y\n  gives b",
			"a = If c!\n  b = Loop c - x\n    y = neg x\n    gives y\n  gives b\n else dead x"},
		{"what the If makes and nothing uses goes behind it",
			"a = If c! - a\n  y = neg c\n  gives y",
			"a = If c! - a\n  y = neg c\n  gives y"},
		{"a loop's own are left alone, what is in it is not",
			"b = Loop c - x\n  a = If c - x\n    y = neg x\n    gives y\n  gives a",
			"b = Loop c - x\n  a = If c\n    y = neg x!\n    gives y\n   else dead x\n  gives a"},
	} {
		r := &layoutText{ids: map[string]*program.Value{}}
		lines := strings.Split(tt.in, "\n")
		b := r.read(&lines, "")
		require.Empty(t, lines, tt.why)
		eagerUses(&code{body: b})
		require.Equal(t, tt.want, strings.TrimSuffix(r.write(b, ""), "\n"), tt.why)
	}
}

// layoutText reads and writes bodies.
type layoutText struct {
	ids   map[string]*program.Value
	names []string
}

func (r *layoutText) value(name string) *program.Value {
	v := r.ids[name]
	if v == nil {
		v = &program.Value{ID: len(r.names), Name: name}
		r.ids[name], r.names = v, append(r.names, name)
	}
	return v
}

func (r *layoutText) read(lines *[]string, indent string) *block {
	b := &block{src: &program.Block{}}
	for len(*lines) > 0 {
		l, ok := strings.CutPrefix((*lines)[0], indent)
		if !ok || strings.HasPrefix(l, "else") || indent != "" && strings.HasPrefix((*lines)[0], indent[1:]+"else") {
			break
		}
		*lines = (*lines)[1:]
		words := strings.Fields(l)
		if words[0] == "gives" {
			b.src.Outs = append(b.src.Outs, program.Arg{Value: r.value(words[1])})
			continue
		}
		in := inst{node: &program.Node{Operation: &program.Operation{Op: "aten::" + words[2]},
			Outs: []*program.Value{r.value(words[0])}}}
		switch words[2] {
		case "If", "Loop":
			in.node.Op = "prim::" + words[2]
		case "1/":
			in.node.Op, in.node.Flags = "aten::reciprocal", program.Builtin
		}
		drops := false
		for _, w := range words[3:] {
			name, last := strings.CutSuffix(w, "!")
			switch {
			case w == "-":
				drops = true
			case drops:
				in.drop = append(in.drop, r.value(w).ID)
			default:
				in.node.Args, in.move = append(in.node.Args, program.Arg{Value: r.value(name)}), append(in.move, last)
			}
		}
		if strings.HasPrefix(in.node.Op, "prim::") {
			in.blocks = append(in.blocks, r.read(lines, indent+"  "))
			other := &block{src: &program.Block{}}
			if len(*lines) > 0 && (*lines)[0] == indent+" else" {
				*lines = (*lines)[1:]
				other = r.read(lines, indent+"  ")
			}
			if in.node.Op == "prim::If" {
				in.blocks = append(in.blocks, other)
			}
		}
		b.insts = append(b.insts, in)
	}
	return b
}

func (r *layoutText) write(b *block, indent string) string {
	var out strings.Builder
	for i := range b.insts {
		in := &b.insts[i]
		op := strings.TrimPrefix(strings.TrimPrefix(in.node.Op, "aten::"), "prim::")
		if in.node.Flags&program.Builtin != 0 {
			op = "1/"
		}
		fmt.Fprintf(&out, "%s%s = %s", indent, in.node.Outs[0].Name, op)
		for j := range in.node.Args {
			fmt.Fprintf(&out, " %s", in.node.Args[j].Value.Name)
			if in.move[j] {
				out.WriteString("!")
			}
		}
		r.list(&out, " -", in.drop)
		out.WriteString("\n")
		for k, sub := range in.blocks {
			if k == 1 && (len(sub.insts) > 0 || len(sub.dead) > 0) {
				out.WriteString(indent + " else")
				r.list(&out, " dead", sub.dead)
				out.WriteString("\n")
			}
			out.WriteString(r.write(sub, indent+"  "))
			for _, o := range sub.src.Outs {
				fmt.Fprintf(&out, "%s  gives %s", indent, o.Value.Name)
				if k == 0 {
					r.list(&out, " dead", sub.dead)
				}
				out.WriteString("\n")
			}
		}
	}
	return out.String()
}

func (r *layoutText) list(out *strings.Builder, word string, ids []int) {
	if len(ids) > 0 {
		out.WriteString(word)
	}
	for _, id := range ids {
		out.WriteString(" " + r.names[id])
	}
}
