package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

func holder(module, category string, flat units.Bytes, count int) Holder {
	return Holder{Site: Site{Op: "aten::conv2d", Module: module, File: "/x/resnet.py", Line: 7}, Category: category,
		Flat: flat, Count: count}
}

func TestSortHoldersFillsCum(t *testing.T) {
	hs := []Holder{
		holder("", "input", 1, 1),
		holder("layer1", "activation", 2, 1),
		holder("layer1.0.conv1", "activation", 4, 1),
		holder("layer10", "activation", 8, 1),
		holder("layer2", "activation", 3, 1), holder("layer2", "workspace", 5, 1), // of one module side by side
		holder("layer1.0.conv1", "workspace", 16, 1), // and apart
	}
	sortHolders(hs)
	cum := map[string]units.Bytes{}
	for _, h := range hs {
		cum[h.Module] = h.Cum
	}
	assert.Equal(t, map[string]units.Bytes{"": 39, "layer1": 22, "layer1.0.conv1": 20, "layer10": 8, "layer2": 8}, cum,
		"layer10 is not beneath layer1")
	assert.Equal(t, "layer1.0.conv1", hs[0].Module, "largest first")
	assert.Equal(t, "layer10", hs[1].Module)
}

// TestSiteIndex: a site has the number of its first asking, by whatever ID it is asked for; the
// phase distinguishes no sites.
func TestSiteIndex(t *testing.T) {
	a, b := trace.Site{Op: "a", Line: 1}, trace.Site{Op: "b", Line: 1}
	later := a
	later.Phase = trace.Backward
	x := newSiteIndex(&trace.Trace{Sites: []trace.Site{a, b, a, later}})
	for _, tt := range []struct {
		id     trace.SiteID
		number int
		first  bool
	}{{1, 0, true}, {1, 0, false}, {0, 1, true}, {2, 1, false}, {0, 1, false}, {3, 1, false}, {2, 1, false},
		{1, 0, false}} {
		number, first := x.of(tt.id)
		assert.Equal(t, []any{tt.number, tt.first}, []any{number, first}, tt.id)
	}
}

