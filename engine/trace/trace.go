// Package trace holds the allocations and frees of a run in order, with where each came from.
//
// A Trace is what exec produces from a program and what FromSnapshot reads from a memory snapshot
// of PyTorch: the same value, so that the simulated allocator can be judged without the interpreter
// and the interpreter without the allocator. It can be printed and parsed back (WriteTo, Parse),
// checked (Validate) and compared with another (Align). It says what was asked for; rounding,
// blocks and segments are the allocator's.
package trace

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// Trace is a run: what was there before, then every event in order.
type Trace struct {
	Origin   string    // what made it: "exec", or the snapshot's device
	Heap     []Segment // what was there when the recording began (a snapshot's), by address
	Passes   []Pass    // in the order they ran
	Sites    []Site    // in the order of first use
	Events   []Event
	Notes    []Note
	Upper    []Estimate // allocations whose size is an estimate, by storage
	Sources  []Source   // allocations whose size somebody answered for, by storage
	Coverage Coverage
	// device memory that the run holds beside the allocator's: the weights of an AOTInductor
	// package
	Outside units.Bytes
}

// Pass is a stretch of a run that repeats in kind: a forward pass, an iteration of a training loop.
type Pass struct{ Name string }

// FirstAndSteady are the passes of an inference: the first takes what libraries keep, the second is
// as all that follow.
func FirstAndSteady() []Pass { return []Pass{{"first"}, {"steady"}} }

// PassName names the pass of an event: "" before the first.
func (t *Trace) PassName(pass int) string {
	switch {
	case pass <= 0:
		return ""
	case pass <= len(t.Passes) && t.Passes[pass-1].Name != "":
		return t.Passes[pass-1].Name
	}
	return "pass " + strconv.Itoa(pass)
}

// Estimate says how much an allocation of estimated size takes at the most.
type Estimate struct {
	Storage tensor.StorageID
	Bytes   units.Bytes
}

// Source says who answered for the size of an allocation.
type Source struct {
	Storage tensor.StorageID
	Text    string
}

// Event is one action on the allocator.
type Event struct {
	Action  Action
	Storage tensor.StorageID // of Alloc and the frees; else NoStorage
	Bytes   units.Bytes      // as requested; of segment actions the segment's
	Addr    uint64           // as recorded; 0 where nothing was recorded
	Stream  int
	Pass    int // 0 before the first pass (parameters, buffers, inputs), else one more than an index of Trace.Passes
	Site    SiteID
}

// NoStorage is the storage of an event that has none, NoSite the place of one whose origin is not
// known.
const (
	NoStorage tensor.StorageID = -1
	NoSite    SiteID           = -1
)

// Action says what happened, in the words of PyTorch's TraceEntry where it has one.
type Action uint8

// The actions. A trace without any FreeCompleted comes from one stream: there a storage is free
// when FreeRequested says so. In a trace that has some (a snapshot's), memory returns at
// FreeCompleted.
const (
	Alloc         Action = iota
	FreeRequested        // the last tensor died
	FreeCompleted        // no stream uses the block any more
	SegmentAlloc
	SegmentFree
	SegmentMap
	SegmentUnmap
	OOM        // an allocation of Bytes failed
	EmptyCache // torch.cuda.empty_cache
	Snapshot   // a snapshot was taken
	Mark       // a named moment: the name is the site's Op
)

var actionNames = [...]string{"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free",
	"segment_map", "segment_unmap", "oom",
	"empty_cache", "snapshot", "mark"}

func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "unknown"
}

// ParseAction reads what String prints.
func ParseAction(s string) (Action, bool) {
	for i, n := range actionNames {
		if n == s {
			return Action(i), true
		}
	}
	return 0, false
}

// Site is where events come from.
type Site struct {
	Op       string // schema name with overload; of loaded state its name
	Module   string // fully qualified, "" at the top
	File     string // the user's source
	Line     int
	Phase    Phase
	Category tensor.Category
	Saver    Saver // of what autograd saved; no part of the text form
}

// Saver is the first operator that autograd saved a storage for. Its backward is the last to use
// it.
type Saver struct {
	Op     string // the node of the autograd graph: AddmmBackward0
	Module string // fully qualified, "" at the top
	File   string // the user's source, of the operator's forward
	Line   int
}

// SiteID is an index into Trace.Sites, or NoSite.
type SiteID int32

// Phase is the part of a run.
type Phase uint8

