package program

import "strings"

// Where is the place of a node in the Python that it was made from, as far as the artifact records.
type Where struct {
	SourceRange // what the user wrote
	// Python's when the node was recorded; nodes of one stack share it; nil where it is not known
	Stack *Stack
	// the innermost call of a module that it is in, where the node itself reports; nodes of one
	// call share it; else nil
	Call *ModuleCall
	Stmt int32 // the statement of its function that it belongs to, from 0
	Line int32 // of the function's Record
}

// SourceText is the text of a function as the user wrote it.
type SourceText struct {
	File      string
	FirstLine int
	Text      string
}

// SourceRange is a part of a SourceText; Text is nil where the archive does not record.
type SourceRange struct {
	Text       *SourceText
	Start, End int32
}

// Stack is a Python stack.
type Stack struct {
	Frames []*Frame // innermost first; equal frames are one pointer in the whole program
}

// Frame is one line of a stack.
type Frame struct {
	File     string
	Line     int
	Function string
	Text     string // of that line; "" where it is not known
}

// ModuleCall is a call of a module.
type ModuleCall struct {
	Module *Module
	Number int         // how often the module was called before
	Outer  *ModuleCall // the call that it is in; nil of the outermost
}

// Pos is a place in the user's own code.
type Pos struct {
	File string
	Line int
}

// Pos is the user's file and line: that of the text, else of the innermost frame outside torch's
// own files, else of the innermost frame.
func (w *Where) Pos() Pos {
	if w.Stack != nil {
		return w.Stack.pos()
	}
	t := w.Text
	if t == nil || t.File == "" {
		return Pos{}
	}
	return Pos{File: t.File, Line: t.FirstLine + strings.Count(t.Text[:max(0, min(int(w.Start), len(t.Text)))], "\n")}
}

func (s *Stack) pos() Pos {
	for _, f := range s.Frames {
		if !strings.Contains(f.File, "/torch/") {
			return Pos{File: f.File, Line: f.Line}
		}
	}
	if len(s.Frames) == 0 {
		return Pos{}
	}
	return Pos{File: s.Frames[0].File, Line: s.Frames[0].Line}
}
