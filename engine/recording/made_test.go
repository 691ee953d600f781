package recording_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/recording"
)

func hashed(path, text string) recording.File {
	sum := sha256.Sum256([]byte(text))
	return recording.File{Path: path, SHA256: hex.EncodeToString(sum[:])}
}

func TestStale(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("models/zoo.py", "a = 1\nb = 2\n")
	write("models/parts.py", "c = 3\n")
	m := &recording.Made{Files: []recording.File{hashed("../models/parts.py", "c = 3\n"), hashed("../models/zoo.py", "a = 1\nb = 2\n")}}
	folder := filepath.Join(dir, ".memspec")
	for _, c := range []struct {
		why, text, want string
	}{
		{"as it was", "a = 1\nb = 2\n", ""},
		{"checked out with other ends of lines", "a = 1\r\nb = 2\r\n", ""},
		{"a line more", "a = 1\nb = 2\nc = 3\n", "has changed"},
		{"larger than any source", strings.Repeat("#", 16<<20+1), "has changed"},
	} {
		write("models/zoo.py", c.text)
		file, what, err := m.Stale(folder)
		require.NoError(t, err, c.why)
		assert.Equal(t, c.want, what, c.why)
		if c.want != "" {
			assert.Equal(t, filepath.Join(dir, "models", "zoo.py"), file)
		}
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "models", "parts.py")))
	file, what, err := m.Stale(folder)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "models", "parts.py")+" is gone", file+" "+what)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "models", "parts.py"), 0o755))
	_, what, err = m.Stale(folder)
	require.NoError(t, err)
	assert.Equal(t, "has changed", what, "a folder where a file was")
}

func TestStaleCannotTell(t *testing.T) {
	m := &recording.Made{Files: []recording.File{{Path: strings.Repeat("a", 1000), SHA256: strings.Repeat("0a", 32)}}}
	_, _, err := m.Stale(t.TempDir())
	assert.Error(t, err, "a name that no file can have: not gone, nor changed")
}

func TestMadeIsChecked(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for _, c := range []struct {
		files []recording.File
		want  string
	}{
		{[]recording.File{{"a.py", sum}, {"b/c.py", sum}}, ""},
		{[]recording.File{{"../../a.py", sum}}, ""},
		{[]recording.File{{"", sum}}, `file 0: got path "", want one relative`},
		{[]recording.File{{"/a.py", sum}}, `file 0: got path "/a.py", want one relative`},
		{[]recording.File{{`b\c.py`, sum}}, `want one relative to the folder, with slashes`},
		{[]recording.File{{"a/../b.py", sum}}, `got path "a/../b.py", want one relative`},
		{[]recording.File{{"a\x00.py", sum}}, `want one relative`},
		{[]recording.File{{"a.py", sum[1:]}}, "a.py: got sha256"},
		{[]recording.File{{"a.py", strings.ToUpper(sum)}}, "a.py: got sha256"},
		{[]recording.File{{"b.py", sum}, {"a.py", sum}}, `file 1: got "a.py" after "b.py", want them sorted, each once`},
		{[]recording.File{{"a.py", sum}, {"a.py", sum}}, `file 1: got "a.py" after "a.py"`},
		{[]recording.File{{"b.py", sum}, {"a.py", sum}, {"", sum}}, `file 1: got "a.py" after "b.py"`},
		{[]recording.File{{"b.py", "0"}, {"a.py", "0"}}, `file 0: b.py: got sha256 "0"`},
	} {
		err := (&recording.Made{Files: c.files}).Check()
		if c.want == "" {
			require.NoError(t, err, "%v", c.files)
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
	require.EqualError(t, (&recording.Made{Command: []string{"python", "\x1b[2J"}}).Check(), `got the word "\x1b[2J" in a command, want it printable: people read it`)
	require.EqualError(t, (&recording.Made{Command: []string{"a b", "\n", "\x00"}}).Check(), `got the word "\n" in a command, want it printable: people read it`)
	require.NoError(t, (&recording.Made{Command: make([]string, 1000)}).Check())
	require.EqualError(t, (&recording.Made{Command: make([]string, 1001)}).Check(), "got a command of 1001 words, want at most 1000")
	many := &recording.Made{}
	for i := range 10_001 {
		many.Files = append(many.Files, recording.File{Path: fmt.Sprintf("%05d.py", i), SHA256: sum})
	}
	require.EqualError(t, many.Check(), "got 10001 files, want at most 10000")
	many.Files = many.Files[:10_000]
	require.NoError(t, many.Check())
}
