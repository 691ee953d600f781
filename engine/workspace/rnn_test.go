package workspace

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

func h100(t *testing.T) *platform.Platform {
	d, err := device.Lookup("h100-sxm-80gb")
	require.NoError(t, err)
	p, err := platform.New(d, platform.Version{Major: 2, Minor: 11})
	require.NoError(t, err)
	p.CuDNN = platform.Version{Major: 9, Minor: 19}
	return &p
}

type recurrentRow struct {
	Recurrent
	inference, training, reserve int64
}

// recurrentRows are what an H100 asked for.
func recurrentRows(t *testing.T) (out []recurrentRow) {
	modes := map[string]int64{"RNN": 1, "LSTM": modeLSTM, "GRU": modeGRU}
	for _, line := range recorded(t, "recurrent") {
		n := func(i int) int64 {
			v, err := strconv.ParseInt(line[i], 10, 64)
			require.NoError(t, err)
			return v
		}
		dtype, err := tensor.ParseDType(line[7])
		require.NoError(t, err)
		out = append(out, recurrentRow{Recurrent{Mode: modes[line[0]], Batch: n(1), Steps: n(2), Input: n(3), Hidden: n(4),
			Layers: n(5), Directions: n(6), DType: dtype, Dropout: line[8] != "0", Projected: n(9)}, n(10), n(11), n(12)})
	}
	return out
}

// The formula gives every row that was recorded, except training of one with projections, which
// asks for more.
func TestRecurrentLayersOfAnH100(t *testing.T) {
	p := h100(t)
	var missed []string
	rows := recurrentRows(t)
	assert.Len(t, rows, 734)
	for _, r := range rows {
		got := []int64{int64(r.Workspace(p)), 0, int64(r.Reserve())}
		r.Training = true
		got[1] = int64(r.Workspace(p))
		if want := []int64{r.inference, r.training, r.reserve}; !assert.ObjectsAreEqual(want, got) {
			missed = append(missed, fmt.Sprintf("batch %d, steps %d, input %d, hidden %d, projected %d: got %v, want %v",
				r.Batch, r.Steps, r.Input, r.Hidden, r.Projected, got, want))
		}
	}
	assert.Equal(t, []string{"batch 64, steps 20, input 300, hidden 128, projected 4: got [22782720 22782720 8560896], " +
		"want [22782720 23716608 8560896]"}, missed)
}

func TestRecurrentRequests(t *testing.T) {
	f := tensor.Float32
	l := RecurrentLayers{BatchFirst: true, Weights: []*tensor.Meta{dense(f, tensor.Contiguous, 12, 5),
		dense(f, tensor.Contiguous, 12, 3)}, Recurrent: Recurrent{Mode: modeLSTM, Hidden: 3, Directions: 2, Layers: 4}}
	p := h100(t)
	l.Of(dense(f, tensor.Contiguous, 2, 7, 5), nil)
	assert.Equal(t, []int64{7, 2, 5}, []int64{l.Steps, l.Batch, l.Recurrent.Input})
	asks := l.CuDNN(p)
	require.Len(t, asks, 7)
	assert.Equal(t, []int64{4 * 2 * 7 * 5, 4 * (12*5 + 12*3), int64(l.Workspace(p))},
		[]int64{int64(asks[0].Bytes), int64(asks[4].Bytes), int64(asks[5].Bytes)},
		"an input that is not time first, the weights in one chunk, the workspace")
	assert.Empty(t, asks[5].Note)
	assert.Equal(t, []Request{Make(0), Make(1), Make(2), Make(reserved)}, append(asks[1:4:4], asks[6]))

	l.Packed, l.BatchFirst = true, false
	l.Of(dense(f, tensor.Contiguous, 9, 5), []int64{4, 3, 2})
	assert.Equal(t, []int64{3, 4}, []int64{l.Steps, l.Batch})
	asks = l.CuDNN(p)
	assert.Equal(t, note.WorkspaceUnknown, asks[3].Note, "of several lengths none was recorded")
	assert.Zero(t, asks[3].Upper)
	l.Input = &tensor.Meta{Device: "cpu"}
	assert.Empty(t, l.CuDNN(p))
}

