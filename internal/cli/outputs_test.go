package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/format"
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
