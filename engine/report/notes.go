package report

// NoteIDs are the notes that a report may carry, by name; engine/doc.go says what each means.
var NoteIDs = []string{
	"branch-both", "device-remapped", "index-assumed", "locals-unknown", "loop-bound", "loop-open", "op-missing", "scratch-benchmark",
	"scratch-estimate", "scratch-stand-in", "shape-bound", "value-assumed",
}
