package serving

import (
	"fmt"
	"io"
	"strings"

	"github.com/memspec/memspec/engine/artifact/modelfolder"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/units"
)

// Line is the estimate in one line.
func (e *Estimate) Line() string { return e.Model + " on " + e.Device + ": " + e.outcomeText() }

// WriteText writes the estimate for people.
func (e *Estimate) WriteText(w io.Writer) error {
	p := layout.To(w)
	class := e.Architecture
	if e.Class != "" {
		class += " (" + e.Class + ")"
	}
	p.Line("%s  %s on %s", e.Model, class, e.Device)
	p.Item("weights", "%s", e.weightsText())
	for i, text := range e.cacheTexts() {
		name := "KV cache"
		if i > 0 {
			name = ""
		}
		p.Item(name, "%s", text)
	}
	p.Item("the rest", "%s: activations, modules, CUDA graphs", sizes(e.Rest))
	if e.KVMemory != nil {
		p.Item("KV memory", "%s", sizes(*e.KVMemory))
		if e.KVTokens != nil {
			p.Item("tokens", "%s", numbers(e.KVTokens))
			p.Item("requests", "%s of %s tokens", numbers(e.Concurrency), grouped(e.Context))
		}
	}
	p.Item("estimate", "%s", e.outcomeText())
	for _, text := range e.Unknown {
		p.Item("not known", "%s", text)
	}
	for _, text := range e.Notes {
		p.Item("note", "%s", text)
	}
	return p.Err
}

func (e *Estimate) weightsText() string {
	if e.Weights == nil {
		return "not known"
	}
	text := fmt.Sprintf("%v: %s parameters in %s, from %s", *e.Weights, grouped(*e.Parameters), e.DType, e.WeightsFrom)
	if e.Quantization != "" {
		text = fmt.Sprintf("%v: quantised by %s, from %s", *e.Weights, e.Quantization, e.WeightsFrom)
	}
	if e.RotaryTable > 0 {
		text += fmt.Sprintf(", and %v of rotary tables", e.RotaryTable)
	}
	if e.Rounding != nil && *e.Rounding > 0 {
		text += fmt.Sprintf(", and %v of rounding by PyTorch's allocator", *e.Rounding)
	}
	if e.Workspace > 0 {
		text += fmt.Sprintf(", and %v of a workspace for latent attention", e.Workspace)
	}
	return text
}

func (e *Estimate) cacheTexts() []string {
	if e.KVPerToken == nil {
		return []string{"not known"}
	}
	var out []string
	for _, p := range e.KVParts {
		switch p.Grows {
		case modelfolder.State:
			out = append(out, fmt.Sprintf("%v a request, of any length, in %s", p.Bytes, p.DType))
		case modelfolder.ByWindow:
			out = append(out, fmt.Sprintf("%v a token up to %s tokens behind a pass of %s, in %s",
				p.Bytes, grouped(p.Window), grouped(e.BatchedTokens), p.DType))
		default:
			out = append(out, fmt.Sprintf("%v a token, in %s", p.Bytes, p.DType))
		}
	}
	if len(out) == 0 {
		out = append(out, "none")
	}
	if e.KVPerSequence != nil {
		out = append(out, fmt.Sprintf("%v a request of %s tokens", *e.KVPerSequence, grouped(e.Context)))
	}
	return out
}

func (e *Estimate) outcomeText() string {
	requests := fmt.Sprintf("%s of %s tokens", plural(e.Batch, "request"), grouped(e.Context))
	switch e.Outcome {
	case Fits:
		return requests + plain(e.Batch, " fits ", " fit ") + e.Device
	case Exceeds:
		return requests + plain(e.Batch, " does", " do") + " not fit " + e.Device
	case Undecided:
		return requests + " may fit " + e.Device + ": the range has both"
	case Unlimited:
		return "the device has no limit"
	}
	return "incomplete: something is not known"
}

func plain(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func plural(n int64, word string) string { return grouped(n) + " " + plain(n, word, word+"s") }

func sizes(r Range[units.Bytes]) string {
	if r.AtLeast == r.AtMost {
		return r.AtLeast.String()
	}
	return fmt.Sprintf("%v to %v", r.AtLeast, r.AtMost)
}

func numbers(r *Range[int64]) string {
	if r.AtLeast == r.AtMost {
		return grouped(r.AtLeast)
	}
	return grouped(r.AtLeast) + " to " + grouped(r.AtMost)
}

// grouped writes a count with a comma at each thousand.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	var b strings.Builder
	for i, c := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}
