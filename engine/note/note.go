// Package note names what a run had to assume.
//
// An ID is stable: reports carry it, and allow: in memspec.yaml lists those that do not count.
// Kinds has a row for each, with the text of its notes; a note itself holds facts, its subject and,
// in a trace, its place.
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
	DriverEstimate     ID = "driver-estimate"
	DriverUnlogged     ID = "driver-unlogged"
	FixedLengths       ID = "fixed-lengths"
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
	OutsideUnknown     ID = "outside-unknown"
	RanksNotRun        ID = "ranks-not-run"
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
	Effect  Effect // on a verdict
}

// Effect is what notes of an ID mean for the figures, and so what a verdict makes of them unless
// allow: names the ID. The zero value is none: every row of Kinds chooses.
type Effect uint8

// The effects.
const (
	Exact  Effect = iota + 1 // the figures stay exact
	AtMost                   // the figures may be too high, never too low: they are judged as they are
	Upper                    // the figures may be too low: an upper figure, which the run has, is judged beside them
	// the figures may be too low and no upper figure is known: a budget that they keep is undecided
	Open
	OpenTotal // Open of a total alone: what is not known lies outside PyTorch's allocator
	// Open of reserved, total and host_pinned: how PyTorch's allocators have cached is not known
	OpenReserved
	OpenTokens  // Open of kv_tokens and concurrency: nobody knows by how much they are too many
	UpperTokens // Upper of kv_tokens and concurrency: they may be too many
	Ends        // the figures have two ends, and both are judged
	Decides     // no end is known of what decides the figures: every budget is undecided
	Partial     // sizes are missing: every budget is undecided
	// Note.Undecided says it: every budget is undecided, or the figures are judged as they are
	ByNote
)

// String is what a verdict makes of a figure beside such a note.
func (e Effect) String() string {
	return [...]string{
		Exact:        "none: figures stay exact",
		AtMost:       "judged as it is: never too low",
		Upper:        "the upper figure is judged too",
		Open:         "undecided where it keeps a budget: no upper figure is known",
		OpenReserved: "reserved, a total and host_pinned are undecided where they keep a budget",
		OpenTokens:   "tokens and requests are undecided where they keep a budget",
		UpperTokens:  "the least of tokens and requests is judged too",
		OpenTotal:    "a total is undecided where it keeps a budget",
		Ends:         "both ends are judged",
		Decides:      "undecided",
		Partial:      "undecided: sizes are missing",
		ByNote:       "undecided, unless what differs can only be less",
	}[e]
}

// Effect is what notes of the ID mean for the figures. Of an ID that no row has they may be too
// low.
func (id ID) Effect() Effect {
	if k, ok := Of(id); ok {
		return k.Effect
	}
	return Open
}

// Assume is what a line of assume: states.
type Assume struct {
	What string // "SIZE", "ROUNDS"; "" for nothing
	Hint string // what follows a note's text; {assume} stands for the mapping to write
}

// Kinds are all notes, sorted by ID.
func Kinds() []Kind { return kinds[:] }

