package program

import "strings"

// Frame is one line of a Python stack.
type Frame struct {
	File     string
	Line     int
	Function string
}

// framesPos is the innermost frame outside torch itself, else the innermost.
func framesPos(stack []*Frame) Pos {
	for _, f := range stack {
		if !strings.Contains(f.File, "/torch/") {
			return Pos{File: f.File, Line: f.Line}
		}
	}
	return Pos{File: stack[0].File, Line: stack[0].Line}
}
