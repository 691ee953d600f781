// Package serving estimates, from a model's folder alone, whether requests of a model fit a GPU
// under an engine such as vLLM, and how many tokens of KV cache are left.
//
// Weights and cache come from package modelfolder. What an engine takes beside them is a range:
// activations of its profile run, modules, and CUDA graphs. Every figure is an estimate, and what
// is not known is listed.
package serving

import (
	"fmt"
	"math"

	"github.com/memspec/memspec/engine/artifact/modelfolder"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/units"
)

// Options are how a model is served.
type Options struct {
	Device        device.Device
	Context       int64   // tokens of each request; 0 is the model's own
	Batch         int64   // requests at once
	BatchedTokens int64   // tokens of one forward pass
	Share         float64 // of the device's memory that the engine may use
	DType         string  // "auto" is the config's, and bfloat16 where that is float32
	CacheDType    string  // "auto" is the model's
}

// Outcome says whether the requests fit.
type Outcome string

const (
	Fits       Outcome = "fits"
	Exceeds    Outcome = "does not fit"
	Undecided  Outcome = "undecided"  // the range has both
	Incomplete Outcome = "incomplete" // something is not known
	Unlimited  Outcome = "no limit"   // the device has none
)

// Range is between two numbers, both included.
type Range[N ~int64] struct {
	AtLeast N `json:"at_least"`
	AtMost  N `json:"at_most"`
}

// Estimate is what serving a model takes. Figures that are not known are nil.
type Estimate struct {
	Schema        int                 `json:"schema"`
	Model         string              `json:"model"`
	Architecture  string              `json:"architecture"`
	Class         string              `json:"class,omitempty"`
	Device        string              `json:"device"`
	Outcome       Outcome             `json:"outcome"`
	DType         string              `json:"dtype"`
	CacheDType    string              `json:"kv_dtype"`
	Context       int64               `json:"context"`
	Batch         int64               `json:"batch"`
	BatchedTokens int64               `json:"batched_tokens"`
	Parameters    *int64              `json:"parameters"`
	Weights       *units.Bytes        `json:"weights"`
	RotaryTable   units.Bytes         `json:"rotary_table"`   // of weights
	Rounding      *units.Bytes        `json:"rounding"`       // of weights
	RoundingLater *units.Bytes        `json:"rounding_later"` // instead of it, of vLLM from 0.22 on
	Workspace     units.Bytes         `json:"workspace"`      // of weights: what an engine makes as it loads
	Quantization  string              `json:"quantization,omitempty"`
	WeightsFrom   string              `json:"weights_from"`
	KVPerToken    *units.Bytes        `json:"kv_per_token"`
	KVParts       []KVPart            `json:"kv_parts"`
	KVPerSequence *units.Bytes        `json:"kv_per_sequence"`
	Rest          Range[units.Bytes]  `json:"rest"`
	KVMemory      *Range[units.Bytes] `json:"kv_memory"`
	KVTokens      *Range[int64]       `json:"kv_tokens"`
	Concurrency   *Range[int64]       `json:"concurrency"` // whole requests of the context
	Notes         []string            `json:"notes"`
	Unknown       []string            `json:"unknown"`
}

// KVPart is what layers of one kind keep of a sequence.
type KVPart struct {
	Grows  modelfolder.Growth `json:"grows"`
	Window int64              `json:"window,omitempty"`
	DType  string             `json:"dtype"`
	Bytes  units.Bytes        `json:"bytes"` // of a token, of a state those of a sequence
}

