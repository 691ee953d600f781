package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
)

// runFlags are the flags of a command that was given these arguments.
func runFlags(t *testing.T, args ...string) (*cobra.Command, *RunFlags, *Choice) {
	t.Helper()
	cmd := &cobra.Command{Use: "fit"}
	f, judge := NewRunFlags(cmd), JudgeFlag(cmd)
	require.NoError(t, cmd.ParseFlags(args))
	return cmd, f, judge
}

func TestOneCase(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string // error; "" for none
	}{
		{[]string{"--device", "t4", "--input", "x=float32[B,3]", "--dim", " B =8"}, ""},
		{[]string{"--device", "t4", "--input", "x=float32[1,3]"}, ""},
		{[]string{"--input", "x=float32[1,3]"}, errNoDevice.Error()},
		{[]string{"--device", "t5"},
			`--device: got device "t5", want a known device: did you mean "t4"? (all: memspec devices)`},
		{[]string{"--device", "t4", "--torch", "x"}, `--torch: got version "x", want one such as 2.10 or 2.10.1`},
		{[]string{"--device", "t4", "--input", "x=float32[B,3]", "--dim", "B=1,8"}, "--dim B: got 2 values, want one"},
		{[]string{"--device", "t4", "--input", "x=float32[B,3]"}, "got dim B without a value, want --dim B=SIZE"},
		{[]string{"--device", "t4", "--input", "x=float32[B,3]", "--input", "y=float32[S,B]", "--dim", "b=1"},
			"got dim B, S without a value, want --dim B=SIZE (not b) --dim S=SIZE"},
		{[]string{"--device", "t4", "--input", "x=float32[B,3]", "--dim", "B=1", "--dim", "S=2"},
			"--dim S: got a dim that no input has"},
		{[]string{"--dim", "B"}, `--dim: got "B", want NAME=VALUE such as B=8`},
		{[]string{"--dim", "=1"}, `--dim: got "=1", want NAME=VALUE such as B=8`},
		{[]string{"--dim", "B="}, `--dim: got "B=", want NAME=VALUE such as B=8`},
		{[]string{"--dim", "B=1", "--dim", "B=2"}, "--dim: got B twice, want it once"},
		{[]string{"--dim", "B=-1"}, `--dim B: got "-1", want a whole number of 0 or more`},
		{[]string{"--dim", "B=x"}, `--dim B: got "x", want a whole number of 0 or more`},
	} {
		_, f, _ := runFlags(t, c.args...)
		got, err := f.OneCase("m.pt2")
		if c.want != "" {
			assert.EqualError(t, err, c.want, c.args)
			continue
		}
		require.NoError(t, err, c.args)
		assert.Equal(t, "t4", got.Platform.Device.Name)
		assert.Equal(t, "m.pt2", got.Artifact)
	}
	_, f, _ := runFlags(t, "--device", "t4", "--input", "x=float32[B,3]", "--dim", "B=0")
	got, err := f.OneCase("m.pt2")
	require.NoError(t, err)
	assert.Equal(t, "x=float32[0,3]", got.Inputs[0].String())
	for _, name := range []string{"a.yaml", "b.yml"} {
		_, err := f.OneCase(name)
		assert.ErrorContains(t, err, "got a file of cases, want an artifact: memspec check "+name)
	}
}

// Without --device, the platform is that of a recording: of an engine's start its card with the
// memory that its driver stated.
func TestPlatformOfARecording(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "serving", "tiny.rec"))
	require.NoError(t, err)
	write := func(name string, change ...string) string {
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(file, []byte(strings.NewReplacer(change...).Replace(string(data))), 0o644))
		return file
	}
	_, f, _ := runFlags(t, "--torch", "2.9", "--alloc-conf", "expandable_segments:True")
	p, err := f.Platform(write("a.rec", "85045477376", "85045477000"))
	require.NoError(t, err)
	assert.Equal(t, "h100-sxm-80gb", p.Device.Name)
	assert.EqualValues(t, 85045477000, p.Device.Memory)
	assert.Equal(t, "2.9", p.Torch.String())
	assert.Equal(t, "expandable_segments:True", p.AllocConf)

	_, f, _ = runFlags(t, "--device", "t4")
	p, err = f.Platform(write("a.rec"))
	require.NoError(t, err)
	assert.Equal(t, "t4", p.Device.Name, "what is given goes first")

	_, f, _ = runFlags(t)
	unknown := write("a.rec", `"h100-sxm-80gb"`, `"h100-none"`)
	_, err = f.Platform(unknown)
	assert.ErrorContains(t, err, "got no --device: "+unknown+": got device")
	for _, name := range []string{"a.rec", "a.json"} {
		damaged := write(name, "{", "[")
		_, err = f.Platform(damaged)
		assert.ErrorContains(t, err, damaged)
	}
	_, err = f.Platform(write("a.pt2", "{", "["))
	assert.Equal(t, errNoDevice, err, "no recording")
	_, err = f.Platform(filepath.Join("..", "..", "cmd", "memspec", "none.pt2"))
	assert.Equal(t, errNoDevice, err)
}

