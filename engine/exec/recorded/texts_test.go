package recorded

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
)

func TestOn(t *testing.T) {
	total := units.Bytes(15828320256)
	h := &recording.Header{Device: recording.Device{Name: "Tesla T4", ComputeCapability: "7.5", Total: &total}}
	d, err := On(h)
	require.NoError(t, err)
	assert.Equal(t, "t4", d.Name)
	h.Device.Name = "Tesla T5"
	_, err = On(h)
	assert.EqualError(t, err, `it was recorded on "Tesla T5", which is no device of memspec devices, want --device`)
	h.Device.Name, h.Device.Total = "Tesla T4", nil
	_, err = On(h)
	assert.Error(t, err, "how much memory it has is not known")
}

// TestNamed: a driver's name is that of a row, or of a device that its user describes.
func TestNamed(t *testing.T) {
	t4, err := device.Lookup("t4")
	require.NoError(t, err)
	own := device.Device{Name: "My Card"}
	assert.True(t, named(&t4, "t4"))
	assert.False(t, named(&t4, "l4"))
	assert.True(t, named(&own, "MY CARD"))
	assert.False(t, named(&own, "Another"))
}

func TestTexts(t *testing.T) {
	two := 2 * units.MiB
	assert.Equal(t, "which it does not record", totalText(nil))
	assert.Equal(t, "2.0 MiB", totalText(&two))
	assert.Equal(t, "40 multiprocessors", chipText(40, &two))
	assert.Equal(t, "2.0 MiB", chipText(0, &two))

	at := recording.ValueLine{File: "a.py", Line: 3}
	in := recording.ValueLine{File: "b.py", Line: 4, Function: "f"}
	const one, many = " reads a value that no kernel computed, which decides", "one of these lines reads a value that " +
		"no kernel computed, which decides: "
	for _, c := range []struct {
		lines []recording.ValueLine
		want  string
	}{
		{nil, "a value that no kernel computed decides"},
		{[]recording.ValueLine{{}}, "a thread without Python" + one},
		{[]recording.ValueLine{in}, "b.py:4 (f)" + one},
		{[]recording.ValueLine{at, in}, many + "a.py:3, b.py:4 (f)"},
		{[]recording.ValueLine{at, at, at, in}, many + "a.py:3, a.py:3, a.py:3, b.py:4 (f)"},
		{[]recording.ValueLine{at, at, at, at, in}, many + "a.py:3, a.py:3, a.py:3, a.py:3, 1 more"},
	} {
		assert.Equal(t, c.want, linesText(c.lines, "decides"))
	}
}

// TestDiffers: a dim had several sizes where one is not the first.
func TestDiffers(t *testing.T) {
	h := &recording.Header{Lengths: map[string][]int64{"S": {4, 4, 5}, "B": {4, 4}}}
	assert.True(t, differs(h, "S"))
	assert.False(t, differs(h, "B"))
	assert.False(t, differs(h, "none"))
	assert.False(t, differs(nil, "S"))
}

// TestBesideASnapshot: a memory snapshot records neither inputs nor dims.
func TestBesideASnapshot(t *testing.T) {
	assert.Empty(t, contradictions(nil, &spec.Case{}))
	assert.Equal(t, []string{"inputs that a memory snapshot does not record, the case says dims {B: 4}"},
		contradictions(nil, &spec.Case{Dims: []spec.Dim{{Name: "B", Value: 4}}}))
}

// TestLengthsBesideARecording: the lengths of a run's iterations are compared.
func TestLengthsBesideARecording(t *testing.T) {
	c := &spec.Case{Lengths: map[string][]int64{"S": {4, 5}}, Source: "a.py:f"}
	assert.Empty(t, contradictions(&recording.Header{Lengths: c.Lengths}, c))
	assert.Equal(t, []string{`lengths none, the case says {"S":[4,5]}`}, contradictions(&recording.Header{}, c))
}
