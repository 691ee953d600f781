package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/verdict"
)

func TestColours(t *testing.T) {
	var b strings.Builder
	c := &colours{w: &b}
	for _, text := range []string{"PASS a\n", "FAIL b: PASS \n  FAIL c\n", "INCON", "CLUSIVE d\nWARN e\nERROR f\nPASSED " +
		"g\n"} {
		n, err := c.Write([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, len(text), n)
	}
	assert.Equal(t, "\x1b[1;32mPASS\x1b[0m a\n\x1b[1;31mFAIL\x1b[0m b: PASS \n  FAIL c\nINCONCLUSIVE d\n"+
		"\x1b[1;33mWARN\x1b[0m e\n\x1b[1;31mERROR\x1b[0m f\nPASSED g\n", b.String(),
		"the first word of a line, where it is an outcome")
}

// What a name brings along is gone before anything is coloured.
func TestNamesColourNothing(t *testing.T) {
	var b strings.Builder
	_, err := Printable{w: &colours{w: &b}, raw: &b, columns: 80, Failed: new(error)}.Write([]byte("FAIL \x1b[32mm\n"))
	require.NoError(t, err)
	assert.Equal(t, "\x1b[1;31mFAIL\x1b[0m \uFFFD[32mm\n", b.String())
}

func TestColoursAreForTerminals(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer f.Close()
	assert.False(t, coloured(f))
	assert.False(t, coloured(&bytes.Buffer{}))
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("got no terminal to open")
	}
	defer tty.Close()
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	assert.True(t, coloured(tty))
	t.Setenv("NO_COLOR", "1")
	assert.False(t, coloured(tty), "NO_COLOR")
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	assert.False(t, coloured(tty), "TERM=dumb")
}

func TestWidthOfStreams(t *testing.T) {
	for _, c := range []struct {
		columns string
		want    int
	}{{"", 80}, {"100", 100}, {"0", 80}, {"-4", 80}, {"wide", 80}} {
		t.Setenv("COLUMNS", c.columns)
		assert.Equal(t, c.want, NewPrintable(&bytes.Buffer{}).Columns(), c.columns)
	}
}

// A file that cannot be written is an error before anything is run, and nothing is left of it.
func TestOutputsThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "folder.json")
	require.NoError(t, os.Mkdir(folder, 0o700))
	for path, want := range map[string]string{
		filepath.Join(dir, "nowhere", "a.json"): "-o " + Shorten(filepath.Join(dir, "nowhere", "a.json")) +
			": no such file or directory",
		folder: "-o " + Shorten(folder) + ": got no regular file",
		filepath.Join(dir, "a.odd"): "-o " + Shorten(filepath.Join(dir, "a.odd")) + ": got no ending that x " +
			"writes, want one of ",
	} {
		cmd := &cobra.Command{Use: "x"}
		out := NewOutputs(cmd, format.Verdicts)
		require.NoError(t, cmd.ParseFlags([]string{"-o", path}))
		assert.ErrorContains(t, out.Open(1), want)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// outputsOf are the outputs of a command that was given these arguments.
func outputsOf(t *testing.T, w io.Writer, args ...string) *Outputs {
	t.Helper()
	cmd := &cobra.Command{Use: "x"}
	cmd.SetOut(w)
	out := NewOutputs(cmd, format.Verdicts|format.Timelines)
	require.NoError(t, cmd.ParseFlags(args))
	return out
}

// A document of one run is refused for any other number of cases, by the flag that asked for it.
func TestDocumentsOfOneRun(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args  []string
		cases int
		want  string
	}{
		{[]string{"--format", "snapshot"}, 1, ""},
		{[]string{"--format", "snapshot"}, 0,
			"--format snapshot: got 0 cases, want one: a snapshot document holds one run (--case names a case)"},
		{[]string{"-o", "a.json", "-o", "b.pickle"}, 2,
			"-o b.pickle: got 2 cases, want one: a snapshot document holds one run (--case names a case)"},
		{[]string{"--format", "snapshot", "-o", "b.pickle"}, 2,
			"--format snapshot: got 2 cases, want one: a snapshot document holds one run (--case names a case)"},
		{[]string{"-o", "a.json", "-o", "./a.json"}, 2, "-o ./a.json: got it twice"},
		{[]string{"-o", "a.json", "-o", "b.html"}, 2, ""},
	} {
		out := outputsOf(t, &bytes.Buffer{}, c.args...)
		err := out.Open(c.cases)
		if c.want == "" {
			require.NoError(t, err, c.args)
		} else {
			assert.EqualError(t, err, c.want)
		}
		out.Abandon()
		left, err := os.ReadDir(".")
		require.NoError(t, err)
		assert.Empty(t, left, c.args)
	}
}

