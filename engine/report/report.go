// Package report says what a run takes: it turns an allocator's timeline into peaks, who held them,
// and what was assumed.
//
// A Report is a value: it names every size in bytes, holds no pointer into the rooms that made it,
// and its JSON (see Schema) is the contract between the doors. Slices are in a documented order, so
// the same run prints the same bytes. It does not judge; that is verdict.
package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Schema numbers the JSON form of a Report. It grows when a key changes its meaning, not when one
// is added.
const Schema = 1

// Metric is a number a budget can be put on, named as in memspec.yaml.
type Metric string

// The metrics.
const (
	// parameters, buffers and constants on the device, as the allocator counts them; of an
	// AOTInductor package the block outside of it
	Weights   Metric = "weights"
	Delta     Metric = "delta"      // what the run adds: peak allocated less what was allocated before the first pass
	Allocated Metric = "allocated"  // torch.cuda.max_memory_allocated; of a compiled model after its first call
	FirstCall Metric = "first_call" // allocated while the first pass runs, which compiles and tunes a compiled model
	Reserved  Metric = "reserved"   // torch.cuda.max_memory_reserved
	Total     Metric = "total"      // context + reserved + outside: what nvidia-smi shows for the process
	// HostPinned is page-locked memory of the host, of a recorded run on a pretend GPU; no device's.
	HostPinned Metric = "host_pinned"
)

// Metrics are those that every report has, in the order they are printed.
func Metrics() []Metric { return []Metric{Weights, Delta, Allocated, Reserved, Total} }

// BudgetMetrics are all that a budget can be put on, in the order they are printed.
func BudgetMetrics() []Metric {
	return []Metric{Weights, Delta, Allocated, FirstCall, Reserved, Total, HostPinned}
}

// OfDevice says whether the metric is of the device's memory, so that its limit may be a share of
// it.
func (m Metric) OfDevice() bool { return m != HostPinned }

// Quality says what a number is worth (best first).
type Quality string

// The qualities.
const (
	Exact     Quality = "exact"    // no assumption
	Estimated Quality = "estimate" // some library workspace is by rule: note workspace-estimate
	// data-dependent sizes at their most: never under; with OtherValues, a figure with two ends
	Bound      Quality = "bound"
	Incomplete Quality = "incomplete" // operators without a rule: sizes are missing
)

// Report is the account of one run on one device.
type Report struct {
	Schema int `json:"schema"`
	Run
	Weights  units.Bytes `json:"weights"`
	Baseline Sizes       `json:"baseline"` // before the first pass: weights and inputs
	// device memory beside the allocator and the context: the weights of an AOTInductor package
	Outside units.Bytes `json:"outside,omitempty"`
	Unknown []Metric    `json:"unknown,omitempty"` // metrics that the artifact does not record
	// what NCCL's communicators take beside the allocator; nil where there are none
	NCCL *NCCL `json:"nccl,omitempty"`
	// the most page-locked memory of the host; nil where the run does not record it
	HostPinned *units.Bytes `json:"host_pinned,omitempty"`
	// what the CUDA context takes beside the allocator; nil where nothing is known of it
	Context *Context `json:"context,omitempty"`
	Passes  []Pass   `json:"passes"` // in the order they ran
	// over the whole run; of a compiled model over its later calls, Reserved and Total over all
	Peak Peak `json:"peak"`
	// of a compiled model, with the trials of its kernels; else nil
	FirstCall *Sizes `json:"first_call,omitempty"`
	// of an engine that serves a model: its figures are in the place of the peaks
	Serving *Serving `json:"serving,omitempty"`
	Upper   *Upper   `json:"upper,omitempty"`
	// OriginUnknown where nothing records what the artifact was made from
	Origin     string      `json:"origin,omitempty"`
	Delta      units.Bytes `json:"delta"`
	PeakAt     *Moment     `json:"peak_at,omitempty"`     // of the allocated peak; nil where nothing was allocated
	ReservedAt *Moment     `json:"reserved_at,omitempty"` // of the reserved peak
	// reserved but free while the reserved peak lasts, when that is least
	Cached  units.Bytes  `json:"cached"`
	OOM     *OutOfMemory `json:"oom,omitempty"` // the run does not fit the device
	Quality Quality      `json:"quality"`

	// OtherValues are runs with other values that take otherwise, of a run that read values which
	// no kernel computed; none where all take the same.
	OtherValues []OtherValues `json:"other_values,omitempty"`

	Workspace []Workspace `json:"workspace,omitempty"` // who answered for the workspace of library calls
	Coverage  Coverage    `json:"coverage"`
	Holders   []Holder    `json:"holders"` // of the allocated peak; by Flat, largest first, then by place
	Notes     []Note      `json:"notes"`   // in the order they were written, each once at a place
}

