package program

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// This file writes programs as text, for people and for golden files.
//
//	state 0 parameter conv1.weight float32[64, 3, 7, 7] storage 0 of 37632 data/0
//	func __torch__.net.Net.forward(self, x: Tensor) -> Tensor  # code/__torch__/net.py:6
//	  conv%2 = prim::GetAttr(self%0).conv  # 0 net.py:12
//	  y%3 = prim::CallMethod(conv%2, x%1).forward  # 1 net.py:12
//	  prim::Return(y%3)  # 2 return net.py:13
//
// A value is its printed name, a percent sign and its number. After the number sign: the printed
// statement, the flags, and the place in the user's own source.

// Write writes the whole program, every function lowered.
func Write(w io.Writer, p *Program) error {
	b := &printer{Writer: bufio.NewWriter(w)}
	b.program(p)
	for _, c := range p.Classes {
		b.class(c)
	}
	for _, c := range p.Classes {
		for _, f := range c.Methods {
			if err := b.function(f); err != nil {
				return err
			}
		}
	}
	for _, f := range p.Funcs {
		if err := b.function(f); err != nil {
			return err
		}
	}
	if p.Root == nil && p.Entry != nil {
		if err := b.function(p.Entry); err != nil {
			return err
		}
	}
	return b.Flush()
}

// WriteFunc writes one function.
func WriteFunc(w io.Writer, f *Func) error {
	b := &printer{Writer: bufio.NewWriter(w)}
	if err := b.function(f); err != nil {
		return err
	}
	return b.Flush()
}

type printer struct {
	*bufio.Writer
	forked []*Func // to be written after the function that holds them
}

func (b *printer) printf(format string, args ...any) { fmt.Fprintf(b, format, args...) }

func (b *printer) program(p *Program) {
	b.printf("program %s, %s, records %s\n", p.Format, p.Producer, p.Records)
	if p.Entry != nil {
		b.printf("entry %s\n", p.Entry.Name)
	}
	for _, n := range p.Notes {
		b.printf("note %s\n", n)
	}
	for _, s := range p.Symbols {
		b.printf("symbol %s %s", s.Name, s.span())
		if s.Unbacked {
			b.printf(" unbacked")
		}
		if s.Example != 0 {
			b.printf(", example %d", s.Example)
		}
		b.printf("\n")
	}
	for i, s := range p.States {
		b.printf("state %d %s %s %s%s", i, s.Class, s.Name, s.Meta.DType, dims(s.Meta.Sizes))
		if !s.Meta.IsContiguous() {
			b.printf(" strides %s", dims(s.Meta.Strides))
		}
		if s.Meta.StorageOffset != 0 {
			b.printf(" offset %d", s.Meta.StorageOffset)
		}
		b.printf(" %s storage %d of %d %s", s.Meta.Device, s.Storage, s.NBytes, s.Record)
		if s.Meta.RequiresGrad {
			b.printf(" requires_grad")
		}
		if s.Packed {
			b.printf(" packed")
		}
		switch {
		case s.Data == nil:
		case s.Data.Floats != nil:
			b.printf(" = %v", s.Data.Floats)
		default:
			b.printf(" = %v", s.Data.Ints)
		}
		b.printf("\n")
	}
	for _, m := range p.Modules {
		b.printf("module %s %s\n", strconv.Quote(m.FQN), m.Class)
		if m.Object == nil {
			continue
		}
		for i, v := range m.Object.Attrs {
			if o, ok := v.(*Object); ok && o.Class.Kind == ModuleClass || m.Object.Class.Attrs[i].HasDef {
				continue // listed itself, or the class's
			}
			b.printf("  %s = %s\n", m.Object.Class.Attrs[i].Name, literal(v))
		}
		if m.Object.HasState {
			b.printf("  __setstate__(%s)\n", literal(m.Object.State))
		}
	}
}

func dims(d []int64) string {
	return strings.ReplaceAll(fmt.Sprint(d), " ", ", ")
}

var classKinds = [...]string{"class", "module class", "named tuple", "enum", "interface"}

func (b *printer) class(c *Class) {
	b.printf("%s %s\n", classKinds[c.Kind], c.Name)
	if len(c.Parameters) > 0 {
		b.printf("  parameters %s\n", strings.Join(c.Parameters, ", "))
	}
	if len(c.Buffers) > 0 {
		b.printf("  buffers %s\n", strings.Join(c.Buffers, ", "))
	}
	for _, a := range c.Attrs {
		b.printf("  %s", a.Name)
		if a.Type != nil {
			b.printf(": %s", a.Type)
		}
		if a.HasDef {
			b.printf(" = %s", literal(a.Default))
		}
		b.printf("\n")
	}
}

func (b *printer) function(f *Func) error {
	g, err := f.Graph()
	if err != nil {
		return err
	}
	b.printf("func %s(", f.Name)
	for i, p := range f.Params {
		if i > 0 {
			b.printf(", ")
		}
		b.printf("%s", valueName(g.Params[i]))
		if p.Type != nil {
			b.printf(": %s", p.Type)
		}
		if p.Meta != nil {
			b.printf(" %s", p.Meta)
		}
		if p.Size != nil {
			b.printf(" %s", p.Size)
		}
		if p.HasDef {
			b.printf(" = %s", literal(p.Default))
		}
	}
	b.printf(")")
	if f.Result != nil {
		b.printf(" -> %s", f.Result)
	}
	b.printf("  # %s:%d\n", f.Record, f.Line)
	for _, in := range f.Inputs {
		b.printf("  input %s = %s\n", in.Name, in.Tree)
	}
	if f.Output != nil {
		b.printf("  result = %s\n", f.Output)
	}
	held := len(b.forked)
	b.block(g.Body, "  ")
	forked := b.forked[held:]
	for _, f := range forked {
		if err := b.function(f); err != nil {
			return err
		}
	}
	return nil
}

