package origin

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
)

// TestRecordingOf: a program can be recorded instead, with the case's inputs; a recorded run is
// one already.
func TestRecordingOf(t *testing.T) {
	c := &spec.Case{Platform: platform.Platform{Device: device.Device{Name: "t4"}}}
	in, err := spec.ParseInput("x=float32[1]")
	require.NoError(t, err)
	second, err := spec.ParseInput("int64[2]")
	require.NoError(t, err)
	c.Inputs = []spec.Input{in, second}
	o := &Origin{Path: "m.pt2"}
	assert.Empty(t, o.RecordingOf(c))
	o.Program = &program.Program{}
	assert.Equal(t, "python -m memshim capture FILE.py:NAME --input 'x=float32[1]' --input 'int64[2]' --on t4 "+
		"-o m.rec", o.RecordingOf(c))
	c.Source = "net.py:make"
	assert.Equal(t, "python -m memshim capture net.py:make --input 'x=float32[1]' --input 'int64[2]' --on t4 "+
		"-o m.rec", o.RecordingOf(c))
}

// TestCheckValues: the command of a recorded program runs again with other values, that of
// anything else does not.
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

// TestCommand: an artifact is made again by the command that made it, or by an export of its
// case's file; a recording by what records its case.
func TestCommand(t *testing.T) {
	cases, err := spec.Parse("dir/memspec.yaml", []byte("version: 1\ndefaults: {device: t4, budget: {reserved: 1}}\n"+
		"models:\n  kept: {source: 'zoo.py:net', artifact: m.pt}\n  recorded: {source: 'zoo.py:net'}\n"))
	require.NoError(t, err)
	kept, recorded := cases[0], cases[1]
	elsewhere, err := recorded.OnNamed("l4")
	require.NoError(t, err)
	inGo := spec.Case{Name: "go", Dir: "d", Platform: recorded.Platform}
	sourced, program, ranks := inGo, inGo, inGo
	sourced.Source = "zoo.py:net"
	program.Program = &spec.Program{File: "train.py", Args: []string{"--fast"}}
	ranks.Program = &spec.Program{File: "train.py", Ranks: &spec.Ranks{WorldSize: 2}}
	made := &recording.Made{Command: []string{"python", "export me.py"}}
	unnamed := kept
	unnamed.Pos = spec.Pos{}
	for _, tt := range []struct {
		why  string
		made *recording.Made
		c    *spec.Case
		want string
	}{
		{"the command that made it", made, &kept, "python 'export me.py'"},
		{"one without a word", &recording.Made{}, &kept, "python -m memshim export dir/memspec.yaml"},
		{"an export of the file", nil, &kept, "python -m memshim export dir/memspec.yaml"},
		{"no file", nil, &unnamed, "python -m memshim export"},
		{"no source", nil, &spec.Case{Artifact: "m.pt", Pos: kept.Pos}, "python -m memshim export"},
		{"a recording, whatever made it", made, &recorded,
			"python -m memshim capture dir/memspec.yaml --case recorded"},
		{"on a card of the command line", nil, &elsewhere,
			"python -m memshim capture dir/memspec.yaml --case recorded --on l4"},
		{"of a source without a file", nil, &sourced, "python -m memshim capture zoo.py:net"},
		{"of a program without a file", nil, &program,
			"python -m memshim run --on t4 --record " + program.Captured() + " -- train.py --fast"},
		{"of several ranks, which a file alone can have", nil, &ranks, "python -m memshim capture memspec.yaml"},
	} {
		o := &Origin{Path: "m.pt2", Made: tt.made}
		assert.Equal(t, tt.want, o.Command(tt.c), tt.why)
	}
	assert.Equal(t, recorded.Captured(), Path(&recorded))
	assert.Equal(t, filepath.Join("dir", "m.pt"), Path(&kept))
}

// TestCaptureCommand: the command that records a case: by its name in its file, on the device that
// it was moved to; of a program that was written in Go by its words, else by its source.
func TestCaptureCommand(t *testing.T) {
	cases, err := spec.Parse("a b/m.yaml",
		[]byte("version: 1\nmodels:\n  m: {source: 'z.py:n', device: t4, budget: {}}\n"))
	require.NoError(t, err)
	there, err := cases[0].OnNamed("l4")
	require.NoError(t, err)
	t4 := platform.Platform{Device: device.Device{Name: "t4"}}
	program := spec.Case{Name: "p", Platform: t4, Program: &spec.Program{File: "train.py"}, Dir: "d"}
	ranks := program
	ranks.Program = &spec.Program{File: "train.py", Ranks: &spec.Ranks{WorldSize: 2}}
	own := cases[0]
	own.Program = &spec.Program{File: "train.py"}
	for _, tt := range []struct {
		why  string
		c    spec.Case
		want string
	}{
		{"of a file", cases[0], "python -m memshim capture 'a b/m.yaml' --case m"},
		{"on another device", there, "python -m memshim capture 'a b/m.yaml' --case m --on l4"},
		{"a program of a file", own, "python -m memshim capture 'a b/m.yaml' --case m"},
		{"a source", spec.Case{Source: "z.py:n"}, "python -m memshim capture z.py:n"},
		{"nothing of it is known", spec.Case{}, "python -m memshim capture memspec.yaml"},
		{"a program", program, "python -m memshim run --on t4 --record " + program.Captured() + " -- train.py"},
		{"one of several ranks", ranks, "python -m memshim capture memspec.yaml"},
	} {
		assert.Equal(t, tt.want, CaptureCommand(&tt.c), tt.why)
		missing := &Uncaptured{Case: &tt.c, Path: "p.rec"}
		assert.EqualError(t, missing, "got no recording of it (p.rec), want the one that this makes: "+tt.want)
		missing.Other = true
		assert.EqualError(t, missing, "got a recording of another run than its list of ranks (p.rec), want all of one, "+
			"which this makes: "+tt.want)
	}
	assert.Equal(t, CaptureCommand(&there), RecordCommand(&recording.Made{Command: []string{"own"}}, &there),
		"a case that is recorded is recorded by its file")
	for path, want := range map[string]string{"m.pt2": "m", "a/m.tar.gz": "m", `a\m.pt`: "m", "a.b/m": "m",
		"a/.pt": ".pt"} {
		assert.Equal(t, want, modelName(path), path)
	}
}
