// Package ops holds the rules of PyTorch's operators: for each overload, the metadata of its results, what they alias, which other
// operators it is made of, and the scratch it takes. Nothing here computes on tensor data.
//
// # Adding an operator
//
// One row in the file of its domain, answering six questions in this order:
//
//  1. Schema? Paste it from testdata/aten/<torch>/schemas.txt. Fresh, view and in-place follow from (a) and (a!): do not restate them.
//  2. No tensor in the result? Then Host, and stop.
//  3. Made of other operators (CompositeImplicit, or a native function that calls others)? Then Body, and stop: its temporaries are real memory.
//  4. Shape, dtype and strides of the results? Out, mostly an existing function.
//  5. May it alias or copy? Copies.
//  6. What does its gradient keep, and does it take scratch? Grad, Scratch.
//
// table_test.go runs every recorded sample of testdata/aten against the rules: result metadata, aliases and the order of births and deaths.
//
// An operator without a row is never guessed: exec collects it and the result is incomplete.
package ops

import "sync"

// Builtin is the table of every rule of this package.
func Builtin() *Table { return builtin() }

var builtin = sync.OnceValue(func() *Table {
	t, err := NewTable(groups()...)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return t
})
