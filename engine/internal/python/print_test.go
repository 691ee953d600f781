package python

import (
	"fmt"
	"strings"
)

// This file writes trees as text, in the layout of PyTorch's printer: what was read is compared
// with the text that it was read from.

// Print writes a file.
func Print(f *File) string {
	w := printer{file: f}
	w.stmts(f.Body)
	return w.String()
}

// PrintExpr writes one expression.
func PrintExpr(x Expr) string {
	var w printer
	w.expr(x)
	return w.String()
}

type printer struct {
	strings.Builder
	file  *File
	level int
	flat  bool // parameters on one line: what PyTorch does for interfaces
}

func (w *printer) indent() {
	for range w.level {
		w.WriteString("  ")
	}
}

func (w *printer) block(body []Stmt) {
	w.level++
	w.stmts(body)
	w.level--
}

func (w *printer) stmts(body []Stmt) {
	for _, s := range body {
		w.indent()
		w.stmt(s)
	}
}

func (w *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Import:
		w.line("import ", s.Path)
	case *ClassDef:
		if s.Base == "" {
			w.line("class ", s.Name, ":")
		} else {
			w.line("class ", s.Name, "(", s.Base, "):")
		}
		w.flat = strings.HasSuffix(s.Base, "Interface")
		w.block(s.Body)
		w.flat = false
	case *FuncDef:
		w.funcDef(s)
	case *Assign:
		w.assign(s)
	case *ExprStmt:
		w.expr(s.X)
		w.line()
	case *If:
		w.head("if ", s.Cond)
		w.block(s.Then)
		if s.Else != nil {
			w.indent()
			w.line("else:")
			w.block(s.Else)
		}
	case *For:
		w.WriteString("for ")
		w.expr(s.Target)
		w.head(" in ", s.Iter)
		w.block(s.Body)
	case *While:
		w.head("while ", s.Cond)
		w.block(s.Body)
	case *With:
		if s.As == nil {
			w.head("with ", s.X)
		} else {
			w.WriteString("with ")
			w.expr(s.X)
			w.head(" as ", s.As)
		}
		w.block(s.Body)
	case *Return:
		w.WriteString("return")
		if s.Value != nil {
			w.WriteByte(' ')
			w.expr(s.Value)
		}
		w.line()
	case *Raise:
		w.WriteString("raise ")
		w.expr(s.X)
		w.line()
	case *Assert:
		w.WriteString("assert ")
		w.expr(s.X)
		if s.Msg != nil {
			w.WriteString(", ")
			w.expr(s.Msg)
		}
		w.line()
	case *Delete:
		w.WriteString("del ")
		w.expr(s.X)
		w.line()
	case *Simple:
		w.line(s.Word)
	default:
		panic(fmt.Sprintf("unknown statement %T", s))
	}
}

func (w *printer) line(parts ...string) {
	for _, s := range parts {
		w.WriteString(s)
	}
	w.WriteByte('\n')
}

func (w *printer) head(word string, x Expr) {
	w.WriteString(word)
	w.expr(x)
	w.line(":")
}

// funcDef writes each parameter but the first on a separate line; a forked function, which has
// none, ends in "():".
func (w *printer) funcDef(d *FuncDef) {
	w.WriteString("def " + d.Name + "(")
	for i, q := range d.Params {
		switch {
		case i > 0 && w.flat:
			w.WriteString(", ")
		case i > 0:
			w.WriteString(",\n    ")
		}
		w.WriteString(q.Name)
		if q.Type != nil {
			w.WriteString(": ")
			w.expr(q.Type)
		}
		if q.Default != nil {
			w.WriteByte('=')
			w.expr(q.Default)
		}
	}
	w.WriteByte(')')
	if d.Result != nil {
		w.WriteString(" -> ")
		w.expr(d.Result)
	}
	w.line(":")
	if d.Body == nil && d.lazy.line != 0 {
		w.WriteString(w.file.Text(d.lazy.Span))
		return
	}
	w.block(d.Body)
}

func (w *printer) assign(s *Assign) {
	w.exprs(s.Targets)
	if s.Unpack {
		w.WriteString(",")
	}
	if s.Type != nil {
		if !s.Tight {
			w.WriteByte(' ')
		}
		w.WriteString(": ")
		w.expr(s.Type)
	}
	if s.Value != nil {
		w.WriteString(" = ")
		w.expr(s.Value)
	}
	w.line()
}