// OriginUnknown is the origin of an artifact whose sources nothing records.
const OriginUnknown = "unknown"

// Recorded is the runtime and the mode of a recorded run that does not state its own.
const Recorded = "recorded"

// Program is the mode of a recorded program in which no optimizer stepped.
const Program = "program"

// Serve is the mode of an engine that serves a model.
const Serve = "serve"

// Run says what ran, and on what.
type Run struct {
	Artifact string `json:"artifact"`
	Format   string `json:"format"`
	Producer string `json:"producer"`
	Where    string `json:"where,omitempty"` // of a recorded run: cuda, pretend or cpu
	Runtime  string `json:"runtime"`
	Mode     string `json:"mode"`
	// a whole program was recorded: nothing was held before its first pass
	Program   bool     `json:"program,omitempty"`
	Device    string   `json:"device"`
	Torch     string   `json:"torch"`
	AllocConf string   `json:"alloc_conf"`
	Inputs    []string `json:"inputs"`         // in the grammar of --input, dims bound
	Rank      *Rank    `json:"rank,omitempty"` // of a program of several ranks; else nil
	GPUs      int      `json:"gpus,omitempty"` // of an engine that serves a model on several; else 0
}

// On is "on t4, eager": the device and the runtime, which decide a peak as much as the model does.
func (r *Run) On() string {
	on := "on " + gpus(r.GPUs) + r.Device + ", " + r.Runtime
	if r.Rank != nil {
		on += ", " + r.Rank.String()
	}
	return on
}

// Rank is one of a program's ranks.
type Rank struct {
	Rank      int    `json:"rank"`
	WorldSize int    `json:"world_size"`
	Place     string `json:"place,omitempty"` // in the program's meshes: dp 0 of 2, stage 1
	// the ranks that ran; this one takes the most, or is the one that was chosen
	Run []int `json:"run"`
	// ranks that take otherwise and did not run: the figures are then an estimate
	Unlike int `json:"unlike"`
}

// String is "rank 64 of 512 (stage 1; 8 ranks run)".
func (r *Rank) String() string {
	var of []string
	if r.Place != "" {
		of = append(of, r.Place)
	}
	of = append(of, fmt.Sprintf("%d of %d ranks run", len(r.Run), r.WorldSize))
	if r.Unlike > 0 {
		of = append(of, fmt.Sprintf("%d that differ did not", r.Unlike))
	}
	return fmt.Sprintf("rank %d (%s)", r.Rank, strings.Join(of, "; "))
}

// Sizes are one moment's or one peak's bytes, in PyTorch's words.
type Sizes struct {
	Requested units.Bytes `json:"requested"`
	Allocated units.Bytes `json:"allocated"`
	Reserved  units.Bytes `json:"reserved"`
}

// Pass is one pass of a run and its own peaks.
type Pass struct {
	Name   string      `json:"name"` // first and steady of an inference
	Peak   Sizes       `json:"peak"`
	Phases []PhasePeak `json:"phases,omitempty"` // where it has several, in the order they began
}

// Context is what a CUDA context takes, from the least to the most: both are the same where it was
// measured or given.
type Context struct {
	Low    units.Bytes `json:"low"`
	High   units.Bytes `json:"high"`
	Source string      `json:"source"`
}

