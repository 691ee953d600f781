package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestColours(t *testing.T) {
	var b strings.Builder
	c := &colours{w: &b}
	for _, text := range []string{"PASS a\n", "FAIL b: PASS \n  FAIL c\n", "INCON", "CLUSIVE d\nWARN e\nERROR f\nPASSED g\n"} {
		n, err := c.Write([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, len(text), n)
	}
	assert.Equal(t, "\x1b[1;32mPASS\x1b[0m a\n\x1b[1;31mFAIL\x1b[0m b: PASS \n  FAIL c\nINCONCLUSIVE d\n\x1b[1;33mWARN\x1b[0m e\n\x1b[1;31mERROR\x1b[0m f\nPASSED g\n", b.String(),
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