var kinds = [...]Kind{
	{ID: ArtifactStale, Effect: Decides, Meaning: "a file that the artifact was made from has changed; the verdict is " +
		"inconclusive",
		Text: "{subject}", Subject: "what has changed, and the command that makes the artifact again"},
	{ID: BranchBoth, Effect: Ends, Meaning: "a branch depends on tensor data; both sides were run and the heavier is kept",
		Text: "a branch depends on tensor data: both sides were run, the heavier is kept"},
	{ID: DependsUnchecked, Effect: Exact, Meaning: "some dependencies of a recorded run were not compared with the " +
		"current ones; the verdict does not depend on it",
		Text: "not compared: {subject}", Subject: "what was not compared, and why"},
	{ID: DeviceRemapped, Effect: Exact, Meaning: "the archive's code names a device; it was read as the case's",
		Text:    "the archive names the device {subject} in its code: read as the case's device",
		Subject: "the device that the code names"},
	{ID: DriverEstimate, Effect: UpperTokens, Meaning: "what the driver takes beside an engine is read off public logs; " +
		"so tokens and requests of KV cache are estimates",
		Text: "outside of PyTorch the driver takes {subject}", Subject: "the bytes, their range and their source"},
	{ID: DriverUnlogged, Effect: OpenTokens, Meaning: "what the driver takes beside an engine is read off public logs " +
		"of another card; nobody knows how far tokens and requests of KV cache are from it",
		Text: "outside of PyTorch the driver is taken to take {subject}", Subject: "the bytes and their source"},
	{ID: FixedLengths, Effect: OpenReserved, Meaning: "a size that differs between the iterations of a real run was the " +
		"same in all of the recorded run; other sizes may reserve more",
		Text: "{subject} was the same in every iteration, and differs in a real run, which may reserve more (state " +
			"lengths:)",
		Subject: "the dim"},
	{ID: GradientMissing, Effect: Exact, Meaning: "after a training step some parameters that require a gradient had " +
		"none; the step did not use them",
		Text: "{subject}", Subject: "how many parameters of how many bytes, and in which modules"},
	{ID: IndexAssumed, Effect: Exact, Meaning: "a position depends on tensor data; it does not matter to memory",
		Text: "a position depends on tensor data; it does not matter to memory"},
	{ID: LaterGraph, Effect: AtMost, Meaning: "TorchScript's executor runs another graph from the second pass on, in " +
		"which tensors may die earlier",
		Text: "TorchScript's executor removes a list from the second pass on: its members may then die earlier"},
	{ID: LocalsUnknown, Effect: Upper, Meaning: "eager lifetimes of a traced or frozen archive, which does not record " +
		"Python's names",
		Text: "{subject}", Subject: "what the archive records instead"},
	{ID: LoopBound, Effect: Ends, Meaning: "the number of rounds of a loop depends on " +
		"tensor data; what they hold does not grow",
		Text: "the number of rounds depends on tensor data: what they hold does not grow"},
	{ID: LoopOpen, Effect: Partial, Meaning: "the number of rounds of a loop depends on tensor data, and each may hold " +
		"more; the report is incomplete",
		Text:   "the number of rounds depends on tensor data, and each may hold more",
		Assume: Assume{"ROUNDS", ": give assume: {assume}"}},
	{ID: OpAssumed, Effect: Open, Meaning: "an operator without a rule; its results are those that the program recorded " +
		"at its example sizes",
		Text:    "{subject} has no rule: its results are those that the program recorded, without workspace",
		Subject: "the operator"},
	{ID: OpMissing, Effect: Partial, Meaning: "an operator without a rule; the report is incomplete",
		Text: "{subject}", Subject: "what is missing from the report, and how often it ran"},
	{ID: OperatorsDiffer, Effect: Upper, Meaning: "the live model runs other operators than its exported program; eager " +
		"figures are the program's, and estimates",
		Text: "the live model may run other operators than the program: {subject}", Subject: "the first difference"},
	{ID: OtherDevice, Effect: ByNote, Meaning: "a run was recorded on another device or torch than the case's, or does " +
		"not record which",
		Text: "{subject}", Subject: "where it was recorded"},
	{ID: OutsideUnknown, Effect: OpenTotal, Meaning: "what a library takes outside PyTorch's allocator is not known; a " +
		"budget on the total is undecided",
		Text: "{subject}", Subject: "what is not known"},
	{ID: RanksNotRun, Effect: Open, Meaning: "ranks that take otherwise than those that " +
		"ran did not run; they may take more",
		Text: "{subject} did not run", Subject: "how many ranks, and why they take otherwise"},
	{ID: ShapeBound, Effect: Ends, Meaning: "a size depends on tensor data; its upper bound was used",
		Text:   "the result's size depends on tensor data: its upper bound was used",
		Assume: Assume{"SIZE", " (give assume: {assume} to state a tighter one)"}},
	{ID: TimingDecides, Effect: AtMost, Meaning: "on a card a measured time decides what a compiled model takes; the " +
		"alternative that takes more was used",
		Text: "{subject}", Subject: "what is decided, and what was taken"},
	{ID: ValueAssumed, Effect: Exact, Meaning: "a number depends on tensor data and is only computed with; it does not " +
		"matter to memory",
		Text: "a number depends on tensor data and is only computed with; it does not matter to memory"},
	{ID: ValueCompared, Effect: Exact, Meaning: "a run on a pretend GPU read a value that no kernel computed; with " +
		"other values it takes the same",
		Text: "{subject}; runs with other values take the same", Subject: "what was read, and what was taken instead"},
	{ID: ValueDecides, Effect: Ends, Meaning: "a value that no kernel computed decides what a run takes; runs with " +
		"other values give the figure two ends",
		Text: "{subject}", Subject: "the lines that read it",
		Assume: Assume{"VALUE", " (give assume: {assume} to state which is meant)"}},
	{ID: ValueOpen, Effect: Decides, Meaning: "a value that no kernel computed may decide what a run takes, and no " +
		"upper end is known; the verdict is inconclusive",
		Text: "{subject}", Subject: "the first line that reads it, and why no end is known",
		Assume: Assume{"VALUE", " (give assume: {assume} to state which is meant)"}},
	{ID: ValueRead, Effect: Open, Meaning: "a run on a pretend GPU read a value that no kernel computed, and continued " +
		"with another",
		Text: "{subject}", Subject: "what was read, and what was taken instead"},
	{ID: ValueStated, Effect: Exact, Meaning: "assume: states a value that a run on a pretend GPU read; the figure " +
		"holds for that value",
		Text: "{subject}", Subject: "what was read, and what assume: says"},
	{ID: WorkspaceBenchmark, Effect: Upper, Meaning: "cudnn.benchmark runs the fastest " +
		"plan, which only a device can choose",
		Text: "{subject}", Subject: "where the figure comes from"},
	{ID: WorkspaceEstimate, Effect: Upper, Meaning: "some library workspace is by formula",
		Text: "{subject}", Subject: "where the figure comes from"},
	{ID: WorkspaceStandIn, Effect: Upper,
		Meaning: "another version of a library answered, or it answered without a device",
		Text:    "{subject}", Subject: "who answered for whom"},
	{ID: WorkspaceUnknown, Effect: Open, Meaning: "no formula for part of an operator's " +
		"workspace; that part is counted as 0",
		Text:    "no formula for part of the workspace of {subject}; that part is counted as 0",
		Subject: "the operator, and which part"},
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

// AssumeHint says what to write under assume: for notes at places, each file:line; "" where nothing
// can be stated.
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
