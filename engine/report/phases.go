package report

import (
	"slices"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// PhasePeak is the peaks of a part of a pass: forward, backward, step.
type PhasePeak struct {
	Name string `json:"name"`
	Peak Sizes  `json:"peak"`
	// while its allocated peak lasts, by category in the order of Categories; none of 0 bytes
	Held []Share `json:"held"`
}

// Share is what storages of one category take.
type Share struct {
	Category string      `json:"category"`
	Bytes    units.Bytes `json:"bytes"`
}

// Categories are what storages are for, in the order they are reported, with the words for people.
func Categories() [][2]string {
	return [][2]string{
		{tensor.Parameter.String(), "parameters"}, {tensor.Buffer.String(), "buffers"},
		{tensor.Constant.String(), "constants"}, {tensor.Input.String(), "inputs"},
		{tensor.Gradient.String(), "gradients"}, {tensor.OptimizerState.String(), "optimizer state"},
		{tensor.Activation.String(), "activations"},
		{tensor.Temporary.String(), "temporaries"}, {tensor.Workspace.String(), "workspace"}, {Untraced, "unattributed"},
	}
}

// CategoryText is the words for people of a category.
func CategoryText(category string) string {
	for _, c := range Categories() {
		if c[0] == category {
			return c[1]
		}
	}
	return category
}

// phases are the peaks of a pass's parts in the order they began; none where the pass is all of one
// kind.
func phases(tl *allocator.Timeline, pass int) []PhasePeak {
	var out []PhasePeak
	for i := range tl.Phases {
		if span := &tl.Phases[i]; span.Pass == pass {
			out = addPhase(out, PhasePeak{span.Phase.String(), sizesOf(&span.Peaks),
				sharesAt(tl, max(span.Peaks.Allocated.Event, span.First-1))})
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// addPhase adds the peaks of a part. One that comes again counts once, with its most.
func addPhase(all []PhasePeak, p PhasePeak) []PhasePeak {
	at := slices.IndexFunc(all, func(o PhasePeak) bool { return o.Name == p.Name })
	if at < 0 {
		return append(all, p)
	}
	if o := &all[at]; p.Peak.Allocated > o.Peak.Allocated {
		o.Held = p.Held
	}
	all[at].Peak = most(all[at].Peak, p.Peak)
	return all
}

// addPass adds a pass, to the one before it where that is of its name.
func addPass(all []Pass, p Pass) []Pass {
	if len(all) == 0 || all[len(all)-1].Name != p.Name {
		return append(all, p)
	}
	last := &all[len(all)-1]
	last.Peak = most(last.Peak, p.Peak)
	for _, phase := range p.Phases {
		last.Phases = addPhase(last.Phases, phase)
	}
	return all
}

func most(a, b Sizes) Sizes {
	return Sizes{max(a.Requested, b.Requested), max(a.Allocated, b.Allocated), max(a.Reserved, b.Reserved)}
}

// sharesAt is what the storages of each category take after an event.
func sharesAt(tl *allocator.Timeline, event int) []Share {
	tr := tl.Trace
	held := map[string]units.Bytes{}
	for _, size := range tl.Kept() {
		held[Untraced] += size
	}
	for id := range tl.Storages {
		st := &tl.Storages[id]
		if !st.Live(event) {
			continue
		}
		category := Untraced
		if st.Alloc >= 0 && tr.Events[st.Alloc].Site != trace.NoSite {
			category = tr.Sites[tr.Events[st.Alloc].Site].Category.String()
		}
		held[category] += st.Size
	}
	return inOrder(held)
}

// Shares are what holders hold, by category in the order of Categories; none of 0 bytes.
func Shares(hs []Holder) []Share {
	held := map[string]units.Bytes{}
	for i := range hs {
		held[hs[i].Category] += hs[i].Flat
	}
	return inOrder(held)
}

func inOrder(held map[string]units.Bytes) []Share {
	out := []Share{}
	for _, c := range Categories() {
		if n := held[c[0]]; n > 0 {
			out = append(out, Share{c[0], n})
		}
	}
	return out
}

// shares writes who holds what at the peak of each part of a pass.
func shares(p *layout.Printer, r *Report, pass *Pass) {
	if len(pass.Phases) == 0 {
		return
	}
	t := layout.NewTable("l" + "rrrr"[:min(4, len(pass.Phases))])
	head := []string{""}
	for i := range pass.Phases {
		head = append(head, pass.Phases[i].Name)
	}
	t.Add(head...)
	for _, c := range Categories() {
		row, some := []string{c[1]}, false
		for i := range pass.Phases {
			text := ""
			for _, s := range pass.Phases[i].Held {
				if s.Category == c[0] {
					text, some = s.Bytes.String(), true
				}
			}
			row = append(row, text)
		}
		if some {
			t.Add(row...)
		}
	}
	p.Line("")
	p.Line("  held at the peak of each phase, %s:", r.PassText(pass))
	p.Table(4, t)
}

// PassText is "first pass", in training "first iteration".
func (r *Report) PassText(pass *Pass) string {
	if r.Mode == "training" {
		return pass.Name + " iteration"
	}
	if r.FirstCall != nil {
		return pass.Name + " call"
	}
	return pass.Name + " pass"
}