func TestRecurrentCallsThatWereRecorded(t *testing.T) {
	p := h100(t)
	plain := Recurrent{Mode: modeLSTM, Steps: 2, Batch: 2, Input: 8, Hidden: 8, Layers: 2, Directions: 1}
	of := func(change func(*Recurrent)) bool {
		r := plain
		change(&r)
		return r.recorded(p)
	}
	assert.True(t, of(func(*Recurrent) {}))
	assert.False(t, of(func(r *Recurrent) { r.OfLengths = true }))
	assert.False(t, of(func(r *Recurrent) { r.Dropout = true }))
	assert.True(t, of(func(r *Recurrent) { r.Dropout, r.Directions = true, 2 }))
	assert.False(t, of(func(r *Recurrent) { r.Dropout, r.Directions, r.Layers = true, 2, 3 }))
	assert.True(t, of(func(r *Recurrent) { r.Projected = 4 }))
	assert.False(t, of(func(r *Recurrent) { r.Projected, r.Training = 4, true }))
	assert.False(t, of(func(r *Recurrent) { r.Projected, r.Layers = 4, 1 }))
	assert.False(t, of(func(r *Recurrent) { r.Projected, r.Directions = 4, 2 }))
	p.CuDNN.Minor = 20
	assert.False(t, plain.recorded(p))
	p = h100(t)
	p.CuDNN.Major = 8
	assert.False(t, plain.recorded(p))
	p = h100(t)
	p.Device.ComputeCapability.Major = 8
	assert.False(t, plain.recorded(p))
}

// PyTorch's choice of the algorithm, at each of its limits.
func TestPersistentRecurrentLayers(t *testing.T) {
	p := h100(t)
	large := Recurrent{Mode: modeLSTM, Batch: 8, Input: 128, Hidden: 256, Layers: 1, Directions: 1, DType: tensor.Float16}
	of := func(change func(*Recurrent)) bool {
		r := large
		change(&r)
		return r.persistent(p)
	}
	assert.True(t, of(func(*Recurrent) {}))
	for name, change := range map[string]func(*Recurrent){
		"another dtype":    func(r *Recurrent) { r.DType = tensor.Float32 },
		"bfloat16":         func(r *Recurrent) { r.DType, r.Hidden = tensor.BFloat16, 64 },
		"projections":      func(r *Recurrent) { r.Projected = 4 },
		"lengths":          func(r *Recurrent) { r.OfLengths = true },
		"layers":           func(r *Recurrent) { r.Layers = 2 },
		"directions":       func(r *Recurrent) { r.Directions = 2 },
		"wide":             func(r *Recurrent) { r.Hidden = 1152 },
		"hidden of 128":    func(r *Recurrent) { r.Hidden = 264 },
		"input of 128":     func(r *Recurrent) { r.Input = 64 },
		"GRU":              func(r *Recurrent) { r.Mode = modeGRU },
		"batch of 8":       func(r *Recurrent) { r.Batch = 12 },
		"batch of 128":     func(r *Recurrent) { r.Batch = 136 },
		"RNN, batch of 96": func(r *Recurrent) { r.Mode, r.Batch, r.Hidden = 1, 96, 896 },
	} {
		assert.False(t, of(change), name)
	}
	assert.True(t, of(func(r *Recurrent) { r.Hidden = 1024 }))
	assert.True(t, of(func(r *Recurrent) { r.Batch = 128 }))
	assert.True(t, of(func(r *Recurrent) { r.Mode, r.Batch, r.Hidden = 1, 88, 896 }))
	assert.True(t, of(func(r *Recurrent) { r.Mode, r.Batch, r.Hidden = 1, 96, 768 }))

	float := func(mode, hidden int64) bool {
		return (&Recurrent{Mode: mode, Hidden: hidden, DType: tensor.Float32}).persistent(p)
	}
	assert.Equal(t, []bool{true, false, true, false, true, false}, []bool{float(modeLSTM, 192), float(modeLSTM, 193),
		float(modeGRU, 192), float(modeGRU, 193), float(1, 384), float(1, 385)})
	p.Device.SMs = 97
	assert.False(t, large.persistent(p))
	p = h100(t)
	p.Device.ComputeCapability = device.Capability{Major: 8, Minor: 6}
	assert.False(t, large.persistent(p))
	p.Device.ComputeCapability = device.Capability{Major: 7}
	assert.False(t, large.persistent(p))
	p.Device.ComputeCapability = device.Capability{Major: 5, Minor: 2}
	small := Recurrent{Mode: modeLSTM, Hidden: 8, DType: tensor.Float32}
	assert.False(t, small.persistent(p))
}