// A flag that says how an artifact runs is named, the first of them, but those that are left out.
func TestGiven(t *testing.T) {
	for _, name := range []string{"input", "dim", "device", "torch", "alloc-conf", "runtime", "mode"} {
		value := map[string]string{"runtime": "eager", "mode": "training"}[name]
		cmd, f, _ := runFlags(t, "--"+name, value+map[bool]string{true: "v"}[value == ""])
		assert.Equal(t, name, f.Given(cmd))
		assert.Empty(t, f.Given(cmd, name))
	}
	cmd, f, _ := runFlags(t, "--judge", "likely")
	assert.Empty(t, f.Given(cmd))
}

func TestWantValues(t *testing.T) {
	cmd, _, _ := runFlags(t, "--device", "")
	assert.EqualError(t, WantValues(cmd, "torch", "device"), "--device: got nothing, want a NAME")
	assert.NoError(t, WantValues(cmd, "torch", "alloc-conf"), "not given")
	cmd, _, _ = runFlags(t, "--device", "t4")
	assert.NoError(t, WantValues(cmd, "device"))
}

func TestParseShare(t *testing.T) {
	for _, c := range []struct {
		text string
		want float64
	}{{"1%", 0.01}, {" 0 % ", 0}, {"250%", 2.5}} {
		got, err := ParseShare(c.text)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
	for _, text := range []string{"1", "x%", "-1%", "NaN%", ""} {
		_, err := ParseShare(text)
		assert.ErrorContains(t, err, "want a percentage such as 1%", text)
	}
}

// The dims of an artifact that are open are searched; those given stay.
func TestSubjectOfAnArtifact(t *testing.T) {
	cmd, f, judge := runFlags(t, "--device", "t4", "--input", "x=float32[B,S,F]", "--dim", "B", "--dim", "S=7", "--dim",
		"F", "--judge", "likely")
	s, err := NewSubject(cmd, f, []string{"m.pt2"}, judge)
	require.NoError(t, err)
	assert.Equal(t, []string{"B", "F"}, s.Open)
	assert.Equal(t, "x=float32[1,7,1]", s.Base.Inputs[0].String())
	assert.EqualValues(t, "likely", s.Base.Judge)
	c, err := s.At("F", "B")(3, 5)
	require.NoError(t, err)
	assert.Equal(t, "x=float32[5,7,3]", c.Inputs[0].String())
	assert.EqualValues(t, "likely", c.Judge)
	s.Base.Platform.Device.Name = "another"
	c, err = s.One("F")(9)
	require.NoError(t, err)
	assert.Equal(t, "x=float32[1,7,9]", c.Inputs[0].String())
	assert.Equal(t, "another", c.Platform.Device.Name, "the device that is searched on")

	cmd, f, judge = runFlags(t, "--dim", "B", "--dim", "B")
	_, err = NewSubject(cmd, f, []string{"m.pt2"}, judge)
	assert.EqualError(t, err, "--dim: got B twice, want it once")
}

func TestSubjectOfACase(t *testing.T) {
	file := specFile(t, "a", "b[1]", "b[2]")
	for _, c := range []struct {
		name, want string
		args       []string
	}{
		{"a", "", []string{"--dim", "B=4", "--device", "a10g"}},
		{"a", "fit: got --torch beside the case a, want it without: a case says how it runs", []string{"--torch", "2.6"}},
		{"b*", "got 2 cases of the name b*, such as b[1] and b[2], want one", nil},
		{"c", file + `: got no case "c", want one of a, b[1], b[2]`, nil},
		{"a", "--dim B: got 2 values, want one", []string{"--dim", "B=4,5"}},
		{"a", `a: got the dim "S", want one of the case's: B`, []string{"--dim", "S"}},
		{"a", `a: got the dim "S", want one of the case's: B`, []string{"--dim", "S=1"}},
	} {
		cmd, f, judge := runFlags(t, c.args...)
		s, err := NewSubject(cmd, f, []string{c.name, file}, judge)
		if c.want != "" {
			assert.EqualError(t, err, c.want, c.args)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, "a10g", s.Base.Platform.Device.Name)
		assert.Equal(t, []spec.Dim{{Name: "B", Value: 4}}, s.Base.Dims)
		again, err := s.One("B")(6)
		require.NoError(t, err)
		assert.Equal(t, []spec.Dim{{Name: "B", Value: 6}}, again.Dims)
	}
}

func TestIsArtifact(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct {
		args []string
		want bool
	}{
		{[]string{"no.pt"}, true}, {[]string{"no.pth"}, true}, {[]string{"no.pt2"}, true}, {[]string{"no.rec"}, true},
		{[]string{"name"}, false}, {[]string{folder}, false}, {[]string{specFile(t, "a")}, true},
		{[]string{"a.pt", "b.pt"}, false}, {nil, false},
	} {
		assert.Equal(t, c.want, isArtifact(c.args), c.args)
	}
	assert.False(t, isArtifact([]string{filepath.Join(folder, "none")}))
}

// Without --device a recorded run is on its own card, with its own torch where none is given; one
// on CPU tensors, or on a card that is not known, is on none.
func TestPlatformOfARecordedRun(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "engine", "recording", "testdata", "records", "small.json"))
	require.NoError(t, err)
	write := func(change ...string) string {
		file := filepath.Join(t.TempDir(), "a.rec")
		require.NoError(t, os.WriteFile(file, []byte(strings.NewReplacer(change...).Replace(string(data))), 0o644))
		return file
	}
	pretend := []string{`"cuda",`, `"pretend",`, `"by hand, not measured"`, `"Tesla T4"`, `"8.6"`, `"7.5"`,
		`"2.15.0+cu130"`, `"2.9.1+cu128"`}
	_, f, _ := runFlags(t)
	p, err := f.Platform(write(pretend...))
	require.NoError(t, err)
	assert.Equal(t, "t4", p.Device.Name)
	assert.Equal(t, "2.9.1", p.Torch.String())
	_, f, _ = runFlags(t, "--torch", "2.7")
	p, err = f.Platform(write(pretend...))
	require.NoError(t, err)
	assert.Equal(t, "2.7", p.Torch.String(), "what is given goes first")
	_, f, _ = runFlags(t)
	unknown := write()
	_, err = f.Platform(unknown)
	assert.ErrorContains(t, err, "got no --device: "+unknown+": it was recorded on \"by hand, not measured\"")
	_, err = f.Platform(filepath.Join("..", "..", "engine", "recording", "testdata", "records", "cpu.json"))
	assert.Equal(t, errNoDevice, err)

	_, f, _ = runFlags(t, "--device", "t4", "--torch", "1.2")
	_, err = f.Platform("")
	assert.ErrorContains(t, err, "--torch: ")
}

// Inputs are bound in the order of their flags, and an error names the flag.
func TestParseInputs(t *testing.T) {
	_, f, _ := runFlags(t, "--input", "x=float32[1]", "--input", "y=int64[2]")
	in, err := f.ParseInputs("m.pt")
	require.NoError(t, err)
	require.Len(t, in, 2)
	assert.Equal(t, []string{"x=float32[1]", "y=int64[2]"}, []string{in[0].String(), in[1].String()})
	_, f, _ = runFlags(t, "--input", "x=float32[1]", "--input", "y=")
	_, err = f.ParseInputs("m.pt")
	assert.ErrorContains(t, err, "--input y=: ")
	_, err = bindInputs(in, nil)
	assert.NoError(t, err)
	large, err := spec.ParseInput("z=float32[B,B]")
	require.NoError(t, err)
	_, err = bindInputs([]spec.Input{in[0], large}, map[string]int64{"B": 1 << 40})
	assert.ErrorContains(t, err, "--input z=float32[B,B]: ")
}
