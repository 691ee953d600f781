// Package engine predicts what a model takes on a GPU, from its artifact alone: Estimate gives the account, Check judges it.
//
// # The house
//
//	bytes ──▶ artifact ──▶ program ──▶ exec ──▶ trace ──▶ allocator ──▶ report ──▶ verdict
//	          decode       typed       abstract  alloc/   CUDA caching  peaks,      budgets:
//	          formats      graph       run with  free     allocator,    who held    pass, fail,
//	                                   ops rules events   simulated     what        inconclusive
//	                            ▲                 ▲            ▲
//	                           ops              PyTorch      device
//	                       (rule table)         snapshot     (rows)
//
// Each arrow is one Go value that can be printed, checked and stored: *artifact.Artifact, *program.Program, *trace.Trace,
// *allocator.Timeline, *report.Report, verdict.Verdict. A room imports only rooms to its left; arch_test.go holds the table of imports and
// fails on any other edge. The measured world enters at trace: a recorded snapshot of PyTorch, or the recording of a run, becomes the same
// value that exec makes.
//
//	units      sizes in bytes: read, printed, added
//	layout     text for people in columns: wrapped lines, tables
//	tensor     dtypes, sizes and strides, storages
//	schema     PyTorch's operator signatures
//	device     the GPUs, each row with its source
//	platform   what a run happens on and with; what changed in which torch release
//	workspace  what libraries and kernels take beside results, as functions of shapes and platform; in profile: what libraries themselves answer
//	note       what a run may have to assume: IDs and texts
//	artifact   what people have, at sight: archives to programs, recordings and snapshots to runs, strangers by name; and strip
//	           artifact/torchscript, artifact/torchexport, artifact/aotinductor: a decoder for each format
//	program    the typed graph
//	ops        the language of operator rules; the rules by family beneath it, joined in ops/builtin: results, aliases, composites, workspace
//	exec       the abstract run: shapes, aliases, lifetimes; the machine, and its drivers beneath it
//	           exec/torchscript: TorchScript's interpreter; in passes what its executor does to a graph, in locals what Python's names hold
//	           exec/fx: programs of torch.export; exec/aotinductor: compiled code
//	           exec/recorded: a recorded run in place of an abstract one
//	           exec/lifetime: live ranges as values; in stacks those of traced archives, read off the calls
//	trace      allocations and frees in order, with their places
//	recording  runs as PyTorch's allocator recorded them, to traces
//	allocator  the caching allocator, simulated
//	report     peaks, who holds them, what was assumed
//	verdict    budgets judged
//	format     reports, verdicts and timelines in the forms that other tools read
//	spec       memspec.yaml to cases
//	coverage   operators of a program that have no rule
//	origin     what an artifact was made from: sources, sidecar, recordings of cases; what of it has changed
//	suite      many cases: each file read once, fits:, baselines, searches, what a failing test prints
//	guess      inputs that a model runs with, where nobody says them
//	internal   containers and scanners of files (ptzip, pickle, jsonscan, pysource, expr), memory in slabs, names that are meant (nearest);
//	           internal/testing: golden files, recordings (conformance), operator samples (aten), faults
//
// Doors, each of which calls this package and adds no rule of its own:
//
//	cmd/memspec         the command; a verb is a file
//	assert              go test; assert/require ends the test
//	cudameasure         runs a case with memshim, on a GPU or a pretend one; cudameasure/verify holds the run against the prediction
//	pyshim              memshim: python -m memshim, pytest, the pretend GPU
//
// Where to add what: an operator is a row in its family under ops (ops/doc.go has the families and the six questions); a kind of artifact is
// a row in artifact/kinds.go, and a folder beside it where it holds a program; a device is a row in device; an allocator setting is a row in
// allocator; a format of reports is a writer and a row in format.Formats; a metric is a constant in report and its line in Value; a note is
// a row in note, a line below and a witness in notes_test.go.
//
// # Promises
//
// This package's functions, packages assert and assert/require and memspec.yaml are kept. The rooms beneath are public so that operators,
// devices and formats can be added from outside, but they are v0 and may change.
//
// Nothing is executed, no tensor bytes are read (small constants excepted), nothing reads the environment, and the same case gives the same
// bytes on every machine. An operator without a rule is never guessed: the account is then incomplete and no budget passes.
//
// # What is not modelled
//
// Training, but as a recording of it (package recording). Several streams of one run. Fused kernels
// that TorchScript's profiling executor may make from the second pass on. What libraries allocate outside PyTorch's allocator, but for the
// context's cost where a device's row or memspec.yaml states it, and the weights of an AOTInductor package. Library workspace is by rule where
// nothing more exact is known, and the report says so.
//
// # Notes
//
// What a run had to assume is a note with a stable ID, written once at a place; allow: in memspec.yaml names those that do not count.
//
//	artifact-stale       what the artifact was made from has changed: the verdict is inconclusive
//	branch-both          a branch depends on tensor data: both ways were run and the heavier is kept
//	dependencies-unchecked  some of what a recorded run depends on was not compared with what is there now; the verdict does not depend on it
//	device-remapped      the archive's code names a device; it was read as the case's
//	gradient-missing     after a training step parameters that require a gradient had none: nothing of the step used them
//	index-assumed        a position depends on tensor data; it does not matter to memory
//	later-graph          TorchScript's executor makes another graph for later passes, in which tensors may go earlier
//	locals-unknown       eager lifetimes of a traced or frozen archive: it does not tell Python's names
//	loop-bound           how often a loop runs depends on tensor data; what its rounds hold does not grow
//	loop-open            how often a loop runs depends on tensor data, and each round may hold more: the account is incomplete
//	op-assumed           an operator without a rule; its results are as the program recorded them, which it does at its example sizes alone
//	op-missing           an operator without a rule; the account is incomplete
//	operators-differ     the live model runs other operators than its exported program: eager figures are the program's, and estimates
//	other-device         a run was recorded elsewhere than on the case's device with its torch, or does not tell where
//	shape-bound          a size depends on tensor data and is taken at its most
//	timing-decides       on a card a measured time decides what a compiled model takes: the way that takes more was taken
//	value-assumed        a number depends on tensor data and is only computed with; it does not matter to memory
//	value-compared       a run on a pretend GPU read a value that no kernel computed; with other values it takes the same
//	value-decides        a value that no kernel computed decides what a run takes: runs with other values give the figure two ends
//	value-open           a value that no kernel computed may decide what a run takes, and no upper end is known: the verdict is inconclusive
//	value-read           a run on a pretend GPU read a value that no kernel computed, and went on with another
//	value-stated         assume: states a value that a run on a pretend GPU read: the figure holds for it
//	workspace-benchmark  cudnn.benchmark runs the fastest plan, which only a device can tell
//	workspace-estimate   some library workspace is by rule
//	workspace-stand-in   another version of a library answered for one that cannot be asked
//	workspace-unknown    what an operator's kernels take beside its results is told by no rule, and taken as nothing
package engine
