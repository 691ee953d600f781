package python

import (
	"strings"
)

// This file reads a file's classes and signatures and passes over bodies, annotations and values.

// lazyBody is where a body lies.
type lazyBody struct {
	Span         // whole lines
	line   int   // of the first
	indent int32 // of the def
}

// Unread is where the body of a function that Outline found lies, as whole lines, the number of the
// first of them, and how deep its def stands.
func (d *FuncDef) Unread() (at Span, line int, indent int32) {
	return d.lazy.Span, d.lazy.line, d.lazy.indent
}

// Outline reads f: function bodies are left to Body, and annotations, defaults and the values of a
// class's assignments become Raw, left to Expr. It accepts more than Parse does: what it passes
// over may still be wrong.
func (p *Parser) Outline(f *File) (err error) {
	p.Use(f)
	defer p.rescue(&err)
	p.beginWhole()
	p.next()
	var items []Stmt
	for p.tok != eof {
		switch p.tok {
		case kwClass:
			items = append(items, p.outlineClass())
		case kwDef:
			items = append(items, p.outlineDef())
		default:
			items = append(items, p.fileStmt())
		}
	}
	f.Body = items
	return nil
}

func (p *Parser) outlineClass() Stmt {
	d := p.classHead()
	p.want(newline)
	p.want(indent)
	var items []Stmt
	for p.tok != dedent && p.tok != eof {
		switch p.tok {
		case kwDef:
			items = append(items, p.outlineDef())
		case name:
			items = append(items, p.outlineAssign())
		default:
			items = append(items, p.stmt())
		}
	}
	d.Body = items
	p.want(dedent)
	d.End = p.prevEnd
	return d
}

// outlineAssign reads name : Raw, name : Raw = Raw, name = Raw and name["x"] = Raw.
func (p *Parser) outlineAssign() Stmt {
	if s := p.outlineDeclaration(); s != nil {
		return s
	}
	s := &Assign{Span: Span{Start: p.start}, Line: p.line}
	s.Targets = []Expr{p.postfix()}
	p.target(s.Targets[0])
	if p.tok == colon {
		s.Tight = p.start == p.prevEnd
		p.next()
		s.Type = p.raw("=")
	}
	if p.tok == assign {
		p.next()
		s.Value = p.raw("")
	}
	if s.Type == nil && s.Value == nil {
		p.failf(p.start, `got %s, want ":" or "="`, p.got())
	}
	p.endLine(&s.Span)
	return s
}

// outlineDeclaration reads name : Raw, which is most of an archive's classes, if that is all there
// is on the line.
func (p *Parser) outlineDeclaration() Stmt {
	src, from := p.src, int(p.end)
	n := strings.IndexByte(src[from:], '\n')
	if n < 5 || src[from:from+3] != " : " || Class[src[from+3]] != Letter {
		return nil
	}
	for i := from + 3; i < from+n; i++ {
		if plain[src[i]] == 0 {
			return nil
		}
	}
	p.count(2) // the colon and the type
	end := Pos(from + n)
	x := &Name{Span: Span{p.start, p.end}, Text: src[p.start:p.end]}
	s := &Assign{Span: Span{p.start, end}, Line: p.line, Targets: []Expr{x}}
	s.Type = &Raw{Span: Span{Pos(from + 3), end}, Text: src[from+3 : end]}
	p.tok, p.bol, p.off, p.end = newline, true, int(end)+1, end+1
	p.line++
	p.next()
	return s
}

// plain are the bytes of an annotation without brackets: what an outline can pass over without
// looking.
var plain = func() (t [256]uint8) {
	for c := range t {
		if Class[c]&(Letter|Digit) != 0 || c == '.' {
			t[c] = 1
		}
	}
	return t
}()

func (p *Parser) outlineDef() Stmt {
	d := p.signature(p.raw)
	if p.tok != newline {
		p.failf(p.start, "got %s, want newline", p.got())
	}
	d.lazy = lazyBody{Span: Span{Start: p.end}, line: p.line, indent: p.indents[len(p.indents)-1]}
	p.skipBlock(int(d.lazy.indent))
	d.lazy.End = Pos(p.off)
	if d.lazy.Start == d.lazy.End {
		p.failf(d.lazy.Start, "got the end of the block, want indent")
	}
	d.End = d.lazy.End
	p.next()
	return d
}

// skipBlock moves past every line that is blank or indented by more than outer. The current token
// is the newline before them.
func (p *Parser) skipBlock(outer int) {
	src, i := p.src, p.off
	for i < len(src) {
		k := i
		for k < len(src) && Class[src[k]] == Space {
			k++
		}
		blank := k == len(src) || src[k] == '\n'
		if k-i <= outer && !blank {
			break
		}
		n := strings.IndexByte(src[k:], '\n')
		if n < 0 {
			i = len(src)
			break
		}
		i = k + n + 1
		p.line++
	}
	p.off, p.end = i, Pos(i)
}

// raw passes over text up to one of the bytes of stop outside brackets and strings, or to the end
// of the line.
func (p *Parser) raw(stop string) Expr {
	src, i := p.src, int(p.start)
	if p.tok == lparen || p.tok == lbrack || p.tok == lbrace {
		p.nesting-- // it is read again
	}
	if p.tok == newline {
		p.failf(p.start, "got newline, want expression")
	}
	depth := 0
	end := i
loop:
	for ; i < len(src); i++ {
		switch c := src[i]; c {
		case ' ':
			continue
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 {
				break loop
			}
			depth--
		case '"', '\'':
			i = p.str(i) - 1
		case '\n':
			if depth == 0 {
				break loop
			}
			p.line++
			continue
		case ',', '=', ':':
			if depth == 0 && strings.IndexByte(stop, c) >= 0 {
				break loop
			}
		}
		end = i + 1
	}
	if end == int(p.start) {
		p.failf(p.start, "got %s, want expression", p.got())
	}
	x := &Raw{Span: Span{p.start, Pos(end)}, Text: src[p.start:end]}
	p.tok, p.off, p.end = name, i, Pos(end)
	p.next()
	return x
}
