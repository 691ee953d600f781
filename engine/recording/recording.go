// Package recording reads runs as PyTorch's own allocator recorded them, on a GPU, a pretend GPU
// or, as storages only, on CPU tensors.
//
// A Recording says what was run on what, what each pass took by PyTorch's counters, and every event
// of the allocator with the place that asked for it. Trace makes a trace.Trace of it, the value
// that exec makes of a program: a recording skips exec and enters there. Two forms are read:
//
//	.json  a measurement record, one JSON object: pyshim/src/memshim/schemas/measurement.schema.json
//	.rec   the same and more, compressed: lines of JSON, the first with everything but the rows that the others hold
//
// FORMAT.md has both, the sidecars of archives, and the folder .memspec.
//
// Both are read as a stream, every count is bounded, unknown keys are refused, and what is read has
// been checked: indices lie in their tables, sizes are not negative, passes follow each other.
// Nothing is executed.
//
// Not reported by a recording: what libraries take from the driver outside the allocator, except
// Context; the values of tensors.
package recording

import (
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Where says what a recording was made on.
type Where string

// The places. Numbers of a pretend GPU are PyTorch's own, but no GPU took them: they are never
// shown as measured on one.
const (
	OnCUDA    Where = "cuda"
	OnPretend Where = "pretend"
	OnCPU     Where = "cpu" // storages of CPU tensors, never to be compared with an allocator's numbers
)

// Allocator says whether the numbers are those of PyTorch's CUDA allocator.
func (w Where) Allocator() bool { return w == OnCUDA || w == OnPretend }

// Recording is what one case took when it was run.
type Recording struct {
	Header
	Events []Event
	Sites  []Site
	Stacks [][]int // indices of Frames, innermost first
	Frames []Frame

	File string // it was read from
}

// OfModule is how a header says that the run is of a module which its source gives (Built).
const OfModule = "source"

// Header is everything but the allocator's events: the keys of a measurement record.
type Header struct {
	Schema          int                `json:"schema"`
	Case            string             `json:"case"`
	Runtime         string             `json:"runtime"`
	Where           Where              `json:"where"`
	Built           string             `json:"built"` // from what: artifact, OfModule, …
	Device          Device             `json:"device"`
	Torch           string             `json:"torch"`
	CUDA            string             `json:"cuda"`
	CuDNN           string             `json:"cudnn"`
	Mode            string             `json:"mode"`
	AllocConf       string             `json:"alloc_conf"`
	CublasWorkspace string             `json:"cublas_workspace"`
	MemoryFraction  float64            `json:"memory_fraction"`
	Flags           Flags              `json:"flags"`
	Grad            string             `json:"grad"`
	Autocast        string             `json:"autocast"`
	DType           string             `json:"dtype"`
	Inputs          []string           `json:"inputs"`            // in the grammar of memspec --input
	Lengths         map[string][]int64 `json:"lengths,omitempty"` // of dims, a size for each iteration
	Artifact        string             `json:"artifact"`
	Source          string             `json:"source"`
	Weights         units.Bytes        `json:"weights"` // of parameters' and buffers' storages
	Passes          []Pass             `json:"phases"`  // baseline, first, steady, as far as the run came
	// of the process outside the allocator; nil where it is unknown
	Context *units.Bytes `json:"context"`
	NCCL    *NCCL        `json:"nccl,omitempty"` // of its communicators, not in Context; nil for none
	// the most page-locked memory; nil where it is unknown
	HostPinned *units.Bytes `json:"host_pinned,omitempty"`
	OOM        *OutOfMemory `json:"oom"`
	Work       *Work        `json:"work,omitempty"` // of a further iteration; nil where it was not counted
	Notes      []Note       `json:"notes,omitempty"`
	Compiled   bool         `json:"compiled,omitempty"` // by torch.compile: the first pass compiles and tunes
	// nil of an inference, and of a program that trains by itself
	Training *Training `json:"training,omitempty"`
	Made     *Made     `json:"made,omitempty"` // from what; nil where it does not record
	// runs with other values; nil where no value was read, or no other was tried
	Values *Values `json:"values,omitempty"`
}

// Work is what an iteration costs beside memory, as far as it can be counted.
type Work struct {
	Operators    int64       `json:"operators"` // on the device, views left out
	Copied       units.Bytes `json:"copied"`    // between host and device
	Collectives  int64       `json:"collectives"`
	Communicated units.Bytes `json:"communicated"` // the larger side of each collective
}

// NCCL is what NCCL takes of the device beside the allocator and the context, at the least and at
// the most: the topology, which decides it, is not known on a pretend GPU.
type NCCL struct {
	Low           units.Bytes `json:"low"`
	High          units.Bytes `json:"high"`
	Communicators int         `json:"communicators"` // that the run made
}

// Device is what the case ran on.
type Device struct {
	Name              string       `json:"name"` // as the driver gives it; cpu for none
	Total             *units.Bytes `json:"total"`
	ComputeCapability string       `json:"compute_capability"`
	Driver            string       `json:"driver"`        // empty where it is unknown
	SMs               int          `json:"sms,omitempty"` // multiprocessors; 0 where it does not record
	// Asked is what the program itself queried of the device, sorted: such a run holds for a device of
	// the same alone.
	Asked []string `json:"asked,omitempty"`
}

// What a program may query of its device and then decide by.
const (
	AskedMemory = "memory" // free or total
	AskedName   = "name"
)

// Training is one iteration of a training loop, around a model.
type Training struct {
	Optimizer  string         `json:"optimizer"`  // a class of torch.optim, FILE.py:NAME, or none
	Arguments  map[string]any `json:"arguments"`  // the optimizer's: numbers, booleans, words, lists of numbers
	Loss       string         `json:"loss"`       // mean, sum, output, a function of torch.nn.functional, or FILE.py:NAME
	Accumulate int            `json:"accumulate"` // forward and backward passes in an iteration
	Clip       *float64       `json:"clip"`       // the norm of clip_grad_norm_; nil for none
	Checkpoint *Checkpoint    `json:"checkpoint"` // nil for none
	Iterations int            `json:"iterations"` // the first and the steady ones
	// OptimizerInBackward says that each parameter is stepped, and its gradient released, as soon as
	// the backward has it.
	OptimizerInBackward bool `json:"optimizer_in_backward,omitempty"`
}

// Checkpoint is what is computed again in the backward (torch.utils.checkpoint).
type Checkpoint struct {
	Modules   []string `json:"modules"` // by name, with * and ?
	Reentrant bool     `json:"reentrant"`
}

// Flags are PyTorch's.
type Flags struct {
	TF32Matmul    bool `json:"tf32_matmul"`
	TF32CuDNN     bool `json:"tf32_cudnn"`
	Benchmark     bool `json:"benchmark"`
	Deterministic bool `json:"deterministic"`
	CuDNNv7       bool `json:"cudnn_v7,omitempty"` // TORCH_CUDNN_V8_API_DISABLED=1
	// Attention are the backends that scaled_dot_product_attention may choose from, by the names of
	// torch.nn.attention.SDPBackend in lower case; none for all.
	Attention []string `json:"attention,omitempty"`
}

// The names of passes. Baseline is what is held before the first: the model and its inputs. In
// training a pass is an iteration; all after the first are Steady.
const (
	Baseline = "baseline"
	First    = "first"
	Steady   = "steady"
)

// passName is what the i-th pass is called.
func passName(i int) string { return [...]string{Baseline, First, Steady}[min(i, 2)] }

// Pass is what was held before the first pass, or the peaks of a pass. On CPU tensors there is only
// Requested.
type Pass struct {
	Name          string       `json:"name"`
	Requested     units.Bytes  `json:"requested"`
	Allocated     *units.Bytes `json:"allocated"`
	Reserved      *units.Bytes `json:"reserved"`
	Active        *units.Bytes `json:"active"`
	InactiveSplit *units.Bytes `json:"inactive_split"`
	Events        int          `json:"events"` // how many there were at its end
	Phases        []Phase      `json:"phases,omitempty"`
}

// Phase is a part of a pass: forward, backward, step. What comes before the first of them is
// forward.
type Phase struct {
	Name   string `json:"name"`
	Events int    `json:"events"` // how many there were when it began
}

// OutOfMemory is the pass that the device had no memory for: the last of Passes, with the peaks
// that it reached. Records that do not record these have it after the last.
type OutOfMemory struct {
	Pass      string       `json:"phase"`
	Text      string       `json:"text"`
	Requested *units.Bytes `json:"requested,omitempty"` // asked for
	Free      *units.Bytes `json:"free,omitempty"`      // on the device then
	Held      []Held       `json:"held,omitempty"`      // by source line, the most first, as far as it is known
}

// Held is what a source line held; without a file it is the model and its inputs.
type Held struct {
	Bytes    units.Bytes `json:"bytes"`
	Count    int         `json:"count"`
	File     string      `json:"file"`
	Line     int         `json:"line"`
	Function string      `json:"function"`
}

// Note is something that makes the recording less than certain: a value that the run read and that
// no kernel computed (value-read).
type Note struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	File string `json:"file,omitempty"` // the user's line
	Line int    `json:"line,omitempty"`
}

