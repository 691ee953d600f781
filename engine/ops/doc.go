// Package ops is the language of operator rules: what a rule is (Rule), what it may ask of the call
// it answers (Call) and of the run (Machine), the table that rules are looked up in (Table), and
// the shapes, strides and dtypes that PyTorch gives results. The operators stand in families, one
// package each; builtin joins them. Nothing here computes on tensor data.
//
//	pointwise  arithmetic, comparisons, functions of one tensor, activations, masks, _foreach_
//	create     tensors from sizes, numbers and random numbers (dropout); casts and copies
//	view       views and their copying forms; cat, stack, repeat, flip
//	index      reading and writing by position or mask; diagonals, triangles
//	reduce     sums, extremes, scans, sorting, counting, statistics
//	linalg     products of matrices, einsum, decompositions, solvers
//	fft        Fourier transforms
//	nn         layers: convolution, pooling, normalisation, embedding, loss, recurrent layers, padding, resizing, torchvision's
//	attention  scaled dot product attention and the fast paths of transformers
//	quant      quantised tensors
//	prim       no tensor in the result: questions about tensors, numbers, strings, containers
//
// A family has its rows in rules.go or rules_<topic>.go and the functions that they name in files
// by topic. It imports ops and no other family, but for quant, which has layers' sizes from nn.
//
// # Adding an operator
//
// One row in the file of its topic, answering six questions in this order:
//
//  1. Schema? Paste it from testdata/aten/<torch>/schemas.txt. Fresh, view and in-place follow from (a) and (a!): do not
//     restate them. Overloads whose other answers are the same share a row: For lists what $1 and $2 are in each.
//  2. No tensor in the result? Then Host, and stop.
//  3. Made of other operators (CompositeImplicit, or a native function that calls others)? Then Body, and stop: its temporaries are real memory.
//  4. Shape, dtype and strides of the results? Out, mostly an existing function.
//  5. May it alias or copy? Copies.
//  6. Does it take memory beside its results? Workspace (with the functions of package workspace).
//
// The family's TestSamples runs every recorded call of testdata/aten against its rows: result
// metadata, aliases and the order of births and deaths.
//
// An operator without a row is never guessed: exec collects it and the result is incomplete.
package ops
