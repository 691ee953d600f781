package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/units"
)

// The metrics of an engine that serves a model. The last two are numbers, and more of them is
// better.
const (
	Loaded      Metric = "loaded"      // what loading leaves in PyTorch's allocator, of the GPU that has the most
	Activation  Metric = "activation"  // the peak of the engine's profile run over that, of the GPU that has the most
	KVTokens    Metric = "kv_tokens"   // tokens that the KV cache of one replica holds
	Concurrency Metric = "concurrency" // whole requests of the longest length that it holds
)

// ServingMetrics are the metrics of an engine that serves a model, in the order they are printed.
func ServingMetrics() []Metric { return []Metric{Loaded, Activation, KVTokens, Concurrency} }

// AllMetrics are all metrics that there are, those of an engine last.
func AllMetrics() []Metric { return append(BudgetMetrics(), ServingMetrics()...) }

// Counts says whether the metric is a number, of which a limit is the least. Others are bytes, of
// which a limit is the most.
func (m Metric) Counts() bool { return m == KVTokens || m == Concurrency }

// Text is a value of the metric: a size, or a number with a comma at each thousand.
func (m Metric) Text(v units.Bytes) string {
	if m.Counts() {
		return grouped(int64(v))
	}
	return v.String()
}

// Exact is a value of the metric in full: 2480930816 B, or 418,784 tokens.
func (m Metric) Exact(v units.Bytes) string {
	switch m {
	case KVTokens:
		return grouped(int64(v)) + " tokens"
	case Concurrency:
		return grouped(int64(v)) + " requests"
	}
	return v.Exact()
}

// Signed is a difference of the metric with its sign.
func (m Metric) Signed(v units.Bytes) string {
	if m.Counts() && v > 0 {
		return "+" + m.Text(v)
	}
	if m.Counts() {
		return m.Text(v)
	}
	return Signed(v)
}

// Breaks says whether a value of the metric breaks a limit. Exactly at the limit does not.
func (m Metric) Breaks(v, limit units.Bytes) bool {
	if m.Counts() {
		return v < limit
	}
	return v > limit
}

// Serving is what an engine that serves a model has left for its KV cache, by the engine's own
// figures.
type Serving struct {
	Engine     string       `json:"engine"`
	Release    string       `json:"release"`
	Model      string       `json:"model"`
	GPUs       int          `json:"gpus"`
	Fits       bool         `json:"fits"`
	Unfit      string       `json:"unfit,omitempty"` // why not, in the engine's words
	Loaded     *units.Bytes `json:"loaded"`          // null where the engine did not come so far
	Activation *units.Bytes `json:"activation"`      // null where the engine measured none
	KV         *KVCache     `json:"kv"`              // null where there is none
	// where the driver takes as much as in any log; null where no log says
	LeastTokens *int64      `json:"least_tokens"`
	LeastWhole  *int64      `json:"least_concurrency"`
	Driver      DriverBytes `json:"driver"`
	MadeUp      []string    `json:"made_up"`
	Defaults    []string    `json:"defaults"` // what the engine chose, as the command does not say it
}

// KVCache is an engine's KV cache, on the GPU that has the least for it. Of several replicas the
// figures are those of one.
type KVCache struct {
	Tokens           int64        `json:"tokens"`                  // of the replica that has the fewest
	Replicas         int64        `json:"replicas,omitempty"`      // engines with such a cache each, where several
	TokensInAll      int64        `json:"tokens_in_all,omitempty"` // of all replicas
	Requests         int64        `json:"concurrency"`             // whole ones of MaxModelLen
	Blocks           int64        `json:"blocks"`
	BlockSize        int64        `json:"block_size"`
	Memory           units.Bytes  `json:"memory"`
	Budget           units.Bytes  `json:"budget"` // that the engine may use of a card of Total
	Total            units.Bytes  `json:"total"`
	Utilization      float64      `json:"gpu_memory_utilization"`
	Outside          *units.Bytes `json:"outside_pytorch"` // null where the engine measured none
	Graphs           units.Bytes  `json:"graphs"`          // of CUDA graphs, as the engine measures them
	GraphsOfDriver   units.Bytes  `json:"graphs_of_driver,omitempty"`
	GraphsInBudget   units.Bytes  `json:"graphs_in_budget,omitempty"` // that the engine takes off Memory for them
	MaxModelLen      int64        `json:"max_model_len"`
	MaxNumSeqs       int64        `json:"max_num_seqs"`
	MaxBatchedTokens int64        `json:"max_num_batched_tokens"`
	DType            string       `json:"dtype"`
}

// DriverBytes is what the driver takes of a GPU beside PyTorch's allocator, by public logs.
type DriverBytes struct {
	Bytes  units.Bytes `json:"bytes"` // that are charged
	Least  units.Bytes `json:"least"` // in the logs
	Most   units.Bytes `json:"most"`
	Source string      `json:"source"`
	Logged bool        `json:"logged"` // the logs are of this card and number of GPUs
}