// The phases.
const (
	Load Phase = iota
	Forward
	Backward
	Step
)

var phaseNames = [...]string{"load", "forward", "backward", "step"}

func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return "unknown"
}

// ParsePhase reads what String prints.
func ParsePhase(s string) (Phase, bool) {
	for i, n := range phaseNames {
		if n == s {
			return Phase(i), true
		}
	}
	return 0, false
}

// Note is something assumed, once at a site.
type Note struct {
	note.Note
	Site SiteID // or NoSite
}

// Segment is one piece of device memory that the allocator holds.
type Segment struct {
	Addr       uint64
	Size       units.Bytes
	Stream     int
	Small      bool   // of the small pool
	Private    string // of the private pool of this name (a captured graph's, a MemPool's), "" for the default pools
	Expandable bool
	Blocks     []Block // by address, covering the segment
}

// Block is a piece of a segment.
type Block struct {
	Addr      uint64
	Size      units.Bytes
	Requested units.Bytes      // what was asked for; 0 for inactive blocks
	State     BlockState       //
	Storage   tensor.StorageID // of blocks that an event of the trace frees, else NoStorage
}

// BlockState is PyTorch's word for what a block is used for.
type BlockState uint8

// The states.
const (
	Inactive           BlockState = iota
	ActiveAllocated               // handed out
	ActiveAwaitingFree            // freed, but another stream may still use it
)

var blockStateNames = [...]string{"inactive", "active_allocated", "active_awaiting_free"}

func (s BlockState) String() string {
	if int(s) < len(blockStateNames) {
		return blockStateNames[s]
	}
	return "unknown"
}

// Coverage says how much of a program exec understood. Each count holds the next.
type Coverage struct {
	Nodes int // executed
	// tensors that operators returned, also operators without a rule, as far as is known how many
	TensorOutputs int
	KnownDType    int // of these, with a known dtype
	// of these, of a size that follows from the operator's arguments: not where tensor data decides
	Sized       int
	Unsupported []Unsupported // in the order met
}

// Unsupported is something that is missing from an account, and why.
type Unsupported struct {
	Op     string // the operator, "" where it is none
	Reason Reason
	Detail string // what the reason needs beside it
	Count  int
	First  Site
}

// Reason says why something is missing.
type Reason uint8

// The reasons.
const (
	NoRule Reason = iota // the operator has no rule
	// the operator makes a tensor, or changes a container, of a number that depends on tensor data
	ReadsData
	OpenLoop      // how often a loop runs depends on tensor data, and each round may hold more
	ManyBranches  // branches on tensor data go more ways than are tried; Detail is how many were
	RefusedAtMost // the model refuses sizes at the upper bound; Detail is its error
	RefusedWay    // one way of a branch on tensor data is refused by an operator; Detail is its error
	CustomClass   // the operator is a method of a class written in C++
	CutShort      // the recording ends where memory ran out; Detail is the pass
	FailedState   // the operator is the __setstate__ of an archived object; Detail is its error
	// the live module runs other operators under autocast than this one, which was traced without
	// it
	NotUnderAutocast
)

var reasonNames = [...]string{"no-rule", "reads-data", "open-loop", "many-branches", "refused-at-most", "refused-way",
	"custom-class", "cut-short", "failed-state", "not-under-autocast"}

func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "unknown"
}

// MarshalText makes a reason a word in JSON.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads such a word.
func (r *Reason) UnmarshalText(text []byte) error {
	got, ok := ParseReason(string(text))
	if !ok {
		return fmt.Errorf("got the reason %q, want one of %s", text, strings.Join(reasonNames[:], ", "))
	}
	*r = got
	return nil
}

// ParseReason reads what String prints.
func ParseReason(s string) (Reason, bool) {
	for i, n := range reasonNames {
		if n == s {
			return Reason(i), true
		}
	}
	return 0, false
}

// Site returns the site of that number, or the empty one.
func (t *Trace) Site(id SiteID) Site {
	if id < 0 || int(id) >= len(t.Sites) {
		return Site{}
	}
	return t.Sites[id]
}

// Storages returns one more than the highest storage number.
func (t *Trace) Storages() int {
	n := tensor.StorageID(-1)
	for i := range t.Events {
		n = max(n, t.Events[i].Storage)
	}
	for i := range t.Heap {
		for j := range t.Heap[i].Blocks {
			n = max(n, t.Heap[i].Blocks[j].Storage)
		}
	}
	return int(n) + 1
}
