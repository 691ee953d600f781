package program

import (
	"strconv"
	"strings"
)

// Frame is one line of a traced node's Python stack.
type Frame struct {
	File     string
	Line     int
	Function string
}

// ParseStack reads the stack text of a traced node, innermost frame first: lines `file(line): function`.
func ParseStack(text string) []Frame {
	frames := make([]Frame, 0, strings.Count(text, "\n")+1)
	for line := range strings.SplitSeq(text, "\n") {
		if f, ok := parseFrame(line); ok {
			frames = append(frames, f)
		}
	}
	return frames
}

// ParseFrame reads one line of a stack.
func ParseFrame(line string) (Frame, bool) { return parseFrame(line) }

// framesPos is what stackPos is, of a stack that was read.
func framesPos(stack []*Frame) Pos {
	for _, f := range stack {
		if !strings.Contains(f.File, "/torch/") {
			return Pos{File: f.File, Line: f.Line}
		}
	}
	return Pos{File: stack[0].File, Line: stack[0].Line}
}

func parseFrame(line string) (Frame, bool) {
	colon := strings.LastIndex(line, "): ")
	if colon < 0 {
		return Frame{}, false
	}
	open := strings.LastIndexByte(line[:colon], '(')
	if open < 0 {
		return Frame{}, false
	}
	n, err := strconv.Atoi(line[open+1 : colon])
	if err != nil {
		return Frame{}, false
	}
	return Frame{File: line[:open], Line: n, Function: line[colon+3:]}, true
}

// stackPos is the innermost frame outside torch itself, else the innermost.
func stackPos(text string) Pos {
	var first Pos
	for line := range strings.SplitSeq(text, "\n") {
		f, ok := parseFrame(line)
		if !ok {
			continue
		}
		p := Pos{File: f.File, Line: f.Line}
		if first.File == "" {
			first = p
		}
		if !strings.Contains(f.File, "/torch/") {
			return p
		}
	}
	return first
}