func (b *printer) block(bl *Block, indent string) {
	for _, n := range bl.Nodes {
		b.node(n, indent)
	}
}

func (b *printer) node(n *Node, indent string) {
	b.WriteString(indent)
	for i, v := range n.Outs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(valueName(v))
		if v.Type != nil {
			b.WriteString(": " + v.Type.String())
		}
	}
	if len(n.Outs) > 0 {
		b.WriteString(" = ")
	}
	if n.Key() != "" {
		b.WriteString(n.Key())
	} else {
		b.WriteString(n.Op)
	}
	b.args(n.Args)
	if n.Callee != nil {
		b.WriteString(" " + n.Callee.Name)
		if n.Op == "prim::fork" {
			b.forked = append(b.forked, n.Callee)
		}
	}
	if n.Text != "" {
		b.WriteString("." + n.Text)
	}
	if n.Means != NoUpgrade {
		b.WriteString(" upgrader " + n.Means.String())
	}
	for _, t := range n.Types {
		b.WriteString(" as " + t.String())
	}
	for i, m := range n.Recorded() {
		b.WriteString([2]string{", ", " -> "}[b2i(i == 0)])
		if m == nil {
			b.WriteString("no tensor")
		} else {
			b.WriteString(m.String())
		}
	}
	b.printf("  # %d", n.Where.Stmt)
	if call := n.Where.Call; call != nil {
		b.printf(" in %s", strconv.Quote(call.Module.FQN))
	}
	if n.Flags&InReturn != 0 {
		b.WriteString(" return")
	}
	if n.Flags&Nested != 0 {
		b.WriteString(" nested")
	}
	if p := n.Where.Pos(); p.File != "" {
		b.printf(" %s:%d", p.File[strings.LastIndexByte(p.File, '/')+1:], p.Line)
	}
	b.WriteString("\n")
	for _, bl := range n.Blocks {
		b.WriteString(indent + "  block")
		for i, v := range bl.Params {
			b.WriteString([2]string{", ", " "}[b2i(i == 0)] + valueName(v))
		}
		b.WriteString("\n")
		b.block(bl, indent+"    ")
		if len(bl.Outs) > 0 {
			b.WriteString(indent + "    ")
			b.args(bl.Outs)
			b.WriteString("\n")
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (b *printer) args(args []Arg) {
	b.WriteString("(")
	for i, a := range args {
		if i > 0 {
			b.WriteString(", ")
		}
		if a.Name != "" {
			b.WriteString(a.Name + "=")
		}
		b.arg(&a)
	}
	b.WriteString(")")
}

func (b *printer) arg(a *Arg) {
	switch {
	case a.Value != nil:
		b.WriteString(valueName(a.Value))
	case a.Items != nil:
		b.WriteString("[")
		for i := range a.Items {
			if i > 0 {
				b.WriteString(", ")
			}
			b.arg(&a.Items[i])
		}
		b.WriteString("]")
	default:
		b.WriteString(literal(a.Const))
	}
}

func valueName(v *Value) string {
	return v.Name + "%" + strconv.Itoa(v.ID)
}

// literal writes a literal as Python would, and what Python has no literal for by its name.
func literal(v any) string { return literalDepth(v, 0) }

// maxLiteralDepth is how deep literals are written: an object may hold itself.
const maxLiteralDepth = 8

func literalDepth(v any, depth int) string {
	if depth > maxLiteralDepth {
		return "…"
	}
	list := func(open string, items []any, end string) string {
		parts := make([]string, len(items))
		for i, x := range items {
			parts[i] = literalDepth(x, depth+1)
		}
		return open + strings.Join(parts, ", ") + end
	}
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if strings.Trim(s, "-0123456789") == "" {
			s += "."
		}
		return s
	case Size:
		return v.String()
	case complex128:
		return literalDepth(real(v), depth) + "+" + literalDepth(imag(v), depth) + "j"
	case string:
		return strconv.Quote(v)
	case Device:
		return "device(" + string(v) + ")"
	case *State:
		return "state " + v.Name
	case *Object:
		if v.Class.Kind == ModuleClass {
			return "module " + strconv.Quote(v.FQN)
		}
		return "object of " + v.Class.Name + list("(", v.Attrs, ")")
	case *Opaque:
		return v.Class + "(" + literalDepth(v.State, depth+1) + ")"
	case EnumLit:
		return v.Class.Name + "." + v.Name
	case *ListLit:
		s := list("[", v.Items, "]")
		if v.Elem != nil && len(v.Items) == 0 {
			s += ": List[" + v.Elem.String() + "]"
		}
		return s
	case *TupleLit:
		s := list("(", v.Items, ")")
		if v.Class != nil {
			s = v.Class.Name + s
		}
		return s
	case *DictLit:
		parts := make([]string, len(v.Keys))
		for i, k := range v.Keys {
			parts[i] = literalDepth(k, depth+1) + ": " + literalDepth(v.Values[i], depth+1)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}