// New estimates a model. Options must be those that Check accepts.
func New(name string, m *modelfolder.Model, o Options) *Estimate {
	e := &Estimate{
		Schema: 1, Model: name, Architecture: m.Type, Class: m.Class, Device: o.Device.Name,
		Context: o.Context, Batch: o.Batch, BatchedTokens: o.BatchedTokens,
		Quantization: m.Weights.Method, Notes: append([]string{}, m.Notes...), Unknown: append([]string{}, m.Unknown...),
	}
	e.chooseDTypes(m, o)
	if e.Context == 0 {
		if e.Context = m.Sizes.Context; e.Context == 0 {
			e.Unknown = append(e.Unknown, "context: config.json has none; give --context")
		}
	}
	if most := m.Sizes.Context; most > 0 && e.Context > most {
		e.notef("the context is longer than the model's %d tokens; an engine refuses it unless it is made to", most)
	}
	e.WeightsFrom = modelfolder.ConfigName
	if m.Weights.Files > 0 {
		e.WeightsFrom = "safetensors headers"
	}
	if m.Weights.Known {
		item, _ := modelfolder.ItemSize(e.DType)
		e.RotaryTable = item.Mul(m.Weights.Rotary)
		if m.Weights.Latent {
			e.Workspace = latentWorkspace
			// DeepseekScalingRotaryEmbedding in vllm/model_executor/layers/rotary_embedding, whose custom
			// operator torch.compile replaces.
			if m.Weights.Yarn && item == 2 {
				e.notef("an engine that is started with --enforce-eager keeps the rotary tables in float32: %v more", e.RotaryTable)
			}
		}
		weights := m.Weights.Bytes(e.DType).Add(e.RotaryTable).Add(e.Workspace)
		e.Rounding, e.RoundingLater = rounding(m, e.DType, 0), rounding(m, e.DType, laterSplit)
		if e.Rounding != nil {
			weights = weights.Add(*e.Rounding)
			if *e.RoundingLater > *e.Rounding {
				e.notef("vLLM from 0.22 on splits no block of more than %v as it loads: its weights are %v larger",
					laterSplit, *e.RoundingLater-*e.Rounding)
			}
		} else {
			e.notef("what PyTorch's allocator rounds the weights up by is not counted: no " +
				"rule says which tensors an engine makes")
		}
		parameters := m.Weights.Parameters()
		e.Weights, e.Parameters = &weights, &parameters
	}
	if m.Cache.Known {
		e.takeCache(&m.Cache)
	}
	e.Rest = rest(m, e)
	e.judge(o)
	return e
}

func (e *Estimate) notef(format string, args ...any) {
	e.Notes = append(e.Notes, fmt.Sprintf(format, args...))
}

// chooseDTypes takes the dtypes that an engine runs in.
func (e *Estimate) chooseDTypes(m *modelfolder.Model, o Options) {
	e.DType = o.DType
	if o.DType == "auto" {
		switch m.DType {
		case "":
			e.DType = "bfloat16"
			e.notef("config.json has no dtype; bfloat16 is taken")
		case "float32":
			e.DType = "bfloat16"
			e.notef("the model is saved in float32; an engine runs it in 16 bits unless --dtype says otherwise")
		default:
			e.DType = m.DType
		}
	}
	if e.CacheDType = o.CacheDType; o.CacheDType == "auto" {
		e.CacheDType = e.DType
	}
}

func (e *Estimate) takeCache(c *modelfolder.Cache) {
	perToken := c.PerToken(e.CacheDType)
	e.KVPerToken = &perToken
	if e.Context > 0 {
		perSequence := c.PerSequence(e.CacheDType, e.Context, e.BatchedTokens)
		e.KVPerSequence = &perSequence
	}
	for i := range c.Parts {
		p := &c.Parts[i]
		part := KVPart{Grows: p.Grows, Window: p.Window, DType: p.DType, Bytes: p.Bytes(e.CacheDType)}
		if part.DType == "" {
			part.DType = e.CacheDType
		}
		e.KVParts = append(e.KVParts, part)
	}
}

// judge compares what the requests need with what is left of the device.
func (e *Estimate) judge(o Options) {
	if len(e.Unknown) > 0 || e.Weights == nil || e.KVPerSequence == nil {
		e.Outcome = Incomplete
		return
	}
	if o.Device.Memory == 0 {
		e.Outcome = Unlimited
		return
	}
	budget := units.Bytes(math.Round(o.Share * float64(o.Device.Memory)))
	left := func(rest units.Bytes) units.Bytes { return max(0, budget-min(budget, e.Weights.Add(rest))) }
	memory := Range[units.Bytes]{left(e.Rest.AtMost), left(e.Rest.AtLeast)}
	e.KVMemory = &memory
	need := *e.KVPerSequence
	if need > 0 {
		e.Concurrency = &Range[int64]{int64(memory.AtLeast / need), int64(memory.AtMost / need)}
		e.KVTokens = &Range[int64]{e.tokens(memory.AtLeast), e.tokens(memory.AtMost)}
	}
	all := need.Mul(e.Batch)
	enough := budget > e.Weights.Add(e.Rest.AtLeast)
	switch {
	case all <= memory.AtLeast && budget > e.Weights.Add(e.Rest.AtMost):
		e.Outcome = Fits
	case all > memory.AtMost || !enough:
		e.Outcome = Exceeds
	default:
		e.Outcome = Undecided
	}
}

// tokens returns how many tokens a memory holds. Where layers keep different numbers of them, it is
// the context times how often a sequence of it fits.
func (e *Estimate) tokens(memory units.Bytes) int64 {
	if *e.KVPerToken > 0 && e.KVPerToken.Mul(e.Context) == *e.KVPerSequence {
		return int64(memory / *e.KVPerToken)
	}
	return int64(float64(memory) / float64(*e.KVPerSequence) * float64(e.Context))
}
