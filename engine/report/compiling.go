package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// KindChange is what compiling a model changes of one kind of memory: what is held of it at the
// peak of each run, and where most of the increase is.
type KindChange struct {
	Kind string      `json:"kind"`
	Old  units.Bytes `json:"old"`
	New  units.Bytes `json:"new"`
	// the operator that holds most of it in the compiled run, where that takes more
	Most string `json:"most,omitempty"`
}

// The kinds beside categories: what compiling adds, and weights, which a package holds outside of
// the allocator.
const (
	layoutCopies = "layout copies"
	allWeights   = "weights"
)

// compiling is the difference by kind of two runs, one of them compiled; nil of others. Where the
// compiled run is the old one, the figures are turned about.
func compiling(before, after *Report) []KindChange {
	const compiled = "compiled"
	if (before.Run.Runtime == compiled) == (after.Run.Runtime == compiled) {
		return nil
	}
	if before.Run.Runtime == compiled {
		before, after = after, before
	}
	var out []KindChange
	at := func(kind string) *KindChange {
		i := slices.IndexFunc(out, func(k KindChange) bool { return k.Kind == kind })
		if i < 0 {
			i = len(out)
			out = append(out, KindChange{Kind: kind})
		}
		return &out[i]
	}
	if w := before.Outside; w > 0 {
		at(allWeights).Old += w
	}
	if w := after.Outside; w > 0 {
		at(allWeights).New += w
	}
	most := map[string]map[string]units.Bytes{}
	for i := range before.Holders {
		h := &before.Holders[i]
		at(kindOf(h)).Old += h.Flat
	}
	for i := range after.Holders {
		h := &after.Holders[i]
		kind := kindOf(h)
		at(kind).New += h.Flat
		if most[kind] == nil {
			most[kind] = map[string]units.Bytes{}
		}
		most[kind][h.Op] += h.Flat
	}
	for i := range out {
		k := &out[i]
		if k.New <= k.Old {
			continue
		}
		for op, bytes := range most[k.Kind] {
			if has := most[k.Kind][k.Most]; k.Most == "" || bytes > has || bytes == has && op < k.Most {
				k.Most = op
			}
		}
	}
	out = slices.DeleteFunc(out, func(k KindChange) bool { return k.Old == k.New })
	slices.SortFunc(out, func(a, b KindChange) int {
		return cmp.Or(cmp.Compare(b.New-b.Old, a.New-a.Old), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// kindOf is the kind of memory that a holder is of.
func kindOf(h *Holder) string {
	switch {
	case strings.HasPrefix(h.Op, "layout copy for "):
		return layoutCopies
	case h.Category == tensor.Parameter.String() || h.Category == tensor.Buffer.String() ||
		h.Category == tensor.Constant.String():
		return allWeights
	}
	if name, ok := plurals[h.Category]; ok {
		return name
	}
	return h.Category
}

// compilingTable says where compiling takes more, then where it takes less.
func (d *Difference) compilingTable() *layout.Table {
	t := layout.NewTable("rrrll")
	t.Add("compiled", "eager", "change", "what", "most of it")
	for _, k := range d.Kinds {
		t.Add(k.New.String(), k.Old.String(), Signed(k.New-k.Old), k.Kind, k.Most)
	}
	return t
}

// compilingSentence names the kinds of which compiling takes more.
func (d *Difference) compilingSentence() string {
	var more []string
	for _, k := range d.Kinds {
		if k.New > k.Old {
			more = append(more, fmt.Sprintf("%s (%s)", k.Kind, Signed(k.New-k.Old)))
		}
	}
	if len(more) == 0 {
		return "compiling takes no more of anything at the peak"
	}
	return "compiling takes more at the peak: " + strings.Join(more, ", ")
}
