// Mutants puts small bugs into the code, one at a time, and runs the tests of the package that each
// is in, then of the packages that import that one. What no test notices lacks a test. `make
// mutants` builds and runs it from the root of the repository.
//
//	bin/mutants -n 300 -seed 1 -pkg ./engine/...,./cudameasure/...
//	bin/mutants -match 'engine/units/.*RoundUp' -n 0      every mutant of one function; -list prints them and runs nothing
//
// A mutant is one change that still compiles: a comparison moved by one or turned round, a
// condition negated or dropped, an arithmetic operator exchanged, a constant off by one, a
// statement removed, another value returned, two arguments of one type swapped, an append dropped,
// break for continue, a slice gone through from its end where its rounds may not come in any order
// (see rounds). Test files, packages that serve tests alone (they import testing), generated files
// and files that this platform does not build have none; neither have capacities, which change no
// result.
//
// The sample is chosen by a hash of the seed and of what stands there, not of where it stands: a
// change of one function leaves the rest of the sample as it was. Mutants are compiled through an
// overlay, so that the tree is never touched, and a mutant that hangs or takes all memory ends at a
// limit of processor time and of address space.
//
// Killed are those that a test fails on, and those that no longer come to an end. The tests of a
// mutant's own package come first. What they do not notice is tried by the tests of every package
// that has it in its test binary, commands' scripts with the processes that they start among them:
// only tests that call the mutated function run, the quickest package first, and no package begins
// once they have taken 90 seconds of processor time. Such a test must fail a second time, and pass
// without the mutant. Both figures are printed: how many live after their own package's tests, and
// after all; -own stops after the first.
//
// equivalent.txt names survivors that change nothing one could see, each with its reason; they
// count as living. A line there that fits no mutant, or one that a test kills, is an error.
//
// Exit code: 0 enough mutants died (-min), 1 too few, 2 something else is wrong.
package main
