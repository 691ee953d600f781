// Package exec runs a program abstractly: shapes, strides, dtypes, storages, aliases and lifetimes
// as PyTorch would have them, without any tensor data. It turns a program into a *trace.Trace:
// every allocation and free in order, with the place it came from.
//
// The account of a run: parameters and buffers go to the device, then the inputs; that is the
// baseline (pass 0). Then the forward pass, twice: what libraries keep, they take in the first. A
// pass's result is held to its end and dropped before the next.
//
// # Machine and drivers
//
// The Machine is what programs of every kind run on, and knows none of them:
//
//	Heap      storages, who holds them, births and deaths
//	Dispatch  one operator: autocast, its rule, results and aliases, workspace, sizes that depend on tensor data
//	Sites     the places of events
//	Notes     what was assumed, what has no rule
//	Machine   the run: load, inputs, passes, both sides of a branch, rounds of a loop
//
// A Driver walks programs of one kind and reports to the machine, in order, what happens: which
// operator runs at which place on which values (Sites.Enter, Dispatch.Apply), who holds a value and
// who lets it go (Heap.Hold, Heap.Drop), which tensors of the model it reads (State), and where it
// branches on a value (Truth, Choose) or loops (Rounds). exec/torchscript is the driver of
// TorchScript archives: an interpreter with frames and registers. exec/fx is that of exported
// graphs: a straight walk over nodes, with a block for each higher-order operator.
//
// A run starts anew for every way that the search tries through branches on tensor data, so a
// driver is made by a Start and keeps its state to itself. What is worked out of the program before
// it runs a Start may keep for the runs that follow; it serves one at a time. Programs are never
// changed and may be run by several goroutines.
//
// What a driver owes the machine: each node is a Step, before it runs; Sites.Enter stands before
// the first Apply at a place and Sites.Leave behind the last; a value that Apply returns is held
// once, and whoever keeps it, hands it on or lets it go says so; a container that the driver writes
// is Touched and another lasting change is Alter, because a pass that changes nothing lasting is
// not run again; errors of the model are *EvalError. What has no rule is Missed, and what follows
// from it is an ops.Unbacked.
//
// Not modelled: gradients, the graph executor's fusions in later passes, streams, threads.
package exec

import (
	"context"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/workspace"
)

// Liveness decides when a value dies.
type Liveness uint8

// The policies.
const (
	LastUse     Liveness = iota // after its last use: TorchScript's interpreter, exported graphs
	PythonFrame                 // eager: names, frames and module calls hold what they hold in Python
)

// Input is one argument of forward. Value is a tensor description (tensor.Meta) or a host value:
// nil, bool, int64, float64, string, []Input (a list), Tuple, Dict.
type Input struct {
	Name  string // "" for positional
	Value any
}

// Tuple and Dict are the composite inputs besides lists.
type (
	Tuple []Input
	Dict  []Input // in order; Name is the key
)

// Options say how to run.
type Options struct {
	Inputs   []Input
	Liveness Liveness
	Platform *platform.Platform
	// what the model's floating parameters and buffers were converted to; tensor.Undefined: as
	// stored
	DType  tensor.DType
	Passes []trace.Pass // forward passes; none is trace.FirstAndSteady
	// eager, where an archive does not record Python's names: every local that might still hold a
	// value holds it to its call's end
	HoldLocals bool
	Lower      bool // data-dependent sizes at their lower bound instead of the upper
	Assume     map[string]int64
	MaxSteps   int // nodes executed; 0 is DefaultMaxSteps
	MaxDepth   int // nested calls; 0 is DefaultMaxDepth

	everyPass   bool // run also those that repeat the one before
	maxStorages int  // made in a run; 0 is defaultMaxStorages
}

// The default bounds: the biggest torchvision model executes about 10,000 nodes a pass and nests 20
// calls; the bound ends an endless one in about a second.
const (
	DefaultMaxSteps    = 4_000_000
	DefaultMaxDepth    = 500
	defaultMaxStorages = 500_000 // a step with a tensor costs more than one without
)

// Accelerator is the device of everything that the trace counts.
const Accelerator = "cuda"

// Start makes the driver of a program on a fresh machine. The runs that it starts come one after
// another.
type Start func(*Machine) (Driver, error)

// Driver runs programs of one kind on a machine.
type Driver interface {
	// Params are the parameters of forward that the caller gives values for.
	Params() []program.Param
	// Literal is the value of a literal of the program, such as a parameter's default.
	Literal(v any) any
	// Load moves the model's tensors to the device (Machine.State) in the runtime's order.
	Load()
	// Prepare does what the runtime does once, before the first pass.
	Prepare() error
	// Forward runs a pass on args, which the caller holds, and returns its result, held once. An
	// error of the model is an *EvalError.
	Forward(args []any) (any, error)
	// Kept shows the values outside of args that a pass may find as an earlier one left them.
	Kept(show func(any))
	// Describe writes what the driver holds in the middle of a pass.
	Describe(s *State)
}

// Result is what a run makes.
type Result struct {
	Trace *trace.Trace
	// what was asked of libraries on any of its ways, each call once, in the order they are first
	// made
	Calls []*workspace.Asked
}

// Run executes a program and returns its trace, also when an operator had no rule
// (Coverage.Unsupported) or the model failed (*EvalError); other errors are limits and
// cancellation.
func Run(ctx context.Context, start Start, t *ops.Table, o Options) (*Result, error) {
	return new(search).run(ctx, start, t, o.withDefaults())
}

func (o Options) withDefaults() Options {
	if len(o.Passes) == 0 {
		o.Passes = trace.FirstAndSteady()
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = DefaultMaxSteps
	}
	if o.MaxDepth == 0 {
		o.MaxDepth = DefaultMaxDepth
	}
	if o.maxStorages == 0 {
		o.maxStorages = defaultMaxStorages
	}
	return o
}