// Peak holds each metric's largest value over the run; they need not be reached at one moment.
type Peak struct {
	Requested units.Bytes  `json:"requested"`
	Allocated units.Bytes  `json:"allocated"`
	Active    units.Bytes  `json:"active"`
	Reserved  units.Bytes  `json:"reserved"`
	Total     *units.Bytes `json:"total"` // nil where the device's context cost is not known, or within a range only
}

// Upper is the peak with all that is estimated at its upper bound: library workspace, and locals of
// Python that the archive does not record.
type Upper struct {
	Allocated units.Bytes `json:"allocated"`
	Reserved  units.Bytes `json:"reserved"`
	// such a run does not fit the device: its peaks are those up to there; nil where it fits
	OOM *NoRoom `json:"oom,omitempty"`
}

// NoRoom is an allocation that the device could not satisfy.
type NoRoom struct {
	Requested units.Bytes `json:"requested"`
	Limit     units.Bytes `json:"limit"`
}

// Site is where something happened, as far as the artifact says: trace.Site for people.
type Site struct {
	Op     string `json:"op"`
	Module string `json:"module"`
	File   string `json:"file"`
	Line   int    `json:"line"`
}

// Moment is an event of the run.
type Moment struct {
	Site
	Phase string `json:"phase"`
	Pass  string `json:"pass"`
	Event int    `json:"event"` // its number in the trace
}

// OutOfMemory is the first allocation that the device could not satisfy.
type OutOfMemory struct {
	Moment
	Requested units.Bytes `json:"requested"`
	Limit     units.Bytes `json:"limit"`
	Allocated units.Bytes `json:"allocated,omitempty"` // before it: less than the peak where the peak came earlier
	Holders   []Holder    `json:"holders,omitempty"`   // of Allocated, as Report.Holders are of the peak
}

// Decisive are the holders that say why a run takes what it takes, and when they held it: at the
// allocated peak, and where the run ended because it did not fit, then, which may be another
// moment: optimizer state comes after the peak of the first iteration.
func (r *Report) Decisive() (when string, held []Holder) {
	if r.OOM != nil && len(r.OOM.Holders) > 0 {
		return "when it did not fit, " + r.OOM.Allocated.String(), r.OOM.Holders
	}
	return "at the peak", r.Holders
}

// Coverage says how much of the program the rules covered. Each count holds the next.
type Coverage struct {
	Nodes         int           `json:"nodes"`          // executed
	TensorOutputs int           `json:"tensor_outputs"` // tensors that operators returned, also those without a rule
	KnownDType    int           `json:"known_dtype"`    // of these, with a known dtype
	Sized         int           `json:"sized"`          // of these, of a size that tensor data does not decide
	Unsupported   []Unsupported `json:"unsupported"`    // in the order they were met
}

// Unsupported is something that is missing from the account, and why.
type Unsupported struct {
	Op     string       `json:"op"` // the operator; "" where it is none
	Reason trace.Reason `json:"reason"`
	Detail string       `json:"detail,omitempty"`
	Count  int          `json:"count"`
	First  Site         `json:"first"`
}

// Workspace is who answered for the workspace of some library calls.
type Workspace struct {
	// profile: the library itself; stand-in: another version of it; rule: nobody
	Basis   string `json:"basis"`
	Library string `json:"library,omitempty"` // with Version and Class, of who answered
	Version string `json:"version,omitempty"`
	Class   string `json:"class,omitempty"` // of devices
	Calls   int    `json:"calls"`           // different ones
	Engines []int  `json:"engines,omitempty"`
}

// The bases.
const (
	ByProfile = "profile"
	ByStandIn = "stand-in"
	ByRule    = "rule"
)

