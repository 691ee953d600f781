// Package spec reads memspec.yaml and turns it into cases.
//
// A Case is the same value whether it is written in YAML or in Go: one artifact, with bound inputs,
// on one platform, with its budgets. Errors are typed, name file, line and column, and come all at
// once. Nothing is opened but the file itself.
package spec

import (
	"math/big"
	"slices"
	"strconv"

	"github.com/memspec/memspec/engine/ops/custom"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// Pos is a place in memspec.yaml.
type Pos = verdict.Pos

// Version is the version of memspec.yaml that this package reads.
const Version = 1

// Runtime is how an artifact will be run, which decides when its tensors die.
type Runtime string

// The runtimes. ByArtifact, the zero value, is eager, of compiled code compiled, and of a recorded
// run the one that was recorded.
const (
	ByArtifact  Runtime = ""
	Eager       Runtime = "eager"
	TorchScript Runtime = "torchscript"
	Export      Runtime = "export"
	Compiled    Runtime = "compiled" // what inductor made of it
)

// Mode is what a run does.
type Mode string

// The modes.
const (
	Inference Mode = "inference"
	Training  Mode = "training"
)

// Grad is the context an inference runs in.
type Grad string

// The contexts.
const (
	NoGrad        Grad = "no_grad"
	InferenceMode Grad = "inference_mode"
)

// DefaultTolerance is how far a measured peak may be from the predicted one where nothing else is
// said.
const DefaultTolerance = 0.01

// Case is one run to be checked.
type Case struct {
	Name     string // resnet50[B=8]
	Model    string // resnet50
	Artifact string // a path that can be opened; empty where Source alone is given
	// how to build the live model: models/zoo.py:resnet50, the path relative to Dir, or
	// package.module:resnet50
	Source   string
	Program  *Program // what runs in the place of a model; nil where Artifact or Source does
	Rank     *int     // the one of the program's ranks that is meant; nil for all that ran
	Dir      string   // the directory of memspec.yaml
	Platform platform.Platform
	Runtime  Runtime
	Mode     Mode
	Grad     Grad                // of an inference
	Training *recording.Training // what an iteration does; nil of an inference
	// what the model's floating parameters and inputs are cast to, as PyTorch names it; empty: as they
	// are
	DType  string
	Inputs []Input // bound: every size is a number
	Dims   []Dim   // in the order written, the model's first
	// Lengths are sizes of dims, one for each iteration; IterationInputs are the inputs of each then.
	Lengths         map[string][]int64
	IterationInputs [][]Input
	Varies          []string // dims whose sizes differ between the iterations of a real run
	Budgets         []verdict.Budget
	Tolerance       float64 // 0.01 is 1%
	Assume          []Assumption
	Depends         recording.Depends // corrections of what a recorded run depends on
	Allow           []string          // IDs of notes that do not make the verdict inconclusive
	Judge           verdict.Basis     // which figure of an estimate decides
	// path of the workspace profile that the file names or that lies beside it, empty for none
	Workspace  string
	Operators  []custom.Operator // the user's own
	Fits       []Fit
	Regression []Regression // how much more than before it may take
	Baseline   string       // path of the baseline that lies beside memspec.yaml, empty for none
	Pos        Pos
	// ArtifactPos is where the artifact is named, the zero Pos where it is not.
	ArtifactPos Pos
	written     string    // its name in memspec.yaml, where On put it on another device
	made        *template // what With makes it from again; nil of a case that was written in Go
}

// Regression is how much more of a metric than before a case may take: a percentage of what it was,
// or a size.
type Regression struct {
	Metric  report.Metric
	Percent *big.Rat // nil where it is Bytes
	Bytes   units.Bytes
	Level   verdict.Level
	Text    string // as written
	Path    string
	Pos     Pos
}

// Fit is a value of a dim at which the case must still fit its budgets and its device.
type Fit struct {
	Dim
	Pos Pos
}

// Dim is a dimension's name and value.
type Dim struct {
	Name  string
	Value int64
}

// Assumption is what a case states of a number that depends on tensor data: a size, how often a
// loop runs, or a value that a run reads.
type Assumption struct {
	Line   string // of the model's source, as the note has it: FILE:LINE; FILE.py:FUNCTION; or Routing
	Size   int64
	Values string // balanced, least, most or skewed in the place of a size; else ""
	Pos    Pos
}

// Text is what is stated: a number or a word.
func (a *Assumption) Text() string {
	if a.Values != "" {
		return a.Values
	}
	return strconv.FormatInt(a.Size, 10)
}

// Routing is the place of indices that come from unknown scores, wherever they are read.
const Routing = "routing"

// valueWords are what can stand in the place of a number where a run reads a value.
var valueWords = []string{"balanced", "least", "most", "skewed"}

// Symbols are the dims as a map.
func (c *Case) Symbols() map[string]int64 { return symbols(c.Dims) }

func symbols(dims []Dim) map[string]int64 {
	m := make(map[string]int64, len(dims))
	for _, d := range dims {
		m[d.Name] = d.Value
	}
	return m
}

// Allows says whether notes of that ID do not count.
func (c *Case) Allows(note string) bool { return slices.Contains(c.Allow, note) }