func (w *printer) exprs(list []Expr) {
	for i, x := range list {
		if i > 0 {
			w.WriteString(", ")
		}
		w.expr(x)
	}
}

func (w *printer) list(open byte, list []Expr, trailing bool, end byte) {
	w.WriteByte(open)
	w.exprs(list)
	if trailing {
		w.WriteString(", ")
	}
	w.WriteByte(end)
}

func (w *printer) expr(x Expr) {
	switch x := x.(type) {
	case *Name:
		w.WriteString(x.Text)
	case *Number:
		w.WriteString(x.Text)
	case *String:
		w.quote(x.Value)
	case *Raw:
		w.WriteString(x.Text)
	case *Attr:
		w.expr(x.X)
		w.WriteByte('.')
		w.WriteString(x.Name)
	case *Call:
		w.call(x)
	case *Subscript:
		w.expr(x.X)
		w.WriteByte('[')
		w.expr(x.Index)
		w.WriteByte(']')
	case *Slice:
		w.slice(x)
	case *Tuple:
		w.tuple(x)
	case *List:
		w.list('[', x.Elems, x.Trailing, ']')
	case *Dict:
		w.WriteByte('{')
		for i := range x.Keys {
			if i > 0 {
				w.WriteString(", ")
			}
			w.expr(x.Keys[i])
			w.WriteString(": ")
			w.expr(x.Values[i])
		}
		w.WriteByte('}')
	case *Paren:
		w.WriteByte('(')
		w.expr(x.X)
		w.WriteByte(')')
	case *Unary:
		w.WriteString(x.Op)
		if x.Op == "not" {
			w.WriteByte(' ')
		}
		w.expr(x.X)
	case *Binary:
		w.expr(x.X)
		if imaginary(x.Y) {
			w.WriteString(x.Op) // a complex constant: 1.+2.j
		} else {
			w.WriteString(" " + x.Op + " ")
		}
		w.expr(x.Y)
	case *Cond:
		w.expr(x.Then)
		w.WriteString(" if ")
		w.expr(x.Test)
		w.WriteString(" else ")
		w.expr(x.Else)
	default:
		panic(fmt.Sprintf("unknown expression %T", x))
	}
}

func imaginary(x Expr) bool {
	switch x := x.(type) {
	case *Number:
		return x.Text[len(x.Text)-1]|0x20 == 'j'
	case *Name:
		return x.Text == "infj" || x.Text == "nanj"
	}
	return false
}

func (w *printer) call(x *Call) {
	w.expr(x.Fn)
	w.WriteByte('(')
	for i, a := range x.Args {
		if i > 0 {
			w.WriteString(", ")
		}
		if a.Name != "" {
			w.WriteString(a.Name + "=")
		}
		w.expr(a.Value)
	}
	if x.Trailing {
		w.WriteString(", ")
	}
	w.WriteByte(')')
}

func (w *printer) slice(x *Slice) {
	if x.Lo != nil {
		w.expr(x.Lo)
	}
	w.WriteByte(':')
	if x.Hi != nil {
		w.expr(x.Hi)
	}
	if x.Step != nil {
		w.WriteByte(':')
		w.expr(x.Step)
	}
}

// tuple writes (a, b), (a,) and, where there were none, no parentheses.
func (w *printer) tuple(x *Tuple) {
	if x.Parens {
		w.WriteByte('(')
	}
	w.exprs(x.Elems)
	switch {
	case len(x.Elems) == 1:
		w.WriteByte(',')
	case x.Trailing:
		w.WriteString(", ")
	}
	if x.Parens {
		w.WriteByte(')')
	}
}

// quote writes a string as c10::printQuotedString does: double quotes, octal for what is not
// printable.
func (w *printer) quote(s string) {
	w.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\', '"', '\'':
			w.WriteByte('\\')
			w.WriteByte(c)
		case '\a':
			w.WriteString(`\a`)
		case '\b':
			w.WriteString(`\b`)
		case '\f':
			w.WriteString(`\f`)
		case '\n':
			w.WriteString(`\n`)
		case '\r':
			w.WriteString(`\r`)
		case '\t':
			w.WriteString(`\t`)
		case '\v':
			w.WriteString(`\v`)
		default:
			if c >= 0x20 && c < 0x7f {
				w.WriteByte(c)
			} else {
				fmt.Fprintf(w, `\%03o`, c)
			}
		}
	}
	w.WriteByte('"')
}
