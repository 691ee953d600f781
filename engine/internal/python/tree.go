// Package python reads Python: its tokens, expressions and statements. It turns text into a tree
// and runs nothing.
//
// Parse reads a record of serialised TorchScript, code/**.py of an archive. That is a subset of
// Python, and anything else in it is an error. A tree has all that the text says: printed in the
// layout of PyTorch's own printer, as the tests do, what that wrote comes back byte for byte. Names
// are not resolved here and types are expressions like any other. A record may be read in two
// steps: Outline finds its classes and functions with their signatures, by indentation alone, and
// leaves bodies and annotations as text; Parser.Body reads one body when it is wanted. Most of a
// big archive is never wanted.
//
// ParseExpr reads an expression as users write it, with comments and lines. Of text that is not
// read as a whole, SkipString, Closing and ScanTop find where things end. Package pysource finds
// the statements of a user's function with them.
//
// Not read, because PyTorch writes none of it: decorators, lambda, try, yield, global,
// comprehensions, starred arguments, augmented and chained assignment, comments in records,
// f-strings and byte strings.
package python

// Pos is a byte offset in a file.
type Pos int32

// Span is the part of a file that a node covers.
type Span struct{ Start, End Pos }

// Bounds is the span itself: every node embeds one.
func (s Span) Bounds() Span { return s }

// File is one record of source.
type File struct {
	Name   string // for messages: "code/__torch__/net.py"
	Source string
	Body   []Stmt // *Import, *Assign (op_version_set = 1), *ClassDef, *FuncDef
}

// Text is the source of a span.
func (f *File) Text(s Span) string { return f.Source[s.Start:s.End] }

// Stmt is a statement.
type Stmt interface {
	Bounds() Span
	stmt()
}

// The statements.
type (
	// ClassDef is class Name(Base): body.
	ClassDef struct {
		Span
		Name string
		Base string // "" where there is none
		Body []Stmt
	}
	// FuncDef is def Name(params) -> Result: body.
	FuncDef struct {
		Span
		Name   string
		Line   int
		Params []Param
		Result Expr // nil where not annotated
		Body   []Stmt
		lazy   lazyBody // from Outline: Body is nil until read
	}
	// Assign is targets = value; Targets are the elements of a target list, see Unpack.
	Assign struct {
		Span
		Line    int
		Targets []Expr
		Unpack  bool // a, b, = x: the comma before the sign takes x apart; without it the right side has several values
		Type    Expr // name : Type = value
		Tight   bool // written name: Type
		Value   Expr // nil for a mere declaration
	}
	// ExprStmt is an expression evaluated for its effect.
	ExprStmt struct {
		Span
		Line int
		X    Expr
	}
	// If is if Cond: Then else: Else; an elif is an If alone in Else.
	If struct {
		Span
		Line       int
		Cond       Expr
		Then, Else []Stmt
	}
	// For is for Target in Iter: Body.
	For struct {
		Span
		Line         int
		Target, Iter Expr
		Body         []Stmt
	}
	// While is while Cond: Body.
	While struct {
		Span
		Line int
		Cond Expr
		Body []Stmt
	}
	// With is with X as As: Body.
	With struct {
		Span
		Line int
		X    Expr
		As   Expr // nil where absent
		Body []Stmt
	}
	// Return is return Value.
	Return struct {
		Span
		Line  int
		Value Expr // nil where absent
	}
	// Raise is raise X.
	Raise struct {
		Span
		Line int
		X    Expr
	}
	// Assert is assert X, Msg.
	Assert struct {
		Span
		Line   int
		X, Msg Expr
	}
	// Delete is del X.
	Delete struct {
		Span
		Line int
		X    Expr
	}
	// Simple is pass, break or continue.
	Simple struct {
		Span
		Line int
		Word string
	}
	// Import is import path.
	Import struct {
		Span
		Path string
	}
)

func (*ClassDef) stmt() {}
func (*FuncDef) stmt()  {}
func (*Assign) stmt()   {}
func (*ExprStmt) stmt() {}
func (*If) stmt()       {}
func (*For) stmt()      {}
func (*While) stmt()    {}
func (*With) stmt()     {}
func (*Return) stmt()   {}
func (*Raise) stmt()    {}
func (*Assert) stmt()   {}
func (*Delete) stmt()   {}
func (*Simple) stmt()   {}
func (*Import) stmt()   {}

// Param is name: Type = Default.
type Param struct {
	Name    string
	Type    Expr // nil where not annotated
	Default Expr // nil where absent
}

// Expr is an expression.
type Expr interface {
	Bounds() Span
	expr()
}

// The expressions.
type (
	// Name is an identifier, None, True and False included.
	Name struct {
		Span
		Text string
	}
	// Number is a number as written: 1, 1e-05, 2.5j.
	Number struct {
		Span
		Text string
	}
	// String is one or more string literals side by side.
	String struct {
		Span
		Value string // with escapes resolved
	}
	// Attr is X.Name.
	Attr struct {
		Span
		X    Expr
		Name string
	}
	// Call is Fn(Args).
	Call struct {
		Span
		Fn       Expr
		Args     []Arg
		Open     Pos  // of the parenthesis
		Trailing bool // f(x, ): what PyTorch's printer writes for calls of methods and functions
	}
	// Subscript is X[Index].
	Subscript struct {
		Span
		X, Index Expr
	}
	// Slice is Lo:Hi:Step inside a Subscript; each may be nil.
	Slice struct {
		Span
		Lo, Hi, Step Expr
	}
	// Tuple is a, b or (a, b).
	Tuple struct {
		Span
		Elems    []Expr
		Parens   bool
		Trailing bool // (a, b, )
	}
	// List is [a, b].
	List struct {
		Span
		Elems    []Expr
		Trailing bool
	}
	// Dict is {k: v}.
	Dict struct {
		Span
		Keys, Values []Expr
	}
	// Paren is (X).
	Paren struct {
		Span
		X Expr
	}
	// Unary is Op X, Op one of "-", "+", "~", "not".
	Unary struct {
		Span
		Op string
		X  Expr
	}
	// Binary is X Op Y.
	Binary struct {
		Span
		Op   string
		X, Y Expr
	}
	// Cond is Then if Test else Else.
	Cond struct {
		Span
		Then, Test, Else Expr
	}
	// Raw is an annotation or value that Outline left as text; Parser.Expr reads it.
	Raw struct {
		Span
		Text string
	}
)

func (*Name) expr()      {}
func (*Number) expr()    {}
func (*String) expr()    {}
func (*Attr) expr()      {}
func (*Call) expr()      {}
func (*Subscript) expr() {}
func (*Slice) expr()     {}
func (*Tuple) expr()     {}
func (*List) expr()      {}
func (*Dict) expr()      {}
func (*Paren) expr()     {}
func (*Unary) expr()     {}
func (*Binary) expr()    {}
func (*Cond) expr()      {}
func (*Raw) expr()       {}

// Arg is one argument of a Call.
type Arg struct {
	Name  string // of a keyword argument, else ""
	Value Expr
}
