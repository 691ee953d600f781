package python

import (
	"fmt"
	"strings"
)

// Error is a place where a file is not what it should be.
type Error struct {
	File      string
	Line, Col int // from 1; columns count bytes
	Msg       string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg) }

// Errorf makes an Error at a place of f.
func (f *File) Errorf(at Pos, format string, args ...any) *Error {
	at = max(0, min(at, Pos(len(f.Source))))
	before := f.Source[:at]
	return &Error{
		File: f.Name,
		Line: 1 + strings.Count(before, "\n"),
		Col:  int(at) - strings.LastIndexByte(before, '\n'),
		Msg:  fmt.Sprintf(format, args...),
	}
}

// rescue turns the panic of a scanner or parser into an error: inside this package an error is a
// panic with *Error. Anything else is a bug of this package and says so.
func (p *Parser) rescue(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	default:
		*err = p.file.Errorf(p.start, "internal error: %v", r)
	}
}
