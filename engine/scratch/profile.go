// Package scratch holds scratch profiles: what a library itself answers when it is asked how much workspace a call needs.
//
// A profile is a small JSON file kept beside memspec.yaml. Its entries are grouped by what answered (library, version) and for which
// class of device; within a group a call is keyed by everything that the library's choice depends on.
package scratch

import "github.com/memspec/memspec/engine/units"

// Schema is the version of the file format this package reads.
const Schema = 1

// Answerer is who answered, and for what: "cudnn" "9.10.2" "sm89".
type Answerer struct {
	Library string `json:"library"`
	Version string `json:"version"`
	Class   string `json:"class"`
}

// Call is one library call: all that the choice of an engine depends on.
type Call struct {
	Op            string  `json:"op"`        // "conv"
	Direction     string  `json:"direction"` // "forward", "dgrad", "wgrad"
	DType         string  `json:"dtype"`     // PyTorch's name
	Input         []int64 `json:"input"`
	InputStrides  []int64 `json:"input_strides"`
	Weight        []int64 `json:"weight"`
	WeightStrides []int64 `json:"weight_strides"`
	Padding       []int64 `json:"padding"`
	Stride        []int64 `json:"stride"`
	Dilation      []int64 `json:"dilation"`
	Groups        int64   `json:"groups"`
	Deterministic bool    `json:"deterministic"`
	AllowTF32     bool    `json:"allow_tf32"`
	Benchmark     bool    `json:"benchmark"`
}

// Answer is what the library said.
type Answer struct {
	Bytes  units.Bytes `json:"bytes"`
	Engine int         `json:"engine"`
}

// Entry is a call with its answer.
type Entry struct {
	Call
	Answer
}

// Group is the entries of one answerer.
type Group struct {
	Answerer
	Entries []Entry `json:"entries"`
}

// Profile is a file's content, or several files merged.
type Profile struct {
	SchemaVersion int     `json:"schema"`
	Groups        []Group `json:"groups"`
}
