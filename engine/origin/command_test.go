package origin

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
)

// TestRecordingOf: a program can be recorded instead, with the case's inputs; a recorded run is one
// already.
func TestRecordingOf(t *testing.T) {
	c := &spec.Case{Platform: platform.Platform{Device: device.Device{Name: "t4"}}}
	in, err := spec.ParseInput("x=float32[1]")
	require.NoError(t, err)
	c.Inputs = []spec.Input{in}
	o := &Origin{Path: "m.pt2"}
	assert.Empty(t, o.RecordingOf(c))
	o.Program = &program.Program{}
	assert.Equal(t, "python -m memshim capture FILE.py:NAME --input 'x=float32[1]' --on t4 -o m.rec", o.RecordingOf(c))
	c.Source = "net.py:make"
	assert.Equal(t, "python -m memshim capture net.py:make --input 'x=float32[1]' --on t4 -o m.rec", o.RecordingOf(c))
}

// TestCheckValues: the command of a recorded program runs again with other values, that of anything
// else does not.
func TestCheckValues(t *testing.T) {
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{"python", "-m", "memshim", "run", "--on", "t4", "--", "a.py"},
			"python -m memshim run --on t4 --check-values -- a.py"},
		{[]string{"python", "-m", "memshim", "capture", "--", "run"}, ""},
		{[]string{"python", "-m", "memshim", "run", "a.py"}, ""},
		{nil, ""},
	} {
		assert.Equal(t, c.want, (&Origin{Made: &recording.Made{Command: c.command}}).CheckValues())
	}
	assert.Empty(t, (&Origin{}).CheckValues())
}

// TestRecordCommand: the command that made a recording, on the case's device.
func TestRecordCommand(t *testing.T) {
	c := &spec.Case{Platform: platform.Platform{Device: device.Device{Name: "t4"}}}
	for _, tc := range []struct {
		why  string
		made *recording.Made
		want string
	}{
		{"before the program", &recording.Made{Command: []string{"memshim", "run", "--", "a.py", "--on", "x"}},
			"memshim run --on t4 -- a.py --on x"},
		{"in the place of another", &recording.Made{Command: []string{"memshim", "capture", "--on", "l4", "a.py:f"}},
			"memshim capture --on t4 a.py:f"},
		{"of another at the end", &recording.Made{Command: []string{"memshim", "--on", "l4"}}, "memshim --on t4"},
		{"of another in one word", &recording.Made{Command: []string{"memshim", "--on=l4", "a.py:f"}},
			"memshim '--on=t4' a.py:f"},
		{"at the end", &recording.Made{Command: []string{"memshim", "capture"}}, "memshim capture --on t4"},
		{"an option without a value", &recording.Made{Command: []string{"memshim", "--on"}}, "memshim --on --on t4"},
		{"no command", &recording.Made{}, "python -m memshim capture FILE.py:NAME --on t4 -o FILE.rec, or memshim run --on " +
			"t4 --record FILE.rec -- PROGRAM"},
		{"nothing is known", nil, "python -m memshim capture FILE.py:NAME --on t4 -o FILE.rec, or memshim run --on t4 " +
			"--record FILE.rec -- PROGRAM"},
	} {
		assert.Equal(t, tc.want, RecordCommand(tc.made, c), tc.why)
	}
}

// TestSettleCommand: what is not known of the live model is in a new export, and in a recording
// where an export has compared them.
func TestSettleCommand(t *testing.T) {
	c := &spec.Case{Platform: platform.Platform{Device: device.Device{Name: "t4"}}}
	const capture = "python -m memshim capture FILE.py:NAME --on t4 -o m.rec"
	made := &recording.Made{Command: []string{"python", "export.py"}}
	for _, tc := range []struct {
		made     *recording.Made
		compared bool
		want     string
	}{
		{nil, false, (&Origin{Path: "m.pt2", Program: &program.Program{}}).Command(c)},
		{nil, true, (&Origin{Path: "m.pt2", Program: &program.Program{}}).Command(c)},
		{made, false, (&Origin{Path: "m.pt2", Program: &program.Program{}, Made: made}).Command(c)},
		{made, true, capture},
	} {
		o := &Origin{Path: "m.pt2", Program: &program.Program{}, Made: tc.made, Compared: tc.compared}
		assert.NotEqual(t, capture, o.Command(c))
		assert.Equal(t, tc.want, o.SettleCommand(c))
	}
}
