// Package engine predicts what a model takes on a GPU, from its artifact alone: Estimate gives the
// account, Check judges it.
//
// # The architecture
//
//	bytes ──▶ artifact ──▶ program ──▶ exec ──▶ trace ──▶ allocator ──▶ report ──▶ verdict
//	          decode       typed       abstract  alloc/   CUDA caching  peaks,      budgets:
//	          formats      graph       run with  free     allocator,    who held    pass, fail,
//	                                   ops rules events   simulated     what        inconclusive
//	                            ▲                 ▲            ▲
//	                           ops              PyTorch      device
//	                       (rule table)         snapshot     (rows)
//
// Each arrow is one Go value that can be printed, checked and stored: *artifact.Artifact,
// *program.Program, *trace.Trace, *allocator.Timeline, *report.Report, verdict.Verdict. A room
// imports only rooms to its left; arch_test.go holds the table of imports and fails on any other
// edge. The measured world enters at trace: a recorded snapshot of PyTorch, or the recording of a
// run, becomes the same value that exec makes.
//
// # From a case to its verdict
//
// suite.Judge takes a case through these steps; engine.Check takes 2 to 10 and judges budgets
// alone.
//
//  1. suite.Models.Judge takes the case. Models keep what is read once: artifacts, profiles, baselines.
//  2. origin.Find names the file: the artifact, or the recording of the case's source. Without one the
//     case is inconclusive, with the command that records it.
//  3. Opener.Open reads it: artifact.Open decodes a program or a recorded run, origin.ReadSidecar what
//     the export recorded beside it.
//  4. Model.Run reads every other file before anything runs: the workspace profile (useProfile), and the
//     sources that are compared with what the artifact was made from (Origin.Notes).
//  5. Model.execute runs the program: ops' rules on a machine of package exec. A recorded run is taken as
//     it is (exec/recorded). Either gives a trace.
//  6. allocator.Replay takes the trace through the allocator of the case's device: the timeline.
//  7. Run.upper does the same with the upper bounds of what is estimated.
//  8. Run.source gathers what the report is built of, and report.Build builds it.
//  9. Run.Judge runs the model at the lower end of sizes that depend on data, where there are any.
//  10. verdict.Judge compares the report with the budgets.
//  11. Models.judgeFit takes 4 to 10 once more for each value of fits:.
//  12. Result.Compare compares the report with the baseline and judges regression:.
//  13. For a value of fits: that does not fit, Models.Largest searches the largest that does.
//
// What a person reads of it (Result.Line, Result.Message) and what would make a failing case pass
// (Models.Remedies) is made from the result when it is asked for.
//
// # The packages
//
//	units      sizes in bytes: read, printed, added
//	layout     text for people in columns: wrapped lines, tables
//	tensor     dtypes, sizes and strides, storages
//	schema     PyTorch's operator signatures
//	device     the GPUs, each row with its source
//	platform   what a run happens on and with; what changed in which torch release
//	workspace  what libraries and kernels take beside results, as functions of shapes and platform; in profile: what libraries themselves answer
//	note       what a run may have to assume: IDs and texts
//	artifact   what people have, by signature: archives to programs, recordings and snapshots to runs, unrecognized files by name; and strip
//	           artifact/torchscript, artifact/torchexport, artifact/aotinductor: a decoder for each format
//	           artifact/modelfolder: config.json and safetensors headers of a model's folder: weights and KV cache
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
//	serving    a model's folder under an engine: what fits, how many tokens of KV cache are left
//	coverage   operators of a program that have no rule
//	origin     what an artifact was made from: sources, sidecar, recordings of cases; what of it has changed
//	suite      many cases: each file read once, fits:, baselines, searches, what a failing test prints
//	guess      inputs that a model runs with, where nobody says them
//	internal   containers and scanners of files (ptzip, pickle, jsonscan, python, pysource, expr, lockfile),
//	           lists whose memory is used again (zeroed), names that are meant (nearest), what is read once (once);
//	           internal/testing: golden files, recordings (conformance), operator samples (aten), faults
//
// Entry points, each of which calls this package and adds no own rule:
//
//	cmd/memspec         the command; a verb is a file
//	assert              go test; assert/require ends the test
//	cudameasure         runs a case with memshim, on a GPU or a pretend one; cudameasure/verify compares the run with the prediction
//	pyshim              memshim: python -m memshim, pytest, the pretend GPU
//
// Where to add what: an operator is a row in its family under ops (ops/doc.go has the families and
// the six questions); a kind of artifact is a row in artifact/kinds.go, and a folder beside it
// where it holds a program; a device is a row in device; an allocator setting is a row in
// allocator; a format of reports is a writer and a row in format.Formats; a metric is a constant in
// report and its line in Value; a note is a row in note, a line below and a test in notes_test.go.
//
// # Promises
//
// This package's functions, packages assert and assert/require and memspec.yaml are kept. The rooms
// beneath are public so that operators, devices and formats can be added from outside, but they are
// v0 and may change.
//
// Nothing is executed, no tensor bytes are read (small constants excepted), nothing reads the
// environment, and the same case gives the same bytes on every machine. An operator without a rule
// is never guessed: the account is then incomplete and no budget passes.
//
// # What is not modelled
//
// Training, but as a recording of it (package recording). Several streams of one run. Fused kernels
// that TorchScript's profiling executor may make from the second pass on. What libraries allocate
// outside PyTorch's allocator, except the context's cost where a device's row or memspec.yaml
// states it, and the weights of an AOTInductor package. Library workspace is by formula where
// nothing more exact is known, and the report says so.
//
// # Notes
//
// What a run had to assume is a note with a stable ID, written once at a place; allow: in
// memspec.yaml names those that do not count.
//
//	artifact-stale       a file that the artifact was made from has changed; the verdict is inconclusive
//	branch-both          a branch depends on tensor data; both sides were run and the heavier is kept
//	dependencies-unchecked  some dependencies of a recorded run were not compared with the current ones; the verdict does not depend on it
//	device-remapped      the archive's code names a device; it was read as the case's
//	driver-estimate      what the driver takes beside an engine is read off public logs; so tokens and requests of KV cache are estimates
//	driver-unlogged      what the driver takes beside an engine is read off public logs of another card; nobody knows how far tokens and requests of KV cache are from it
//	fixed-lengths        a size that differs between the iterations of a real run was the same in all of the recorded run; other sizes may reserve more
//	gradient-missing     after a training step some parameters that require a gradient had none; the step did not use them
//	index-assumed        a position depends on tensor data; it does not matter to memory
//	later-graph          TorchScript's executor runs another graph from the second pass on, in which tensors may die earlier
//	locals-unknown       eager lifetimes of a traced or frozen archive, which does not record Python's names
//	loop-bound           the number of rounds of a loop depends on tensor data; what they hold does not grow
//	loop-open            the number of rounds of a loop depends on tensor data, and each may hold more; the report is incomplete
//	op-assumed           an operator without a rule; its results are those that the program recorded at its example sizes
//	op-missing           an operator without a rule; the report is incomplete
//	operators-differ     the live model runs other operators than its exported program; eager figures are the program's, and estimates
//	other-device         a run was recorded on another device or torch than the case's, or does not record which
//	outside-unknown      what a library takes outside PyTorch's allocator is not known; a budget on the total is undecided
//	ranks-not-run        ranks that take otherwise than those that ran did not run; they may take more
//	shape-bound          a size depends on tensor data; its upper bound was used
//	timing-decides       on a card a measured time decides what a compiled model takes; the alternative that takes more was used
//	value-assumed        a number depends on tensor data and is only computed with; it does not matter to memory
//	value-compared       a run on a pretend GPU read a value that no kernel computed; with other values it takes the same
//	value-decides        a value that no kernel computed decides what a run takes; runs with other values give the figure two ends
//	value-open           a value that no kernel computed may decide what a run takes, and no upper end is known; the verdict is inconclusive
//	value-read           a run on a pretend GPU read a value that no kernel computed, and continued with another
//	value-stated         assume: states a value that a run on a pretend GPU read; the figure holds for that value
//	workspace-benchmark  cudnn.benchmark runs the fastest plan, which only a device can choose
//	workspace-estimate   some library workspace is by formula
//	workspace-stand-in   another version of a library answered, or it answered without a device
//	workspace-unknown    no formula for part of an operator's workspace; that part is counted as 0
package engine
