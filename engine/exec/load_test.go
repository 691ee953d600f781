package exec

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// TestFromHost: a program that names an accelerator anywhere, in a tensor of the model or of the
// caller, means what it says of devices.
func TestFromHost(t *testing.T) {
	states := func(devices ...string) (out []*program.State) {
		for _, d := range devices {
			out = append(out, &program.State{Meta: tensor.Meta{Device: d}})
		}
		return out
	}
	entry := func(devices ...string) *program.Func {
		f := &program.Func{Params: []program.Param{{}}} // a number has no device
		for _, d := range devices {
			f.Params = append(f.Params, program.Param{Meta: &program.TensorMeta{Device: d}})
		}
		return f
	}
	for _, tt := range []struct {
		why    string
		states []*program.State
		entry  *program.Func
		want   bool
	}{
		{"nothing", nil, nil, true},
		{"a model on the host, without an entry", states("cpu"), nil, true},
		{"all on the host", states("cpu", "cpu"), entry("cpu", "meta"), true},
		{"a weight on a GPU", states("cpu", "cuda:0"), entry("cpu"), false},
		{"a weight on a GPU, without an entry", states("cuda"), nil, false},
		{"the first argument on a GPU", states("cpu"), entry("cuda:0", "cpu"), false},
		{"the last argument on a GPU", states("cpu"), entry("cpu", "cuda"), false},
		{"no weights, and an argument on a GPU", nil, entry("cuda:1"), false},
	} {
		assert.Equal(t, tt.want, FromHost(&program.Program{States: tt.states, Entry: tt.entry}), tt.why)
	}
}
