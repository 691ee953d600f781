// Package format writes what a command found out in the forms that other tools read.
//
// A command hands over one Case after another and a Summary at the end; a Writer turns them into
// one file. Each format is one writer and one row of Formats: what a row Needs of a case says which
// commands can offer it, and the ending of a file's name chooses it. No writer knows a command,
// looks at the environment or asks for the time: the same cases give the same bytes.
//
//	text        for people, as each command writes it         json        the contract between the doors
//	junit       test results, for any CI                      sarif       code scanning: SARIF 2.1.0
//	github      annotations of a GitHub workflow              markdown    a comment on a pull request
//	html        one page: timeline, holders, segments         csv         a row a case and metric
//	snapshot    torch.cuda.memory's own, for memory_viz       perfetto    Perfetto and chrome://tracing
//	pprof       who holds the peak, for go tool pprof
//
// Names come from archives and from memspec.yaml and are never trusted: each writer escapes them
// for its format, and a name never spans lines. Paths are those below the repository where they are
// known to lie in it (Paths), with forward slashes.
package format
