// Package exec runs a program abstractly: shapes, strides, dtypes, storages, aliases and lifetimes as PyTorch would have them, without any
// tensor data. It turns a *program.Program into a *trace.Trace: every allocation and free in order, with the place it came from.
//
// The account of a run: parameters and buffers go to the device, then the inputs; that is the baseline (pass 0). Then the forward pass,
// twice: what libraries keep, they take in the first. A pass's result is held to its end and dropped before the next.
//
// Not modelled: gradients, the graph executor's fusions in later passes, streams, threads.
package exec

import (
	"context"
	"errors"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Liveness decides when a value dies.
type Liveness uint8

// The policies.
const (
	LastUse     Liveness = iota // TorchScript's interpreter: after the last use
	PythonFrame                 // eager: names, frames and module calls hold what they hold in Python
	KeepAll                     // nothing dies before its frame ends (debugging)
)

// Input is one argument of forward. Value is a tensor description (tensor.Meta) or a host value: nil, bool, int64, float64, string,
// []Input (a list), Tuple, Dict.
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
	Inputs     []Input
	Liveness   Liveness
	Platform   *platform.Platform
	DType      tensor.DType // what the model's floating parameters and buffers were converted to; tensor.Undefined: as stored
	Passes     []trace.Pass // forward passes; none is trace.FirstAndSteady
	HoldLocals bool         // eager, where an archive does not tell Python's names: every local that might still hold a value holds it to its call's end
	Lower      bool         // data-dependent sizes at their lower bound instead of the upper
	Assume     map[string]int64
	MaxSteps   int // nodes executed; 0 is DefaultMaxSteps
	MaxDepth   int // nested calls; 0 is DefaultMaxDepth

	everyPass bool // run also those that repeat the one before
}

// The default bounds: the biggest torchvision model executes about 10,000 nodes a pass and nests 20 calls; the bound ends an endless one in about a second.
const (
	DefaultMaxSteps = 4_000_000
	DefaultMaxDepth = 500
	maxStorages     = 500_000 // made in a run: a step with a tensor costs more than one without
)

// accelerator is the device of everything that the trace counts.
const accelerator = "cuda"

// Result is what a run makes.
type Result struct {
	Trace *trace.Trace
	Calls []*ops.Asked // what was asked of libraries on any of its ways, each call once, in the order they are first made
}

// Run executes p and returns its trace, also when an operator had no rule (Coverage.Unsupported) or the model failed (*EvalError); other
// errors are limits and cancellation.
func Run(ctx context.Context, p *program.Program, t *ops.Table, o Options) (*Result, error) {
	if p.Entry == nil {
		return nil, errors.New("got a program without a forward method, want one")
	}
	if len(o.Passes) == 0 {
		o.Passes = trace.FirstAndSteady()
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = DefaultMaxSteps
	}
	if o.MaxDepth == 0 {
		o.MaxDepth = DefaultMaxDepth
	}
	return runBranches(ctx, p, t, o)
}

// run is the whole account.
func (m *machine) run() (err error) {
	m.load()
	args, err := m.inputs()
	if err != nil {
		return err
	}
	for _, v := range args {
		m.hold(v) // the caller keeps the arguments
	}
	m.args = args
	m.phase = trace.Forward
	for pass := 1; ; pass++ {
		m.pass = pass
		if m.o.Liveness == LastUse { // what that computes ahead is there before the pass
			if _, err := m.wholeProgram(); err != nil {
				return err
			}
		}
		start := m.startPass()
		result, err := m.callEntry(args)
		if err != nil {
			return err
		}
		m.leaveAutocast()
		m.noSite()
		if pass >= len(m.o.Passes) {
			return nil
		}
		end := m.mark()
		m.pass = pass + 1 // dropped before the next pass, not in this one
		m.drop(result)
		if pass+1 == len(m.o.Passes) && m.repeat(start, end) {
			return nil
		}
	}
}

// Weights is what the states of a program take, each rounded to nothing.
func Weights(p *program.Program) (n units.Bytes) {
	for _, s := range p.States {
		n += s.Meta.NBytes()
	}
	return n
}
