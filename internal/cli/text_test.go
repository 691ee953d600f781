package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/engine/workspace/profile"
)

func TestTexts(t *testing.T) {
	assert.Equal(t, "0 cases, 1 case, 2 cases", Plural(0, "case")+", "+Plural(1, "case")+", "+Plural(2, "case"))
	assert.Equal(t, "a", OneLine(" a\n"))
	assert.Equal(t, "a; b; c", OneLine("a \r\n b\n\nc"))
	assert.Equal(t, strings.Repeat("é", 200), Shorten(strings.Repeat("é", 200)))
	assert.Equal(t, strings.Repeat("é", 200)+"…", Shorten(strings.Repeat("é", 201)))
	assert.Equal(t, "a.yaml:3", LineOf(verdict.Pos{File: "a.yaml", Line: 3, Col: 4}))
	var counts [verdict.Error + 1]int
	counts[verdict.Pass], counts[verdict.Fail], counts[verdict.Error] = 3, 1, 2
	assert.Equal(t, "3 pass, 1 fail, 2 error", CountsText(&counts))
	assert.Equal(t, 0, RowsShown(true))
	assert.Equal(t, report.ShortRows, RowsShown(false))
	assert.Equal(t, ExitUnsure, EstimateExit(&report.Report{Quality: report.Incomplete}))
	assert.Equal(t, ExitOK, EstimateExit(&report.Report{Quality: report.Bound}))
}

func TestExits(t *testing.T) {
	wrong := errors.New("wrong")
	assert.NoError(t, ExitWith(ExitOK))
	assert.EqualError(t, ExitWith(ExitBroken), "exit 1")
	assert.ErrorIs(t, &Exit{Code: ExitUnsure, Err: wrong}, wrong)
	assert.EqualError(t, &Exit{Code: ExitUnsure, Err: wrong}, "wrong")
	assert.Equal(t, ExitUnsure, ExitCodeOf(fmt.Errorf("a: %w", &Exit{Code: ExitUnsure})))
	assert.Equal(t, ExitUsage, ExitCodeOf(wrong))
	assert.Equal(t, exitInterrupted, ExitCodeOf(Interrupted(1, 2)))
	assert.EqualError(t, Interrupted(1, 2), "interrupted: 1 of 2 cases done")

	_, gone := os.Open("none")
	for _, c := range []struct {
		err  error
		want []string
	}{
		{nil, nil},
		{errors.New("a\nb"), []string{"a; b"}},
		{gone, []string{"none: no such file or directory"}},
		{spec.Errors{{Msg: "a"}, {Msg: "b"}}, strings.Split(spec.Errors{{Msg: "a"}, {Msg: "b"}}.Error(), "\n")},
		{&exec.InputError{Msg: "got no x"}, []string{"got no x"}},
		{&exec.InputError{Msg: "got no x", Missing: []string{"x", "y"}},
			[]string{"got no x; give each, as in --input 'x=float32[1,3,224,224]', or let memspec init guess"}},
	} {
		assert.Equal(t, c.want, ErrorLines(c.err))
	}

	check := WantArgs(1, 2, "FILE")
	cmd := &cobra.Command{Use: "strip"}
	for n, ok := range []bool{false, true, true, false} {
		err := check(cmd, make([]string, n))
		if ok {
			assert.NoError(t, err)
			continue
		}
		assert.EqualError(t, err, fmt.Sprintf("strip: got %d arguments, want FILE, see `strip --help`", n))
	}
}

// A file is replaced whole with the mode that it had, and one that cannot be leaves nothing behind.
func TestWriteWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	require.NoError(t, os.Chmod(path, 0o640))
	require.NoError(t, WriteWhole(path, []byte("new")))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "new", string(data))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	folder := filepath.Join(dir, "folder")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "x"), 0o700))
	assert.ErrorContains(t, WriteWhole(folder, nil), folder+": ")
	none := filepath.Join(dir, "none", "f")
	assert.EqualError(t, WriteWhole(none, nil), none+": no such file or directory")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 2)
	assert.True(t, Exists(folder))
	assert.False(t, isFile(folder))
	assert.True(t, isFile(path))
	assert.False(t, Exists(none))
}

// Calls are listed once, by who has to answer for them.
func TestWorkspaceLists(t *testing.T) {
	on := func(torch, device string) *spec.Case {
		_, f, _ := runFlags(t, "--device", device, "--torch", torch)
		p, err := f.Platform("")
		require.NoError(t, err)
		return &spec.Case{Platform: p}
	}
	by := func(library, version, class string) profile.Answerer {
		return profile.Answerer{Library: library, Version: version, Class: class}
	}
	b1, a2, a1 := by("b", "1", "sm75"), by("a", "2", "sm75"), by("a", "1", "sm80")
	two, one := profile.Call{Op: "conv", Direction: "forward"}, profile.Call{Op: "conv", Direction: "dgrad"}
	s := NewWorkspaceJSON("m.yaml")
	s.Add(on("2.6", "t4"), []engine.LibraryCall{{By: b1, Call: two}, {By: b1, Call: one},
		{By: a2, Call: two, Answered: a2}}, false)
	s.Add(on("2.7", "t4"), []engine.LibraryCall{{By: b1, Call: two}, {By: a1, Call: two}}, false)
	s.Sort()
	require.Len(t, s.Groups, 3)
	assert.Equal(t, []profile.Answerer{a1, a2, b1}, []profile.Answerer{s.Groups[0].Answerer, s.Groups[1].Answerer,
		s.Groups[2].Answerer})
	assert.Equal(t, []profile.Call{one, two}, s.Groups[2].Calls)
	var b strings.Builder
	require.NoError(t, s.WriteText(&b, true))
	assert.Contains(t, b.String(), "b 1 for sm75 (torch 2.6, 2.7; t4): 2 calls\n  "+one.Key()+"\n  "+two.Key()+
		"\nto ask for them: python -m memshim workspace m.yaml\n")
	assert.Contains(t, b.String(), "a 1 for sm80 (torch 2.7; t4): 1 call\n")

	s = NewWorkspaceJSON("m.yaml")
	s.Add(on("2.6", "t4"), []engine.LibraryCall{{By: a2, Call: two, Answered: a2}}, true)
	assert.Empty(t, s.Groups, "it has an answer")
	b.Reset()
	require.NoError(t, s.WriteText(&b, true))
	assert.Equal(t, "m.yaml: no library call is without an answer\n", b.String())
	s.Errors = []WorkspaceError{{}}
	b.Reset()
	require.NoError(t, s.WriteText(&b, true))
	assert.Empty(t, b.String())

	p := platform.Platform{Torch: platform.Version{Major: 2, Minor: 6}, CuDNN: platform.Version{Major: 9, Minor: 1,
		Patch: 0, Build: 70}}
	assert.Equal(t, "nvidia-cudnn-cu12==9.1.0.70", wheel(&p))
	p.CuDNN.Build = 0
	assert.Equal(t, "nvidia-cudnn-cu12==9.1.0.*", wheel(&p))
}
