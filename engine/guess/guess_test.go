package guess

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// TestCandidates: the inputs that are tried where nobody says one, by the first weight of two
// dimensions or more, the most usual first.
func TestCandidates(t *testing.T) {
	for _, tt := range []struct {
		why   string
		sizes [][]int64
		from  string
		first string
		count int
	}{
		{"a convolution of images", [][]int64{{64, 3, 7, 7}}, "guessed from m0.weight [64 3 7 7]", "float32[B,3,224,224]",
			18},
		{"the first weight of two dimensions or more decides", [][]int64{{64}, {8, 5, 3, 3}, {4, 4}},
			"guessed from m1.weight [8 5 3 3]", "float32[B,5,224,224]", 18},
		{"of volumes", [][]int64{{64, 3, 3, 3, 3}}, "guessed from m0.weight [64 3 3 3 3]", "float32[B,3,16,112,112]", 1},
		{"of sound", [][]int64{{64, 2, 9}}, "guessed from m0.weight [64 2 9]", "float32[B,2,16000]", 4},
		{"of rows", [][]int64{{64, 30}}, "guessed from m0.weight [64 30]", "float32[B,30]", 3},
		{"without any", [][]int64{{64}}, "", "float32[B,3,224,224]", 2},
	} {
		p := &program.Program{}
		for i, s := range tt.sizes {
			p.States = append(p.States, &program.State{Name: "m" + string(rune('0'+i)) + ".weight",
				Meta: tensor.Meta{DType: tensor.Float32, Sizes: s}})
		}
		from, candidates := candidatesOf(p)
		assert.Equal(t, tt.from, from, tt.why)
		assert.Equal(t, tt.first, candidates[0], tt.why)
		assert.Len(t, candidates, tt.count, tt.why)
	}
	depthwise := &program.Program{States: []*program.State{{Name: "c.weight", Meta: tensor.Meta{DType: tensor.Float16, Sizes: []int64{32, 1, 3, 3}}}}}
	_, candidates := candidatesOf(depthwise)
	assert.Equal(t, "float16[B,1,224,224]", candidates[0])
	assert.Equal(t, "float16[B,32,224,224]", candidates[9], "as many groups as channels")
	sound := &program.Program{States: []*program.State{{Name: "c.weight", Meta: tensor.Meta{DType: tensor.Float32, Sizes: []int64{64, 2, 9}}}}}
	_, candidates = candidatesOf(sound)
	assert.Equal(t, []string{"float32[B,2,16000]", "float32[B,2,1024]", "float32[B,2,128]", "float32[B,128,9]"},
		candidates)
}
