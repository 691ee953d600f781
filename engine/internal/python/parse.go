package python

// This file reads files, classes, functions and statements.

// maxDepth bounds nesting of any kind, so that no input exhausts the stack here or in those who
// walk the tree.
const maxDepth = 200

// Parser reads one file. It is not safe for concurrent use.
type Parser struct {
	file *File
	src  string // the file's source, up to the end of what is being read

	off     int // of the next byte
	line    int // of it
	tok     token
	start   Pos // of the token
	end     Pos
	prevEnd Pos
	escaped bool // the string holds escapes
	lenient bool // of Python as users write it: see ParseExpr
	bol     bool // at the beginning of a line
	nesting int  // open brackets
	indents []int32
	dedents int   // still to be reported
	floor   int32 // the indentation the end of the text has
	depth   int
	tokens  int // read so far, of all files
}

// maxTokens is how many tokens one Parser reads, of all files together: some 3 times what the
// largest archive seen has. A token may become a hundred bytes here and more in those who walk the
// tree, so the size of the source alone does not bound them.
const maxTokens = 4 << 20

// count counts tokens.
func (p *Parser) count(n int) {
	if p.tokens += n; p.tokens > maxTokens {
		p.failf(p.start, "got more than %d tokens of source, want fewer", maxTokens)
	}
}

// Parse reads a whole file.
func Parse(fileName, src string) (*File, error) {
	p := NewParser(fileName, src)
	return p.file, p.all()
}

// NewParser prepares to read a file; nothing is read yet.
func NewParser(fileName, src string) *Parser {
	p := &Parser{}
	p.Use(&File{Name: fileName, Source: src})
	return p
}

// Use makes p read another file.
func (p *Parser) Use(f *File) { p.file = f }

// begin sets the scanner on [from, to) of the file, whose first line has the given number, inside a
// block of the given indentation.
func (p *Parser) begin(from, to Pos, line int, base int32) {
	p.src = p.file.Source[:to]
	p.off, p.line = int(from), line
	p.tok, p.start, p.end, p.prevEnd = eof, from, from, from
	p.bol, p.nesting, p.dedents, p.depth = true, 0, 0, 0
	p.indents = append(p.indents[:0], base)
	p.floor = base
}

// maxSource is the largest text: positions are 32 bits.
const maxSource = 1 << 30

// beginWhole sets the scanner on the whole file.
func (p *Parser) beginWhole() {
	if n := len(p.file.Source); n > maxSource {
		p.failf(0, "got a text of %d bytes, want at most %d", n, maxSource)
	}
	p.begin(0, Pos(len(p.file.Source)), 1, 0)
}

func (p *Parser) all() (err error) {
	defer p.rescue(&err)
	p.beginWhole()
	p.next()
	var items []Stmt
	for p.tok != eof {
		items = append(items, p.fileStmt())
	}
	p.file.Body = items
	return nil
}

// Body reads the body of a function that Outline found, or returns it if that was done before.
func (p *Parser) Body(d *FuncDef) (body []Stmt, err error) {
	if d.Body != nil || d.lazy.line == 0 {
		return d.Body, nil
	}
	defer p.rescue(&err)
	p.begin(d.lazy.Start, d.lazy.End, d.lazy.line, d.lazy.indent)
	p.next()
	p.want(indent)
	return p.stmts(), nil
}

// Expr reads an annotation or value that Outline left as text; other expressions are returned as
// they are.
func (p *Parser) Expr(x Expr) (y Expr, err error) {
	raw, ok := x.(*Raw)
	if !ok {
		return x, nil
	}
	defer p.rescue(&err)
	p.begin(raw.Start, raw.End, 1, 0)
	p.bol = false
	p.next()
	y = p.expr()
	if p.tok != newline {
		p.failf(p.start, "got %s, want the end of the expression", p.got())
	}
	return y, nil
}

// ParseExpr reads a whole text as one expression, or as several between commas. It is Python as
// users write it: the text may have comments and lines, and the arguments of a call stay text
// (Call.Open), for they may hold what no Expr is.
func ParseExpr(text string) (x Expr, err error) {
	p := NewParser("", text)
	defer p.rescue(&err)
	p.beginWhole()
	p.lenient, p.bol, p.tok = true, false, name // a line has begun
	p.next()
	x = p.exprOrTuple()
	if p.tok != newline {
		p.failf(p.start, "got %s, want the end of the expression", p.got())
	}
	return x, nil
}

