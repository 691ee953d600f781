package serving

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact/modelfolder"
	"github.com/memspec/memspec/engine/units"
)

// TestRest: to the byte what an engine takes beside weights and cache. The least of it is the
// logits of all requests, or two copies of the tokens of a pass; an expert's layer is as wide as
// all experts that a token is sent to.
func TestRest(t *testing.T) {
	const mib = units.MiB
	for _, tt := range []struct {
		why   string
		sizes modelfolder.Sizes
		e     Estimate
		least units.Bytes
		most  units.Bytes
	}{
		{"tokens", modelfolder.Sizes{Hidden: 10, Vocabulary: 1, Width: 5, Layers: 36},
			Estimate{Batch: 1, BatchedTokens: 100}, 128*mib + 2*10*100*2, 288*mib + 4*12*mib + 14 + 6*10*100*2 + 3*5*100*2},
		{"logits", modelfolder.Sizes{Hidden: 1, Vocabulary: 1000, Layers: 36},
			Estimate{Batch: 8, BatchedTokens: 8}, 128*mib + 6*8000, 288*mib + 5*12*mib + 14*8000 + 6*16},
		{"one expert", modelfolder.Sizes{Hidden: 10, Width: 5, Experts: 1, ExpertWidth: 7, Layers: 36},
			Estimate{BatchedTokens: 100}, 128*mib + 4000, 288*mib + 4*12*mib + 12000 + 3*17*200},
		{"six experts", modelfolder.Sizes{Hidden: 10, Width: 5, Experts: 6, ExpertWidth: 7, Layers: 36},
			Estimate{BatchedTokens: 100}, 128*mib + 4000, 288*mib + 4*12*mib + 12000 + 3*6*17*200},
		{"a layer that is wider than its experts", modelfolder.Sizes{Hidden: 10, Width: 50, Experts: 1, ExpertWidth: 7,
			Layers: 36}, Estimate{BatchedTokens: 100}, 128*mib + 4000, 288*mib + 4*12*mib + 12000 + 3*50*200},
		{"as many graphs as an engine captures", modelfolder.Sizes{Layers: 36}, Estimate{Batch: 512}, 128 * mib,
			288*mib + 68*12*mib},
		{"no more of them", modelfolder.Sizes{Layers: 36}, Estimate{Batch: 520}, 128 * mib, 288*mib + 68*12*mib},
		{"one short of them", modelfolder.Sizes{Layers: 36}, Estimate{Batch: 511}, 128 * mib, 288*mib + 67*12*mib},
		{"twice the layers", modelfolder.Sizes{Layers: 73}, Estimate{}, 128 * mib, 288*mib + 2*4*12*mib},
	} {
		tt.e.DType = "bfloat16"
		assert.Equal(t, Range[units.Bytes]{tt.least, tt.most}, rest(&modelfolder.Model{Sizes: tt.sizes}, &tt.e), tt.why)
	}
}

// TestLimits: what fits a device to the byte, and what no longer does. The budget is 100 bytes.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		why            string
		weights, least units.Bytes
		most, request  units.Bytes
		want           Outcome
		memory         Range[units.Bytes]
		requests       *Range[int64]
	}{
		{"all that is left", 50, 10, 20, 15, Fits, Range[units.Bytes]{30, 40}, &Range[int64]{2, 2}},
		{"one byte more", 50, 10, 21, 15, Undecided, Range[units.Bytes]{29, 40}, &Range[int64]{1, 2}},
		{"no more than may be left", 50, 10, 21, 20, Undecided, Range[units.Bytes]{29, 40}, &Range[int64]{1, 2}},
		{"more than may be left", 50, 9, 21, 21, Exceeds, Range[units.Bytes]{29, 41}, &Range[int64]{1, 1}},
		{"of a byte each", 50, 10, 20, 1, Fits, Range[units.Bytes]{30, 40}, &Range[int64]{30, 40}},
		{"requests that take nothing", 50, 10, 49, 0, Fits, Range[units.Bytes]{1, 40}, nil},
		{"which nothing may be left for", 50, 10, 50, 0, Undecided, Range[units.Bytes]{0, 40}, nil},
		{"which nothing is left for", 90, 10, 11, 0, Exceeds, Range[units.Bytes]{}, nil},
	} {
		o := options(t, "l4")
		o.Device.Memory, o.Share = 200, 0.5
		token := tt.request
		e := &Estimate{Weights: &tt.weights, KVPerToken: &token, KVPerSequence: &tt.request, Batch: 2, Context: 1,
			Rest: Range[units.Bytes]{tt.least, tt.most}}
		e.judge(o)
		assert.Equal(t, tt.want, e.Outcome, tt.why)
		assert.Equal(t, tt.memory, *e.KVMemory, tt.why)
		assert.Equal(t, tt.requests, e.Concurrency, tt.why)
		assert.Equal(t, tt.requests == nil, e.KVTokens == nil, tt.why)
	}
}

