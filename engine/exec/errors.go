package exec

import (
	"fmt"
	"strings"

	"github.com/memspec/memspec/engine/program"
)

// EvalError is an error of the model: an operator that refuses its arguments, a raise that was
// reached, a limit. Its Error is one line; Backtrace says how it came there.
type EvalError struct {
	Msg   string
	Op    string // where it happened, as far as is known
	Pos   program.Pos
	Stack []StackEntry // innermost first
	Raise bool         // the model itself raised
	Cause error
}

// StackEntry is one active function.
type StackEntry struct {
	Func   string
	Module string
	Record string // of the archive
	Line   int
	Pos    program.Pos
}

// Error says where: the line of the user's own code that led there, and the module, as far as the
// archive records; what PyTorch's own modules do is in the backtrace.
func (e *EvalError) Error() string {
	where := ""
	switch pos := e.userPos(); {
	case pos.File != "":
		where = fmt.Sprintf("%s:%d: ", pos.File, pos.Line)
	case len(e.Stack) > 0:
		where = fmt.Sprintf("%s:%d: ", e.Stack[0].Record, e.Stack[0].Line)
	}
	if len(e.Stack) > 0 && e.Stack[0].Module != "" {
		where += e.Stack[0].Module + ": "
	}
	return where + e.Msg
}

// userPos is the innermost line that is not of PyTorch's own code, else the innermost.
func (e *EvalError) userPos() program.Pos {
	if e.Pos.File != "" && !ofPyTorch(e.Pos.File) {
		return e.Pos
	}
	for _, s := range e.Stack {
		if s.Pos.File != "" && !ofPyTorch(s.Pos.File) {
			return s.Pos
		}
	}
	return e.Pos
}

func ofPyTorch(file string) bool {
	return strings.Contains(file, "/site-packages/torch/") || strings.Contains(file, "/dist-packages/torch/") ||
		strings.HasPrefix(file, "torch/")
}

func (e *EvalError) Unwrap() error { return e.Cause }

// maxBacktrace is how many entries Backtrace prints.
const maxBacktrace = 30

// Backtrace prints the stack, outermost first, one entry a line.
func (e *EvalError) Backtrace() string {
	var b strings.Builder
	for i := len(e.Stack) - 1; i >= 0; i-- {
		if len(e.Stack)-1-i >= maxBacktrace {
			fmt.Fprintf(&b, "  … %d more\n", i+1)
			break
		}
		s := e.Stack[i]
		fmt.Fprintf(&b, "  %s:%d in %s", s.Record, s.Line, s.Func)
		if s.Module != "" {
			fmt.Fprintf(&b, " (module %s)", s.Module)
		}
		if s.Pos.File != "" {
			fmt.Fprintf(&b, ", %s:%d", s.Pos.File, s.Pos.Line)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// LimitError is a run that outgrew a bound: steps, depth.
type LimitError struct {
	What  string
	Limit int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("got more than %d %s, want fewer", e.Limit, e.What)
}
