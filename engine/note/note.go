// Package note names what a run had to assume.
//
// An ID is stable: reports carry it, and allow: in memspec.yaml lists those that do not count. Kinds has a row for each, with the text of its
// notes; a note itself holds facts, its subject and, in a trace, its place.
package note

import "strings"

// ID is a note's stable name.
type ID string

// The IDs. Code outside this package names a note by these constants.
const (
	ArtifactStale      ID = "artifact-stale"
	BranchBoth         ID = "branch-both"
	DependsUnchecked   ID = "dependencies-unchecked"
	DeviceRemapped     ID = "device-remapped"
	GradientMissing    ID = "gradient-missing"
	IndexAssumed       ID = "index-assumed"
	LaterGraph         ID = "later-graph"
	LocalsUnknown      ID = "locals-unknown"
	LoopBound          ID = "loop-bound"
	LoopOpen           ID = "loop-open"
	OpAssumed          ID = "op-assumed"
	OpMissing          ID = "op-missing"
	OperatorsDiffer    ID = "operators-differ"
	OtherDevice        ID = "other-device"
	ShapeBound         ID = "shape-bound"
	TimingDecides      ID = "timing-decides"
	ValueAssumed       ID = "value-assumed"
	ValueCompared      ID = "value-compared"
	ValueDecides       ID = "value-decides"
	ValueOpen          ID = "value-open"
	ValueRead          ID = "value-read"
	ValueStated        ID = "value-stated"
	WorkspaceBenchmark ID = "workspace-benchmark"
	WorkspaceEstimate  ID = "workspace-estimate"
	WorkspaceStandIn   ID = "workspace-stand-in"
	WorkspaceUnknown   ID = "workspace-unknown"
)

// Note is one assumption, less its place.
type Note struct {
	ID      ID
	Subject string // see Kind.Subject
	Askable bool   // of a workspace's size: the library itself could be asked for it
	// Undecided says that no budget passes or fails while the note stands, unless allow: names its ID.
	Undecided bool
}

// Kind is what the notes of an ID have in common.
type Kind struct {
	ID      ID
	Meaning string // in a line, as the list in engine/doc.go has it
	Text    string // of a note; {subject} stands for its subject
	Subject string // what the subject is; "" where there is none
	Assume  Assume // what assume: in memspec.yaml can state at the note's place
}

// Assume is what a line of assume: states.
type Assume struct {
	What string // "SIZE", "ROUNDS"; "" for nothing
	Hint string // what follows a note's text; {assume} stands for the mapping to write
}

// Kinds are all notes, sorted by ID.
func Kinds() []Kind { return kinds[:] }