func TestFold(t *testing.T) {
	for _, tt := range []struct {
		name string
		hs   []Holder
		want []Row
		why  string
	}{
		{
			"state is one row a kind",
			[]Holder{holder("conv1", "parameter", 4, 1), holder("fc", "parameter", 8, 2), holder("bn1", "buffer", 1, 3),
				holder("", "input", 2, 1)},
			[]Row{{"", "parameters ×3", 12, 12, 3}, {"", "inputs ×1", 2, 2, 1}, {"", "buffers ×3", 1, 1, 3}},
			"161 modules with a weight each say nothing",
		},
		{
			"modules by their first part",
			[]Holder{holder("layer1.0.conv1", "activation", 4, 1), holder("layer1.1.conv2", "activation", 8, 1),
				holder("fc", "activation", 1, 1)},
			[]Row{{"layer1.*", "activations ×2", 12, 12, 2}, {"fc", "activations ×1", 1, 1, 1}},
			"",
		},
		{
			"beneath what all share",
			[]Holder{holder("model.encoder.0.a", "activation", 4, 1), holder("model.encoder.1.a", "activation", 8, 1),
				holder("model.encoder.1.b", "workspace", 16, 1)},
			[]Row{{"model.encoder.1.*", "workspaces ×1", 16, 16, 1}, {"model.encoder.1.*", "activations ×1", 8, 8, 1},
				{"model.encoder.0.*", "activations ×1", 4, 4, 1}},
			"one row `model.*` would say nothing",
		},
		{
			"a single module keeps its name",
			[]Holder{holder("layer3.5.conv2", "activation", 4, 2)},
			[]Row{{"layer3.5.conv2", "activations ×2", 4, 4, 2}},
			"",
		},
		{
			"the root holds some",
			[]Holder{holder("", "activation", 4, 1), holder("layer3.5.conv2", "activation", 8, 1)},
			[]Row{{"layer3.5.conv2", "activations ×1", 8, 8, 1}, {"", "activations ×1", 4, 4, 1}},
			"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, Fold(tt.hs), tt.why) })
	}
}

func TestGather(t *testing.T) {
	hs := []Holder{holder("a.b", "activation", 4, 1), holder("a.b", "workspace", 2, 1), holder("a.c", "activation", 1, 1),
		holder("", "parameter", 8, 5)}
	assert.Equal(t, []Row{
		{"", "parameters ×5", 8, 15, 5},
		{"a.b", "activations ×1, workspaces ×1", 6, 6, 2},
		{"a.c", "activations ×1", 1, 1, 1},
		{"a", "", 0, 7, 0},
	}, Gather(hs, ByModule), "a holds nothing itself; its row says what lies beneath it")
	assert.Equal(t, []Row{{"(parameter)", "parameters ×5", 8, 8, 5}, {"aten::conv2d", "activations ×2, workspaces ×1", 7,
		7, 3}}, Gather(hs, ByOp),
		"no operator made a parameter")
	assert.Equal(t, []Row{{"/x/resnet.py:7", "activations ×2, workspaces ×1, parameters ×5", 15, 15, 8}},
		Gather(hs, ByLine))
	assert.Equal(t, []Row{{"parameter", "parameters ×5", 8, 8, 5}, {"activation", "activations ×2", 5, 5, 2},
		{"workspace", "workspaces ×1", 2, 2, 1}},
		Gather(hs, ByCategory))
	hs[0].SavedBy = &Site{Op: "MulBackward0", File: "net.py", Line: 3}
	assert.Equal(t, []Row{{"(parameter)", "parameters ×5", 8, 8, 5}, {"MulBackward0 net.py:3", "activations ×1", 4, 4, 1},
		{"(workspace)", "workspaces ×1", 2, 2, 1}, {"(activation)", "activations ×1", 1, 1, 1}}, Gather(hs, BySaver))
}

// Holders are reported by size, those of one size by every part of their place.
func TestOrderOfHolders(t *testing.T) {
	at := func(op, module, file string, line int, category string, flat units.Bytes) Holder {
		return Holder{Site: Site{Op: op, Module: module, File: file, Line: line}, Category: category, Flat: flat}
	}
	want := []Holder{at("z", "z", "z", 9, "z", 2), at("a", "a", "a", 1, "a", 1), at("a", "b", "a", 1, "a", 1),
		at("b", "b", "a", 1, "a", 1), at("b", "c", "a", 1, "a", 1), at("a", "d", "a", 1, "a", 1),
		at("a", "d", "a", 2, "a", 1)}
	got := slices.Clone(want)
	slices.Reverse(got)
	sortHolders(got)
	for i := range got {
		got[i].Cum = 0
	}
	assert.Equal(t, want, got)
}

// TestFoldDepth: modules are reported to one more part than all that hold something of the run's
// own share, less a module's last part.
func TestFoldDepth(t *testing.T) {
	for _, tt := range []struct {
		why     string
		modules string
		want    int
	}{
		{"none", "", 1}, {"one", "a", 1}, {"one of two parts", "a.b", 2}, {"one of three", "a.b.c", 3},
		{"two that part at once", "a b", 1}, {"two of one parent", "a.b a.c", 2}, {"the parent too", "a a.b", 1},
		{"behind", "a.b a", 1},
		{"deep", "a.b.c.d a.b.c.e", 4}, {"that part higher", "a.b.c.d a.b.e.f", 3}, {"of unequal depth", "a.b.c.d a.b.c", 3},
		{"three", "a.b.c a.b.d a.e", 2}, {"twice the same", "a.b.c a.b.c", 3}, {"weights do not count", "a.b.c w:z", 3},
	} {
		var hs []Holder
		for _, m := range strings.Fields(tt.modules) {
			h := Holder{Category: "activation"}
			if rest, weight := strings.CutPrefix(m, "w:"); weight {
				h.Category, m = "parameter", rest
			}
			h.Module = m
			hs = append(hs, h, Holder{Category: "activation"})
		}
		assert.Equal(t, tt.want, foldDepth(hs), tt.why)
	}
}
