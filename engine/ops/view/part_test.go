package view

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// chooser takes an end of each size's range.
type chooser struct {
	ops.Machine
	lower bool
	notes []note.ID
}

func (c *chooser) Note(n note.Note) { c.notes = append(c.notes, n.ID) }

func (c *chooser) Bound(u ops.Unbacked) int64 {
	if c.lower {
		return u.Min
	}
	return u.Max
}

// A part whose end is not known is as long as the end's range and the tensor allow.
func TestUnbackedParts(t *testing.T) {
	x := aten.Tensor(tensor.Float32, tensor.Contiguous, 10)
	free := ops.NewUnbacked("", schema.Int)
	table, err := ops.NewTable(Rules...)
	require.NoError(t, err)
	for _, c := range []struct {
		key          string
		args         []any
		lower, upper int64
		why          string
	}{
		{"aten::slice.Tensor", []any{x, int64(0), int64(2), free, int64(1)}, 0, 8, "nothing bounds the end"},
		{"aten::slice.Tensor", []any{x, int64(0), free, int64(6), int64(1)}, 0, 6, "nothing bounds the start"},
		{"aten::slice.Tensor", []any{x, int64(0), int64(2), ops.Between("", 4, 7), int64(1)}, 2, 5, "the end's range"},
		{"aten::slice.Tensor", []any{x, int64(0), int64(2), ops.Between("", 0, 7), int64(1)}, 0, 5,
			"an end before the start"},
		{"aten::slice.Tensor", []any{x, int64(0), int64(2), ops.Between("", 4, 70), int64(1)}, 2, 8,
			"an end behind the tensor"},
		{"aten::slice.Tensor", []any{x, int64(0), int64(2), ops.Between("", -4, 7), int64(1)}, 0, 8,
			"an end that may count from the back"},
		{"aten::slice.Tensor", []any{x, int64(0), int64(1), ops.Between("", 4, 6), int64(2)}, 2, 3, "every second one"},
		{"aten::narrow", []any{x, int64(0), int64(2), free}, 0, 8, "nothing bounds the length"},
		{"aten::narrow", []any{x, int64(0), int64(2), ops.Between("", 3, 5)}, 3, 5, "the length's range"},
		{"aten::narrow", []any{x, int64(0), int64(2), ops.Between("", -3, 50)}, 0, 8, "no more than there is"},
	} {
		b, ok := table.Lookup(c.key)
		require.True(t, ok, c.key)
		for lower, want := range map[bool]int64{true: c.lower, false: c.upper} {
			ms, err := b.Rule.Out(&ops.Call{Bound: b, Args: c.args, M: &chooser{lower: lower}})
			require.NoError(t, err, c.why)
			assert.Equal(t, []int64{want}, ms[0].Sizes, "%s %v: %s", c.key, c.args[2:], c.why)
		}
	}
}

// Where a part begins does not matter to memory, and a note says so.
func TestUnbackedStart(t *testing.T) {
	x := aten.Tensor(tensor.Float32, tensor.Contiguous, 10)
	table, err := ops.NewTable(Rules...)
	require.NoError(t, err)
	b, ok := table.Lookup("aten::narrow")
	require.True(t, ok)
	m := &chooser{}
	ms, err := b.Rule.Out(&ops.Call{Bound: b, Args: []any{x, int64(0), ops.NewUnbacked("", schema.Int), int64(3)}, M: m})
	require.NoError(t, err)
	assert.Equal(t, []int64{3}, ms[0].Sizes)
	assert.Equal(t, []note.ID{note.IndexAssumed}, m.notes)
}