var kinds = [...]Kind{
	{ID: ArtifactStale, Meaning: "a file that the artifact was made from has changed; the verdict is inconclusive",
		Text: "{subject}", Subject: "what has changed, and the command that makes the artifact again"},
	{ID: BranchBoth, Meaning: "a branch depends on tensor data; both sides were run and the heavier is kept",
		Text: "a branch depends on tensor data: both sides were run, the heavier is kept"},
	{ID: DependsUnchecked, Meaning: "some dependencies of a recorded run were not compared with the current ones; the verdict does not depend on it",
		Text: "not compared: {subject}", Subject: "what was not compared, and why"},
	{ID: DeviceRemapped, Meaning: "the archive's code names a device; it was read as the case's",
		Text: "the archive names the device {subject} in its code: read as the case's device", Subject: "the device that the code names"},
	{ID: GradientMissing, Meaning: "after a training step some parameters that require a gradient had none; the step did not use them",
		Text: "{subject}", Subject: "how many parameters of how many bytes, and in which modules"},
	{ID: IndexAssumed, Meaning: "a position depends on tensor data; it does not matter to memory",
		Text: "a position depends on tensor data; it does not matter to memory"},
	{ID: LaterGraph, Meaning: "TorchScript's executor runs another graph from the second pass on, in which tensors may die earlier",
		Text: "TorchScript's executor removes a list from the second pass on: its members may then die earlier"},
	{ID: LocalsUnknown, Meaning: "eager lifetimes of a traced or frozen archive, which does not record Python's names",
		Text: "{subject}", Subject: "what the archive records instead"},
	{ID: LoopBound, Meaning: "the number of rounds of a loop depends on tensor data; what they hold does not grow",
		Text: "the number of rounds depends on tensor data: what they hold does not grow"},
	{ID: LoopOpen, Meaning: "the number of rounds of a loop depends on tensor data, and each may hold more; the report is incomplete",
		Text:   "the number of rounds depends on tensor data, and each may hold more",
		Assume: Assume{"ROUNDS", ": give assume: {assume}"}},
	{ID: OpAssumed, Meaning: "an operator without a rule; its results are those that the program recorded at its example sizes",
		Text: "{subject} has no rule: its results are those that the program recorded, without workspace", Subject: "the operator"},
	{ID: OpMissing, Meaning: "an operator without a rule; the report is incomplete",
		Text: "{subject}", Subject: "what is missing from the report, and how often it ran"},
	{ID: OperatorsDiffer, Meaning: "the live model runs other operators than its exported program; eager figures are the program's, and estimates",
		Text: "the live model may run other operators than the program: {subject}", Subject: "the first difference"},
	{ID: OtherDevice, Meaning: "a run was recorded on another device or torch than the case's, or does not record which",
		Text: "{subject}", Subject: "where it was recorded"},
	{ID: ShapeBound, Meaning: "a size depends on tensor data; its upper bound was used",
		Text:   "the result's size depends on tensor data: its upper bound was used",
		Assume: Assume{"SIZE", " (give assume: {assume} to state a tighter one)"}},
	{ID: TimingDecides, Meaning: "on a card a measured time decides what a compiled model takes; the alternative that takes more was used",
		Text: "{subject}", Subject: "what is decided, and what was taken"},
	{ID: ValueAssumed, Meaning: "a number depends on tensor data and is only computed with; it does not matter to memory",
		Text: "a number depends on tensor data and is only computed with; it does not matter to memory"},
	{ID: ValueCompared, Meaning: "a run on a pretend GPU read a value that no kernel computed; with other values it takes the same",
		Text: "{subject}; runs with other values take the same", Subject: "what was read, and what was taken instead"},
	{ID: ValueDecides, Meaning: "a value that no kernel computed decides what a run takes; runs with other values give the figure two ends",
		Text: "{subject}", Subject: "the lines that read it",
		Assume: Assume{"VALUE", " (give assume: {assume} to state which is meant)"}},
	{ID: ValueOpen, Meaning: "a value that no kernel computed may decide what a run takes, and no upper end is known; the verdict is inconclusive",
		Text: "{subject}", Subject: "the first line that reads it, and why no end is known",
		Assume: Assume{"VALUE", " (give assume: {assume} to state which is meant)"}},
	{ID: ValueRead, Meaning: "a run on a pretend GPU read a value that no kernel computed, and continued with another",
		Text: "{subject}", Subject: "what was read, and what was taken instead"},
	{ID: ValueStated, Meaning: "assume: states a value that a run on a pretend GPU read; the figure holds for that value",
		Text: "{subject}", Subject: "what was read, and what assume: says"},
	{ID: WorkspaceBenchmark, Meaning: "cudnn.benchmark runs the fastest plan, which only a device can choose",
		Text: "{subject}", Subject: "where the figure comes from"},
	{ID: WorkspaceEstimate, Meaning: "some library workspace is by formula",
		Text: "{subject}", Subject: "where the figure comes from"},
	{ID: WorkspaceStandIn, Meaning: "another version of a library answered for one that cannot be queried",
		Text: "{subject}", Subject: "who answered for whom"},
	{ID: WorkspaceUnknown, Meaning: "no formula for part of an operator's workspace; that part is counted as 0",
		Text: "no formula for part of the workspace of {subject}; that part is counted as 0", Subject: "the operator, and which part"},
}

// IDs are the IDs of all notes, sorted.
func IDs() []string {
	ids := make([]string, len(kinds))
	for i := range kinds {
		ids[i] = string(kinds[i].ID)
	}
	return ids
}

// Of is the row of an ID; false for one that is in none.
func Of(id ID) (Kind, bool) {
	for i := range kinds {
		if kinds[i].ID == id {
			return kinds[i], true
		}
	}
	return Kind{}, false
}

// Text says what was assumed, in one line without the place.
func (n Note) Text() string {
	k, ok := Of(n.ID)
	if !ok {
		return n.Subject
	}
	return strings.ReplaceAll(k.Text, "{subject}", n.Subject)
}

// AssumeHint says what to write under assume: for notes at places, each file:line; "" where nothing can be stated.
func (k Kind) AssumeHint(places ...string) string {
	if k.Assume.What == "" || len(places) == 0 {
		return ""
	}
	parts := make([]string, len(places))
	for i, p := range places {
		parts[i] = p + ": " + k.Assume.What
	}
	return strings.ReplaceAll(k.Assume.Hint, "{assume}", "{"+strings.Join(parts, ", ")+"}")
}
