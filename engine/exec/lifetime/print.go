package lifetime

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/memspec/memspec/engine/program"
)

// This file writes live ranges as text:
//
//	func __torch__.net.Net.forward  # code/__torch__/net.py:6
//	  x%1  entry..3  argument 0 of aten::relu  last use
//	  y%3  3..7      after aten::add           local bound anew: y
//
// A value is its printed name, a percent sign and its number; nodes are numbered as they are
// written, from 0, those of blocks with them.

// Write writes the ranges of functions.
func Write(w io.Writer, funcs []Func) error {
	b := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for i := range funcs {
		f := &funcs[i]
		nodes, _ := Numbering(f.Graph)
		fmt.Fprintf(b, "func %s  # %s:%d\n", f.Func.Name, f.Func.Record, f.Func.Line)
		for j := range f.Ranges {
			r := &f.Ranges[j]
			fmt.Fprintf(b, "  %s\t%s\t%s\t%s", value(r.Value), r.span(), r.end(nodes), r.Why)
			if r.Local != "" {
				fmt.Fprintf(b, ": %s", r.Local)
			}
			fmt.Fprintln(b)
		}
	}
	return b.Flush()
}

func value(v *program.Value) string { return fmt.Sprintf("%s%%%d", v.Name, v.ID) }

// span is where a range begins and ends.
func (r *Range) span() string {
	from, to := "entry", "entry"
	if r.From >= 0 {
		from = fmt.Sprint(r.From)
	}
	if r.To >= 0 {
		to = fmt.Sprint(r.To)
	}
	if r.End == Open {
		to = ""
	}
	return from + ".." + to
}

func (r *Range) end(nodes []*program.Node) string {
	op := "the call"
	if r.To >= 0 {
		op = nodes[r.To].Op
	}
	switch r.End {
	case AsArgument:
		return fmt.Sprintf("argument %d of %s", r.Arg, op)
	case AtEntry:
		return "entry of " + op
	case BlockOut:
		return "result of a block of " + op
	case Escapes:
		return "there at the return"
	case Open:
		return "as its name"
	}
	return "after " + op
}
