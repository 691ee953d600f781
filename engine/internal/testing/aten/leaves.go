package aten

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/faults"
	"github.com/memspec/memspec/engine/ops"
)

// Leaves runs recorded calls of operators that are made of others and compares the operators that
// reach the dispatcher's end with PyTorch's, in order. Of a rule that has parts where PyTorch has a
// kernel, the kernel counts. Calls in testdata/leaves.txt go another way, for the reason given
// there.
func Leaves(t *testing.T, table *ops.Table, family [][]ops.Rule) {
	watched, err := faults.New(table)
	require.NoError(t, err)
	none, tried := On(t, "none", "2.15"), 0
	var differ []string
	calls{family: keys(family), files: sampleFiles(t)}.each(t, func(c *call) {
		if c.Error || c.Leaves == nil {
			return
		}
		r := newRun(watched.Table, none)
		args, kw := r.arguments(t, &c.sample)
		root := watched.Watch()
		if _, _, err := r.bench.Run(c.Op, args, kw); err != nil || len(r.bench.Missing()) > 0 {
			return
		}
		if len(root.Parts) == 1 && len(root.Parts[0].Parts) == 0 {
			return
		}
		tried++
		leaves := make([]string, len(c.Leaves))
		for i, l := range c.Leaves {
			leaves[i] = leafKey(l)
		}
		if !slices.Contains(reach(root.Parts, leaves, []int{0}), len(leaves)) {
			differ = append(differ, c.name)
		}
	})
	assert.NotZero(t, tried)
	CompareList(t, "testdata/leaves.txt", differ)
}

// leavesOf are what PyTorch runs for an operator that has one rule here: one of these.
var leavesOf = map[string][][]string{
	"aten::contiguous":          {{"aten::clone"}, {}},
	"aten::flatten.using_ints":  {{"aten::view"}, {"aten::clone", "aten::_unsafe_view"}, {}},
	"aten::mH":                  {{"aten::transpose.int"}, {"aten::transpose.int", "aten::_conj"}},
	"aten::narrow":              {{"aten::slice.Tensor"}},
	"aten::ones":                {{"aten::new_ones"}},
	"aten::real":                {{"aten::view_as_real", "aten::select.int"}, {}},
	"aten::imag":                {{"aten::view_as_real", "aten::select.int"}},
	"aten::reshape":             {{"aten::view"}, {"aten::clone", "aten::_unsafe_view"}, {}},
	"aten::to.dtype":            {{"aten::_to_copy"}, {}},
	"aten::to.other":            {{"aten::_to_copy"}, {}},
	"aten::atleast_1d.Sequence": {{}},
	"aten::atleast_2d.Sequence": {{}},
}

// reach compares calls with leaves from each of some places on and returns the places after them.
func reach(calls []*faults.Node, leaves []string, from []int) []int {
	for _, n := range calls {
		var after []int
		add := func(at int) {
			if !slices.Contains(after, at) {
				after = append(after, at)
			}
		}
		for _, at := range from {
			for _, run := range append(leavesOf[n.Key], []string{n.Key}) {
				if len(run) <= len(leaves)-at && slices.Equal(run, leaves[at:at+len(run)]) {
					add(at + len(run))
				}
			}
		}
		if len(n.Parts) > 0 {
			for _, at := range reach(n.Parts, leaves, from) {
				add(at)
			}
		}
		from = after
	}
	return from
}

// leafKey is a recorded leaf as the table names it: aten.mm.default is aten::mm.
func leafKey(leaf string) string {
	space, rest, _ := strings.Cut(leaf, ".")
	return space + "::" + strings.TrimSuffix(rest, ".default")
}