// TestContext: without one that is given it is the model's own, without either it is not known. A
// longer one than the model's is noted.
func TestContext(t *testing.T) {
	const note = "the context is longer than the model's 1 tokens; an engine refuses it unless it is made to"
	const unknown = "context: config.json has none; give --context"
	for _, tt := range []struct {
		own, given, want int64
		noted, known     bool
	}{
		{40960, 0, 40960, false, true}, {40960, 1, 1, false, true}, {1, 0, 1, false, true}, {1, 1, 1, false, true},
		{1, 2, 2, true, true}, {0, 7, 7, false, true}, {0, 0, 0, false, false},
	} {
		m := model(t, qwen3)
		m.Sizes.Context = tt.own
		o := options(t, "l4")
		o.Context = tt.given
		e := New("m", m, o)
		assert.Equal(t, tt.want, e.Context, tt)
		assert.Equal(t, tt.noted, strings.Contains(strings.Join(e.Notes, "\n"), note), tt)
		assert.Equal(t, tt.known, e.KVPerSequence != nil, tt)
		if tt.known {
			assert.Empty(t, e.Unknown, tt)
		} else {
			assert.Equal(t, []string{unknown}, e.Unknown, tt)
		}
	}
}

// TestWeightsFrom: one file of weights is enough to be named.
func TestWeightsFrom(t *testing.T) {
	m := model(t, qwen3)
	assert.Equal(t, "config.json", New("m", m, options(t, "l4")).WeightsFrom)
	m.Weights.Files = 1
	assert.Equal(t, "safetensors headers", New("m", m, options(t, "l4")).WeightsFrom)
}

// TestLatentWorkspace: latent attention takes 128 MiB as it loads.
func TestLatentWorkspace(t *testing.T) {
	m := model(t, qwen3)
	without := New("m", m, options(t, "l4"))
	m.Weights.Latent = true
	with := New("m", m, options(t, "l4"))
	assert.Equal(t, []units.Bytes{0, 128 * units.MiB}, []units.Bytes{without.Workspace, with.Workspace})
	assert.Equal(t, *without.Weights+128*units.MiB, *with.Weights)
}

// TestLines: an estimate in one line, for each outcome, for one request and for several.
func TestLines(t *testing.T) {
	for _, tt := range []struct {
		outcome Outcome
		batch   int64
		want    string
	}{
		{Fits, 1, "1 request of 1,000 tokens fits d"}, {Fits, 2, "2 requests of 1,000 tokens fit d"},
		{Exceeds, 1, "1 request of 1,000 tokens does not fit d"},
		{Exceeds, 2, "2 requests of 1,000 tokens do not fit d"},
		{Undecided, 1, "1 request of 1,000 tokens may fit d: the range has both"},
		{Unlimited, 1, "the device has no limit"}, {Incomplete, 1, "incomplete: something is not known"},
	} {
		e := &Estimate{Model: "m", Device: "d", Outcome: tt.outcome, Batch: tt.batch, Context: 1000}
		assert.Equal(t, "m on d: "+tt.want, e.Line())
	}
}

// TestPartsOfTheText: what is printed of weights, of what a request keeps, and of ranges.
func TestPartsOfTheText(t *testing.T) {
	weights, none, parameters := 9*units.KiB, units.Bytes(0), int64(1000)
	e := &Estimate{Weights: &weights, Parameters: &parameters, Rounding: &none, DType: "float16", WeightsFrom: "f"}
	assert.Equal(t, "9.0 KiB: 1,000 parameters in float16, from f", e.weightsText())
	one := units.Bytes(1)
	e.Rounding, e.RotaryTable, e.Workspace, e.Quantization = &one, 1, 1, "awq"
	assert.Equal(t, "9.0 KiB: quantised by awq, from f, and 1 B of rotary tables, and 1 B of rounding by PyTorch's "+
		"allocator, and 1 B of a workspace for latent attention", e.weightsText())
	e.Rounding = nil
	assert.NotContains(t, e.weightsText(), "rounding")

	e.KVPerToken = &none
	assert.Equal(t, []string{"none"}, e.cacheTexts())
	e.KVParts = []KVPart{{Grows: modelfolder.State, DType: "float32", Bytes: 5}}
	assert.Equal(t, []string{"5 B a request, of any length, in float32"}, e.cacheTexts())

	assert.Equal(t, []string{"1 B", "1 B to 2 B"},
		[]string{sizes(Range[units.Bytes]{1, 1}), sizes(Range[units.Bytes]{1, 2})})
	assert.Equal(t, []string{"1,000", "0 to 100"},
		[]string{numbers(&Range[int64]{1000, 1000}), numbers(&Range[int64]{0, 100})})
}

// TestWriteTextFails: the first error of a write is returned.
func TestWriteTextFails(t *testing.T) {
	e := New("m", model(t, qwen3), options(t, "l4"))
	require.Error(t, e.WriteText(full{}))
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, assert.AnError }
