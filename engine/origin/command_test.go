package origin

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
)

// TestRecordCommand: the command that made a recording, on the case's device.
func TestRecordCommand(t *testing.T) {
	c := &spec.Case{Platform: platform.Platform{Device: device.Device{Name: "t4"}}}
	for _, tc := range []struct {
		why  string
		made *recording.Made
		want string
	}{
		{"before the program", &recording.Made{Command: []string{"memshim", "run", "--", "a.py", "--on", "x"}}, "memshim run --on t4 -- a.py --on x"},
		{"in the place of another", &recording.Made{Command: []string{"memshim", "capture", "--on", "l4", "a.py:f"}}, "memshim capture --on t4 a.py:f"},
		{"of another at the end", &recording.Made{Command: []string{"memshim", "--on", "l4"}}, "memshim --on t4"},
		{"of another in one word", &recording.Made{Command: []string{"memshim", "--on=l4", "a.py:f"}}, "memshim '--on=t4' a.py:f"},
		{"at the end", &recording.Made{Command: []string{"memshim", "capture"}}, "memshim capture --on t4"},
		{"an option without a value", &recording.Made{Command: []string{"memshim", "--on"}}, "memshim --on --on t4"},
		{"no command", &recording.Made{}, "python -m memshim capture FILE.py:NAME --on t4 -o FILE.rec, or memshim run --on t4 --record FILE.rec -- PROGRAM"},
		{"nothing is known", nil, "python -m memshim capture FILE.py:NAME --on t4 -o FILE.rec, or memshim run --on t4 --record FILE.rec -- PROGRAM"},
	} {
		assert.Equal(t, tc.want, RecordCommand(tc.made, c), tc.why)
	}
}