// Event is one action of the allocator, or a storage's birth or death on CPU tensors. EmptyCache
// and Mark are none.
type Event struct {
	Action trace.Action
	Key    uint64 // an address (OOM: free device memory); on CPU tensors the storage's number
	Size   units.Bytes
	Stream uint64
	Site   int // of Sites, counted from 1; 0 is none
}

// Site is where events come from. What is not known is empty.
type Site struct {
	Op       string // the operator; of loaded state what it is: parameter, buffer, input
	Module   string // fully qualified
	Category tensor.Category
	Stack    int // of Stacks, counted from 1; 0 is none
	Saver    int // of Sites, counted from 1: which operator autograd saved it for; 0 is none
}

// Frame is a place in source code.
type Frame struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function"`
}

// Pass is the first of that name, nil where the run did not come to it.
func (r *Recording) Pass(name string) *Pass {
	for i := range r.Passes {
		if r.Passes[i].Name == name {
			return &r.Passes[i]
		}
	}
	return nil
}

// Stopped says whether memory ran out in a pass that is reported.
func (r *Recording) Stopped(p *Pass) bool {
	return r.OOM != nil && p == &r.Passes[len(r.Passes)-1] && p.Name == r.OOM.Pass && r.OOM.Pass != passName(len(r.Passes))
}

// Peak is the most over the passes; false where one of them has no such number.
func (r *Recording) Peak(size func(*Pass) *units.Bytes) (units.Bytes, bool) {
	var most units.Bytes
	for i := range r.Passes {
		s := size(&r.Passes[i])
		if s == nil {
			return 0, false
		}
		most = max(most, *s)
	}
	return most, len(r.Passes) > 0
}
