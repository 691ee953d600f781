package workspace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// on is a device with a torch release.
func on(t *testing.T, name, torch string) *platform.Platform {
	t.Helper()
	d, err := device.Lookup(name)
	require.NoError(t, err)
	v, err := platform.ParseVersion(torch)
	require.NoError(t, err)
	p, err := platform.New(d, v)
	require.NoError(t, err)
	return &p
}

// dense is a tensor laid out in f on the accelerator.
func dense(d tensor.DType, f tensor.MemoryFormat, sizes ...int64) *tensor.Meta {
	return &tensor.Meta{DType: d, Sizes: sizes, Strides: tensor.FormatStrides(sizes, f), Device: "cuda"}
}