func (p *Parser) failf(at Pos, format string, args ...any) {
	panic(p.file.Errorf(at, format, args...))
}

// want consumes a token of kind t.
func (p *Parser) want(t token) {
	if p.tok != t {
		p.failf(p.start, "got %s, want %s", p.got(), wantName(t))
	}
	p.next()
}

func wantName(t token) string {
	if t >= lparen {
		return `"` + tokenNames[t] + `"`
	}
	return tokenNames[t]
}

// ident consumes a name.
func (p *Parser) ident() string {
	if p.tok != name {
		p.failf(p.start, "got %s, want name", p.got())
	}
	s := p.src[p.start:p.end]
	p.next()
	return s
}

// fileStmt = import | assignment | class | def.
func (p *Parser) fileStmt() Stmt {
	switch p.tok {
	case kwImport:
		return p.importStmt()
	case kwClass:
		return p.classDef()
	case kwDef:
		return p.funcDef()
	case name:
		return p.stmt()
	}
	p.failf(p.start, "got %s, want class, def or import", p.got())
	return nil
}

// import = "import" name { "." name } newline.
func (p *Parser) importStmt() Stmt {
	s := &Import{Span: Span{Start: p.start}}
	p.next()
	from := p.start
	p.ident()
	for p.tok == dot {
		p.next()
		p.ident()
	}
	s.Path = p.src[from:p.prevEnd]
	p.endLine(&s.Span)
	return s
}

// class = "class" name [ "(" name ")" ] ":" newline indent { statement | def } dedent.
func (p *Parser) classDef() Stmt {
	d := p.classHead()
	d.Body = p.block()
	d.End = p.prevEnd
	return d
}

// classHead reads a class up to the colon.
func (p *Parser) classHead() *ClassDef {
	d := &ClassDef{Span: Span{Start: p.start}}
	p.next()
	d.Name = p.ident()
	if p.tok == lparen {
		p.next()
		d.Base = p.ident()
		p.want(rparen)
	}
	p.want(colon)
	return d
}

// def = "def" name "(" [ param { "," param } [ "," ] ] ")" [ "->" expression ] ":" block.
func (p *Parser) funcDef() Stmt {
	d := p.signature(func(string) Expr { return p.expr() })
	d.Body = p.block()
	d.End = p.prevEnd
	return d
}

// signature reads a def up to its colon; part reads a type or a default, which ends before one of
// the bytes of end.
func (p *Parser) signature(part func(end string) Expr) *FuncDef {
	d := &FuncDef{Span: Span{Start: p.start}, Line: p.line}
	p.next()
	d.Name = p.ident()
	p.want(lparen)
	for p.tok != rparen {
		q := Param{Name: p.ident()}
		if p.tok == colon {
			p.next()
			q.Type = part("=,)")
		}
		if p.tok == assign {
			p.next()
			q.Default = part(",)")
		}
		d.Params = append(d.Params, q)
		if p.tok != comma {
			break
		}
		p.next()
	}
	p.want(rparen)
	if p.tok == arrow {
		p.next()
		d.Result = part(":")
	}
	p.want(colon)
	return d
}

// block = newline indent statement { statement } dedent.
func (p *Parser) block() []Stmt {
	p.want(newline)
	p.want(indent)
	p.depth++
	body := p.stmts()
	p.depth--
	p.want(dedent)
	return body
}

// body reads the colon and the block that end a statement.
func (p *Parser) body(s *Span) []Stmt {
	p.want(colon)
	b := p.block()
	s.End = p.prevEnd
	return b
}

// endLine reads the end of a statement's line.
func (p *Parser) endLine(s *Span) {
	s.End = p.prevEnd
	p.want(newline)
}

func (p *Parser) stmts() []Stmt {
	var items []Stmt
	for p.tok != dedent && p.tok != eof {
		items = append(items, p.stmt())
	}
	return items
}