// value is the figure of a metric; false where it is not known.
func (s *Serving) value(m Metric) (units.Bytes, bool) {
	switch {
	case m == Loaded && s.Loaded != nil:
		return *s.Loaded, true
	case m == Activation && s.Activation != nil:
		return *s.Activation, true
	case m == KVTokens && s.KV != nil:
		return units.Bytes(s.KV.Tokens), true
	case m == Concurrency && s.KV != nil:
		return units.Bytes(s.KV.Requests), true
	}
	return 0, false
}

// worst is the figure of a metric where the driver takes as much as in any log; false where no log
// says, or it does not depend on that.
func (s *Serving) worst(m Metric) (units.Bytes, bool) {
	switch {
	case m == KVTokens && s.LeastTokens != nil:
		return units.Bytes(*s.LeastTokens), true
	case m == Concurrency && s.LeastWhole != nil:
		return units.Bytes(*s.LeastWhole), true
	}
	return 0, false
}

// headline is the figures in few words.
func (s *Serving) headline() string {
	if !s.Fits {
		return "does not fit: " + s.Unfit
	}
	parts := []string{
		KVTokens.Exact(units.Bytes(s.KV.Tokens)) + " of KV cache" + s.KV.each(),
		Concurrency.Exact(units.Bytes(s.KV.Requests)) + " of " + grouped(s.KV.MaxModelLen),
	}
	if s.Loaded != nil {
		parts = append(parts, "loaded "+s.Loaded.String())
	}
	if s.Activation != nil {
		parts = append(parts, "activation "+s.Activation.String())
	}
	return strings.Join(parts, ", ")
}

// writeServing writes the figures of an engine for people.
func writeServing(w io.Writer, r *Report) error {
	p, s := layout.To(w), r.Serving
	p.Line("%s: %s", r.Head(), s.headline())
	p.Item("engine", "%s", r.Producer)
	p.Item("model", "%s", s.Model)
	WriteServed(p, s)
	p.Item("quality", "%s", qualityText(r))
	if p.Err != nil {
		return p.Err
	}
	return WriteAssumed(w, r)
}

// WriteServed writes where the memory of an engine is.
func WriteServed(p *layout.Printer, s *Serving) {
	if s.Loaded != nil {
		p.Item("loaded", "%s: weights, and what loading leaves", *s.Loaded)
	}
	k := s.KV
	if k == nil {
		return
	}
	if s.Activation != nil {
		p.Item("profile", "%s of activations, the peak of a run of %s tokens and %s requests%s", *s.Activation,
			grouped(k.MaxBatchedTokens), grouped(k.MaxNumSeqs), chosen(s.Defaults))
	}
	if k.Outside != nil {
		p.Item("outside", "%s, an estimate: the driver, by %s", *k.Outside, s.Driver.Source)
	}
	p.Item("may use", "%s: %s of %s", k.Budget, strconv.FormatFloat(k.Utilization, 'g', -1, 64), k.Total)
	p.Item("KV cache", "%s: %s blocks of %d tokens, %s", k.Memory, grouped(k.Blocks), k.BlockSize, k.DType)
	if k.Replicas > 1 {
		p.Item("replicas", "%d: %s in all; the other figures are of one", k.Replicas,
			KVTokens.Exact(units.Bytes(k.TokensInAll)))
	}
	if size, where := k.graphs(); size > 0 {
		part := "without the driver's part"
		if k.GraphsOfDriver > 0 {
			part = fmt.Sprintf("%s of it the driver's, an estimate", k.GraphsOfDriver)
		}
		p.Item("graphs", "%s of CUDA graphs %s, %s", size, where, part)
	}
	if s.LeastTokens != nil && *s.LeastTokens != k.Tokens {
		p.Item("at least", "%s, %s: where the driver takes as much as in any log",
			KVTokens.Exact(units.Bytes(*s.LeastTokens)), Concurrency.Exact(units.Bytes(*s.LeastWhole)))
	}
	if len(s.MadeUp) > 0 {
		p.Item("made up", "%s", strings.Join(s.MadeUp, ", "))
	}
}

// each says of several replicas that a figure is of one of them.
func (k *KVCache) each() string {
	if k.Replicas < 2 {
		return ""
	}
	return fmt.Sprintf(" in each of %d replicas", k.Replicas)
}

// graphs returns what CUDA graphs take, and where that counts.
func (k *KVCache) graphs() (units.Bytes, string) {
	if k.GraphsInBudget > 0 {
		return k.GraphsInBudget, "taken off the KV cache"
	}
	return k.Graphs, "beside the budget"
}

// chosen names what the engine chose.
func chosen(defaults []string) string {
	if len(defaults) == 0 {
		return ""
	}
	return " (the engine's default: " + strings.Join(defaults, ", ") + ")"
}

// gpus is "2 × " of several GPUs.
func gpus(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("%d × ", n)
}

// grouped writes a number with a comma at each thousand.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, c := range text {
		if left := len(text) - i; i > 0 && left%3 == 0 && text[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}