// What the outputs need and are, and which of them is none of the formats that a command has.
func TestWhatOutputsAre(t *testing.T) {
	t.Chdir(t.TempDir())
	out := outputsOf(t, &bytes.Buffer{}, "-o", "a.json", "-o", "b.pickle")
	require.NoError(t, out.Open(1))
	defer out.Abandon()
	for name, want := range map[string]bool{"text": true, "json": true, "snapshot": true, "csv": false} {
		assert.Equal(t, want, out.Has(name), name)
	}
	assert.True(t, out.Need(format.Timelines))
	assert.Equal(t, "-o b.pickle", out.Other("text", "json"))
	assert.Equal(t, "--format text", out.Other("json", "snapshot"))
	assert.Empty(t, out.Other("text", "json", "snapshot"))
	plain := outputsOf(t, &bytes.Buffer{})
	require.NoError(t, plain.Open(7))
	assert.False(t, plain.Need(format.Timelines))
}

// With -q a case that is right has no line, every other one has, and so has the end.
func TestQuietText(t *testing.T) {
	var b bytes.Buffer
	out := outputsOf(t, &b, "-q")
	require.NoError(t, out.Open(4))
	for _, c := range []format.Case{{Line: "passes", Judged: true, Outcome: verdict.Pass},
		{Line: "fails", Judged: true, Outcome: verdict.Fail}, {Line: "judged by nothing", Outcome: verdict.Pass},
		{Line: "undecided", Judged: true, Outcome: verdict.Inconclusive}} {
		require.NoError(t, out.Add(&c))
	}
	require.NoError(t, out.End(&format.Summary{}))
	require.NoError(t, out.End(&format.Summary{Text: func(w io.Writer) error { return WriteLine(w, "end") }}))
	assert.Equal(t, "fails\njudged by nothing\nundecided\nend\n", b.String())
}

// An error of a file that is written says which it is; that of standard output says no more.
func TestErrorsOfOutputs(t *testing.T) {
	wrong := &os.PathError{Op: "write", Path: "a.json.7.tmp", Err: os.ErrClosed}
	assert.EqualError(t, (&sink{path: "a.json"}).reportError(wrong), "-o a.json: file already closed")
	assert.EqualError(t, (&sink{path: "a.json"}).reportError(errors.New("no")), "-o a.json: no")
	assert.Equal(t, wrong, (&sink{}).reportError(wrong))
	t.Chdir(t.TempDir())
	out := outputsOf(t, &bytes.Buffer{}, "-o", "a.csv", "-o", "b.json")
	require.NoError(t, out.Open(1))
	require.NoError(t, out.sinks[1].file.Close())
	err := out.End(&format.Summary{JSON: 1})
	assert.EqualError(t, err, "-o a.csv: file already closed")
	out.Abandon()
	assert.FileExists(t, "b.json", "it was whole")
	assert.NoFileExists(t, "a.csv")
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Len(t, left, 1)

	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("got no terminal to open")
	}
	defer tty.Close()
	assert.EqualError(t, outputsOf(t, tty, "--format", "pprof").Open(1),
		"--format pprof: got a terminal, want a pipe, or -o FILE.pb.gz")
}

// A file that must not be written is not replaced either; one that may be keeps its mode.
func TestModesOfOutputs(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.json", []byte("old"), 0o600))
	require.NoError(t, os.Chmod("a.json", 0o640))
	out := outputsOf(t, &bytes.Buffer{}, "-o", "a.json")
	require.NoError(t, out.Open(1))
	require.NoError(t, out.End(&format.Summary{JSON: 1}))
	data, err := os.ReadFile("a.json")
	require.NoError(t, err)
	assert.Equal(t, "1\n", string(data))
	info, err := os.Stat("a.json")
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), info.Mode().Perm())
}
