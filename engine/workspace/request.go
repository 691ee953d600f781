// Package workspace says what libraries and kernels ask the allocator for beside an operator's
// results: functions of shapes, strides, dtypes and the platform, which a rule, a test and a table
// can call alike.
//
// Sizes are what PyTorch's code or the library asks for, in bytes, before the allocator rounds
// them. Where neither reports, the request says so: it has a note, and an upper figure. A profile
// (package profile) holds what a library itself answered.
//
// Operands are given as metadata. What is on the host, or nothing at all (nil), takes nothing.
package workspace

import (
	"slices"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// Request is memory that a library or kernel takes from the allocator. Requests of one operator are
// made in their order and given back at its end in the opposite one, except those that a later one
// drops. The results are made after the requests that come Before them, or where Result says.
type Request struct {
	Bytes, Upper units.Bytes // Upper where Bytes is an estimate, else 0
	// "": freed when the operator returns; else it stays, once a key (a library handle and stream)
	Keep   string
	Trial  string // not "": taken once a key, freed at once, and the cache emptied (cuDNN's benchmark)
	Before bool   // asked for before the results exist
	// how many of the requests before it that still live are given back first, the latest first
	Drops  int
	Past   int     // how many of the latest requests stay while those before them are given back
	Result int     // nothing is asked for: the operator's result of that number, from 1, is made here
	Source string  // where the figure comes from
	Note   note.ID // of the note this figure deserves, or ""
	Asked  *Asked  // the library call behind it; nil where PyTorch's own code decides
}

// Asked is a library call that decides on its own how much it takes, and who answered for it.
type Asked struct {
	Call   *profile.Call
	By     profile.Answerer // of the zero value where nobody did: the figure is by formula
	Engine int              // the library's choice, where somebody answered
}

// OnDevice says whether an operand is there and on the accelerator.
func OnDevice(m *tensor.Meta) bool { return m != nil && m.Device != "cpu" && m.Device != "meta" }

// CopyOf is another tensor of m's size: a contiguous copy, a cast to a dtype as wide, a vector of
// the same length.
func CopyOf(m *tensor.Meta, source string) Request { return Request{Bytes: m.NBytes(), Source: source} }

// Before is requests made before the results exist.
func Before(rs ...Request) []Request {
	for i := range rs {
		rs[i].Before = true
	}
	return rs
}

// Drop gives back the latest n requests.
func Drop(n int) Request { return Request{Drops: n} }

// DropPast gives back the request before the latest n.
func DropPast(n int) Request { return Request{Drops: 1, Past: n} }

// DropOldest gives back the latest n requests, the oldest of them first.
func DropOldest(n int) (out []Request) {
	for n--; n >= 0; n-- {
		out = append(out, DropPast(n))
	}
	return out
}

// GivenBack is requests, and that those of them which still hold are given back.
func GivenBack(rs []Request) []Request {
	held := 0
	for _, r := range rs {
		held -= r.Drops
		if r.Result == 0 && (r.Drops == 0 || r.Bytes > 0 || r.Upper > 0) {
			held++
		}
	}
	if held == 0 {
		return rs
	}
	return append(slices.Clone(rs), Drop(held))
}

// Make is where result i is made, counted from 0. Results that no request makes come last.
func Make(i int) Request { return Request{Result: i + 1} }

// maxInTurn is how many rounds are known of what is asked for and given back again and again: after
// the first it changes nothing any more.
const maxInTurn = 1024

// InTurn is what one of n rounds takes, given back before the next.
func InTurn(one []Request, n int64) (out []Request) {
	if len(one) == 0 {
		return nil
	}
	for range min(n, maxInTurn) {
		out = append(append(out, one...), Drop(len(one)))
	}
	return out
}

// Contiguous are copies of those operands that do not lie row by row, in their order.
func Contiguous(source string, operands ...*tensor.Meta) (out []Request) {
	for _, m := range operands {
		if OnDevice(m) && !m.IsContiguous() {
			out = append(out, CopyOf(m, source))
		}
	}
	return out
}

// divCeil rounds up; both are positive.
func divCeil(a, b int64) int64 { return (a + b - 1) / b }