// Holder is what one place of the program holds at the allocated peak.
type Holder struct {
	Site
	Category string      `json:"category"`
	Flat     units.Bytes `json:"flat"` // held by this row itself
	// with its children: everything made in its module and in the modules beneath it
	Cum   units.Bytes `json:"cum"`
	Count int         `json:"count"` // storages
	// who answered for a workspace's size: "cuDNN 9.10.2 for sm89, engine 38"
	Source string `json:"source,omitempty"`
	// the first operator that autograd saved it for: its node, and the forward's place
	SavedBy *Site `json:"saved_by,omitempty"`
}

// Note is something assumed, once at a place.
type Note struct {
	ID   note.ID `json:"id"`
	Text string  `json:"text"`
	// what names its place under assume: in memspec.yaml, where something can be stated there
	Assume string `json:"assume,omitempty"`
	First  Site   `json:"first"`
	// Settle is the command that makes the figure exact, where there is one.
	Settle string `json:"settle,omitempty"`
	// Undecided says that no budget passes or fails while the note stands, unless allow: names its ID.
	Undecided bool `json:"undecided,omitempty"`
}

// Lowers says whether the note makes figures less than exact.
func (n *Note) Lowers() bool {
	return n.ID.Effect() != note.Exact
}

// Value is the predicted size of a metric; false where it is not known (total, where the context is
// not; weights of a memory snapshot).
func (r *Report) Value(m Metric) (units.Bytes, bool) {
	switch {
	case slices.Contains(r.Unknown, m):
		return 0, false
	case r.Serving != nil:
		return r.Serving.value(m)
	}
	switch m {
	case Weights:
		return r.Weights, true
	case Delta:
		return r.Delta, true
	case Allocated:
		return r.Peak.Allocated, true
	case FirstCall:
		if len(r.Passes) > 0 {
			return r.Passes[0].Peak.Allocated, true
		}
	case Reserved:
		return r.Peak.Reserved, true
	case Total:
		if r.Peak.Total != nil {
			return *r.Peak.Total, true
		}
	case HostPinned:
		if r.HostPinned != nil {
			return *r.HostPinned, true
		}
	}
	return 0, false
}

// TotalRange is what the process takes at least and at most, where only a range of what the context
// or NCCL take is known.
func (r *Report) TotalRange() (low, high units.Bytes, ok bool) {
	if r.Peak.Total != nil || r.Context == nil || slices.Contains(r.Unknown, Total) {
		return 0, 0, false
	}
	low, high = r.ofDriver()
	held := r.Peak.Reserved.Add(r.Outside)
	return held.Add(low), held.Add(high), true
}

// UpperValue is a metric with all that is estimated at its most; false where nothing was estimated,
// the metric is not known, or such a run does not fit the device.
func (r *Report) UpperValue(m Metric) (units.Bytes, bool) {
	if r.Serving != nil {
		return r.Serving.worst(m)
	}
	if r.Upper == nil || r.Upper.OOM != nil {
		return 0, false
	}
	switch m {
	case Allocated, FirstCall:
		return r.Upper.Allocated, true
	case Delta:
		return r.Upper.Allocated - r.Baseline.Allocated, true
	case Reserved:
		return r.Upper.Reserved, true
	case Total:
		if r.Peak.Total != nil {
			return *r.Peak.Total - r.Peak.Reserved + r.Upper.Reserved, true
		}
		if _, high, ok := r.TotalRange(); ok {
			return high - r.Peak.Reserved + r.Upper.Reserved, true
		}
	}
	return 0, false
}

// Metrics are those that the report has, in the order they are printed.
func (r *Report) Metrics() []Metric {
	if r.Serving != nil {
		return ServingMetrics()
	}
	return Metrics()
}

// Fits says whether the run fits its device.
func (r *Report) Fits() bool { return r.OOM == nil && (r.Serving == nil || r.Serving.Fits) }

// Note is the first note of that ID; nil where none was written.
func (r *Report) Note(id note.ID) *Note {
	at := slices.IndexFunc(r.Notes, func(n Note) bool { return n.ID == id })
	if at < 0 {
		return nil
	}
	return &r.Notes[at]
}

// HasNote says whether a note of that ID was written.
func (r *Report) HasNote(id note.ID) bool { return r.Note(id) != nil }