func (p *Parser) stmt() Stmt {
	at, line := p.start, p.line
	switch p.tok {
	case name, number, str, lparen, lbrack, lbrace, minus, plus, tilde, kwNot:
		return p.simpleStmt(at, line)
	case kwIf:
		return p.ifStmt()
	case kwFor:
		p.next()
		s := &For{Span: Span{Start: at}, Line: line, Target: p.targets(kwIn)}
		p.want(kwIn)
		s.Iter = p.exprOrTuple()
		s.Body = p.body(&s.Span)
		return s
	case kwWhile:
		p.next()
		s := &While{Span: Span{Start: at}, Line: line, Cond: p.expr()}
		s.Body = p.body(&s.Span)
		return s
	case kwWith:
		p.next()
		s := &With{Span: Span{Start: at}, Line: line, X: p.expr()}
		if p.tok == kwAs {
			p.next()
			s.As = p.expr()
		}
		s.Body = p.body(&s.Span)
		return s
	case kwReturn:
		p.next()
		s := &Return{Span: Span{Start: at}, Line: line}
		if p.tok != newline {
			s.Value = p.exprOrTuple()
		}
		p.endLine(&s.Span)
		return s
	case kwRaise:
		p.next()
		s := &Raise{Span: Span{Start: at}, Line: line, X: p.expr()}
		p.endLine(&s.Span)
		return s
	case kwAssert:
		p.next()
		s := &Assert{Span: Span{Start: at}, Line: line, X: p.expr()}
		if p.tok == comma {
			p.next()
			s.Msg = p.expr()
		}
		p.endLine(&s.Span)
		return s
	case kwDel:
		p.next()
		s := &Delete{Span: Span{Start: at}, Line: line, X: p.expr()}
		p.endLine(&s.Span)
		return s
	case kwPass, kwBreak, kwContinue:
		s := &Simple{Span: Span{at, p.end}, Line: line, Word: tokenNames[p.tok]}
		p.next()
		p.want(newline)
		return s
	case kwDef:
		return p.funcDef()
	}
	p.failf(p.start, "got %s, want statement", p.got())
	return nil
}

// if = "if" expression ":" block [ elif | "else" ":" block ].
func (p *Parser) ifStmt() Stmt {
	p.enter()
	s := &If{Span: Span{Start: p.start}, Line: p.line}
	p.next()
	s.Cond = p.expr()
	p.want(colon)
	s.Then = p.block()
	switch p.tok {
	case kwElif:
		s.Else = []Stmt{p.ifStmt()}
	case kwElse:
		p.next()
		p.want(colon)
		s.Else = p.block()
	}
	s.End = p.prevEnd
	p.depth--
	return s
}

// simpleStmt = targets "=" values | target ":" type [ "=" value ] | expression.
func (p *Parser) simpleStmt(at Pos, line int) Stmt {
	x := p.expr()
	switch p.tok {
	case newline:
		p.next()
		return &ExprStmt{Span: Span{at, x.Bounds().End}, Line: line, X: x}
	case assign, comma:
	case colon:
		return p.annotated(x, line)
	default:
		p.failf(p.start, "got %s, want newline", p.got())
	}
	items, unpack := []Expr{x}, false
	for p.tok == comma {
		p.next()
		if unpack = p.tok == assign; !unpack {
			items = append(items, p.expr())
		}
	}
	s := &Assign{Span: Span{Start: at}, Line: line, Targets: items, Unpack: unpack}
	p.want(assign)
	s.Value = p.exprOrTuple()
	p.endLine(&s.Span)
	for _, t := range s.Targets {
		p.target(t)
	}
	return s
}

func (p *Parser) annotated(x Expr, line int) Stmt {
	p.target(x)
	tight := p.start == p.prevEnd
	p.next()
	s := &Assign{Span: Span{Start: x.Bounds().Start}, Line: line, Targets: []Expr{x}, Tight: tight}
	s.Type = p.expr()
	if p.tok == assign {
		p.next()
		s.Value = p.exprOrTuple()
	}
	p.endLine(&s.Span)
	return s
}

// target refuses what cannot stand left of "=".
func (p *Parser) target(x Expr) {
	switch x := x.(type) {
	case *Name:
		if x.Text != "None" && x.Text != "True" && x.Text != "False" {
			return
		}
	case *Attr, *Subscript:
		return
	}
	p.failf(x.Bounds().Start, "got %q, want name, attribute or subscript", p.file.Text(x.Bounds()))
}

// targets reads what a for statement assigns to.
func (p *Parser) targets(end token) Expr {
	at := p.start
	var items []Expr
	trailing := false
	for {
		x := p.postfix()
		p.target(x)
		items = append(items, x)
		if p.tok != comma {
			break
		}
		p.next()
		if trailing = p.tok == end; trailing {
			break
		}
	}
	if len(items) == 1 && !trailing {
		return items[0]
	}
	return &Tuple{Span: Span{at, p.prevEnd}, Elems: items, Trailing: trailing}
}
