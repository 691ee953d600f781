package recording_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/recording"
)

func hashed(path, text string) recording.File {
	sum := sha256.Sum256([]byte(text))
	return recording.File{Path: path, SHA256: hex.EncodeToString(sum[:])}
}

func TestChanges(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	data := func(path, text string) recording.Data {
		return recording.Data{Path: path, SHA256: hashed(path, text).SHA256}
	}
	nine := int64(9)
	m := &recording.Made{
		Files: []recording.File{hashed("../models/parts.py", "c = 3\n"), hashed("../models/zoo.py", "a = 1\nb = 2\n")},
		Read: []recording.Data{data("../conf/a.json", "{}"), {Path: "../conf/weights.bin", Size: &nine},
			{Path: "../local.ini", SHA256: hashed("", "x").SHA256, Ignored: true}},
		Folders: []recording.Listing{{Path: "../conf", Suffixes: []string{".json"}, SHA256: hashed("", "a.json").SHA256},
			{Path: "../models", SHA256: hashed("", "parts.py\nzoo.py").SHA256}},
		Variables: map[string]string{"WIDTH": recording.HashVariable("WIDTH", "8"), "DEPTH": ""},
	}
	fresh := func() {
		require.NoError(t, os.RemoveAll(dir))
		write("models/zoo.py", "a = 1\nb = 2\n")
		write("models/parts.py", "c = 3\n")
		write("conf/a.json", "{}")
		write("conf/weights.bin", "ninebytes")
	}
	place := recording.Place{Folder: at(".memspec"), Roots: []string{dir}, Dir: dir,
		Environ: []string{"WIDTH=8", "PATH=/bin"}}
	for _, tt := range []struct {
		why  string
		edit func(p *recording.Place)
		want []string
	}{
		{"as it was", func(*recording.Place) {}, nil},
		{"checked out with other ends of lines", func(*recording.Place) { write("models/zoo.py", "a = 1\r\nb = 2\r\n") },
			nil},
		{"a carriage return that ends no line", func(*recording.Place) { write("models/zoo.py", "a = 1\n\rb = 2\n") },
			[]string{at("models/zoo.py") + " has changed"}},
		{"a line more", func(*recording.Place) { write("models/zoo.py", "a = 1\nb = 2\nc = 3\n") },
			[]string{at("models/zoo.py") + " has changed"}},
		{"other text of the same length", func(*recording.Place) { write("models/zoo.py", "a = 1\nb = 3\n") },
			[]string{at("models/zoo.py") + " has changed"}},
		{"a source is gone", func(*recording.Place) { require.NoError(t, os.Remove(at("models/parts.py"))) },
			[]string{at("models/parts.py") + " is gone", at("models") + " has other files"}},
		{"a folder where a file was", func(*recording.Place) {
			require.NoError(t, os.Remove(at("models/parts.py")))
			require.NoError(t, os.Mkdir(at("models/parts.py"), 0o755))
		}, []string{at("models/parts.py") + " has changed"}},
		{"a configuration", func(*recording.Place) {
			write("conf/a.json", "[]")
		}, []string{at("conf/a.json") + " has changed"}},
		{"one that does not count", func(p *recording.Place) {
			write("conf/a.json", "[]")
			p.Depends.Ignore = []string{"conf/**"}
		}, nil},
		{"a large file of another size", func(*recording.Place) { write("conf/weights.bin", "ten bytes.") },
			[]string{at("conf/weights.bin") + " has changed"}},
		{"a large file of the same size", func(*recording.Place) { write("conf/weights.bin", "9 letters") }, nil},
		{"a file that git ignores and that is another", func(*recording.Place) {
			write("local.ini", "y")
		}, []string{at("local.ini") + " has changed"}},
		{"one more that the glob finds", func(*recording.Place) {
			write("conf/b.json", "{}")
		}, []string{at("conf") + " has other files"}},
		{"one more in two folders", func(*recording.Place) { write("conf/b.json", "{}"); write("models/b.py", "") },
			[]string{at("conf") + " has other files", at("models") + " has other files"}},
		{"one more that it does not find", func(*recording.Place) { write("conf/README.md", "") }, nil},
		{"a hidden one", func(*recording.Place) { write("models/.cache", ""); write("models/__pycache__/a.pyc", "") }, nil},
		{"a variable", func(p *recording.Place) { p.Environ = []string{"WIDTH=9"} }, []string{"variable WIDTH has changed"}},
		{"a variable that is set now", func(p *recording.Place) { p.Environ = append(slices.Clip(p.Environ), "DEPTH=") },
			[]string{"variable DEPTH has changed"}},
		{"a variable that is not set", func(p *recording.Place) {
			p.Environ = []string{}
		}, []string{"variable WIDTH has changed"}},
		{"variables that do not count", func(p *recording.Place) {
			p.Environ = []string{}
			p.Depends.Ignore = []string{"$W*"}
		}, nil},
		{"variables that are not known", func(p *recording.Place) { p.Environ = nil }, nil},
		{"files that count as well", func(p *recording.Place) {
			write("extra/deep/new.yaml", "")
			p.Depends.Also = []string{"extra/**/*.yaml", "none/**"}
		},
			[]string{at("extra/deep/new.yaml") + " is new"}},
		{"a file that one pattern of two finds", func(p *recording.Place) {
			write("extra/new.yaml", "")
			p.Depends.Also = []string{"extra/*", "extra/*.yaml", "extra/new.yaml"}
		}, []string{at("extra/new.yaml") + " is new"}},
		{"files under a pattern that count for nothing", func(p *recording.Place) {
			for _, name := range []string{"memspec.yaml", "a.pyc", ".git/a", "node_modules/a/b", "x/__pycache__/a", "b.txt"} {
				write("extra/"+name, "")
			}
			require.NoError(t, os.Symlink("b.txt", at("extra/link")))
			p.Depends.Also, p.Depends.Ignore = []string{"extra/**"}, []string{"extra/b.txt"}
		}, nil},
		{"a pattern of files outside of it", func(p *recording.Place) {
			p.Depends.Also = []string{"../elsewhere/*.json", "../other/a.json"}
		}, []string{"../../elsewhere lies outside of the repository, and may have changed",
			"../../other/a.json lies outside of the repository, and may have changed"}},
		{"files that count and were known", func(p *recording.Place) {
			p.Depends.Also = []string{"models/**", "conf/a.json"}
		}, nil},
		{"the repository is elsewhere", func(p *recording.Place) {
			p.Roots = []string{at("models")}
			p.Depends.Ignore = []string{"conf/**", "local.ini"}
		},
			nil},
		{"a file outside of it", func(p *recording.Place) {
			p.Roots = []string{at("conf")}
			p.Depends.Ignore = []string{"models/zoo.py", "conf", "local.ini"}
		},
			[]string{"../models/parts.py lies outside of the repository, and may have changed",
				"../models lies outside of the repository, and may have changed"}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			fresh()
			p := place
			tt.edit(&p)
			got, err := m.Changes(p)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

// What is hashed is bounded over all files: names of one large file many times are no work.
func TestChangesAreBounded(t *testing.T) {
	golden.NeedsWhole(t, "256 MiB are read")
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "large"))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(200<<20))
	require.NoError(t, f.Close())
	m := &recording.Made{}
	sum := strings.Repeat("0a", 32)
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.Symlink("large", filepath.Join(dir, name)))
		m.Read = append(m.Read, recording.Data{Path: name, SHA256: sum})
	}
	got, err := m.Changes(recording.Place{Folder: dir, Roots: []string{dir}, Dir: dir})
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "a") + " has changed", filepath.Join(dir, "b") + " may have changed: " +
		"more than 256 MiB are not compared"}, got)
}

// A link that leads out of the repository is not followed: what is said of it does not depend on
// what is there.
func TestLinksOutOfTheRepositoryAreNotFollowed(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("x"), 0o600))
	for link, to := range map[string]string{"file": filepath.Join(outside, "secret"), "folder": outside,
		"nothing": filepath.Join(outside, "none"), "inside": "real"} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "real"), []byte("x"), 0o600))
	size := int64(1)
	for path, want := range map[string][]string{
		"file":          {"file lies outside of the repository, and may have changed"},
		"folder/secret": {"folder/secret lies outside of the repository, and may have changed"},
		"folder/none":   {"folder/none lies outside of the repository, and may have changed"},
		"nothing":       {"nothing lies outside of the repository, and may have changed"},
		"inside":        nil, "none": {filepath.Join(dir, "none") + " is gone"},
	} {
		m := &recording.Made{Read: []recording.Data{{Path: path, Size: &size}}}
		got, err := m.Changes(recording.Place{Folder: dir, Roots: []string{dir}, Dir: dir})
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	m := &recording.Made{Folders: []recording.Listing{{Path: "folder", SHA256: strings.Repeat("0a", 32)}}}
	got, err := m.Changes(recording.Place{Folder: dir, Roots: []string{dir}, Dir: dir})
	require.NoError(t, err)
	assert.Equal(t, []string{"folder lies outside of the repository, and may have changed"}, got)
}

// A memspec.yaml of 1 MiB may have a thousand patterns of many wildcards, and a recording may name
// ten thousand files.
func TestPatternsTakeABoundedTime(t *testing.T) {
	golden.NeedsWhole(t, "the most work that patterns may be")
	dir := t.TempDir()
	m := &recording.Made{}
	for i := range 10_000 {
		m.Read = append(m.Read, recording.Data{Path: fmt.Sprintf("%s%05d", strings.Repeat("a", 190), i),
			SHA256: strings.Repeat("0a", 32)})
	}
	changes := func(patterns ...string) error {
		_,
			err := m.Changes(recording.Place{Folder: dir, Roots: []string{dir}, Dir: dir,
			Depends: recording.Depends{Ignore: patterns}})
		return err
	}
	require.NoError(t, changes(slices.Repeat([]string{"data/**/*.json"}, 10)...))
	assert.ErrorContains(t, changes(slices.Repeat([]string{strings.Repeat("**a", 300) + "b"}, 1000)...),
		"got too many files for the patterns of depends")
	for i := range 100 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s%05d", strings.Repeat("a", 190), i)), nil, 0o600))
	}
	also := recording.Place{Folder: dir, Roots: []string{dir}, Dir: dir,
		Depends: recording.Depends{Also: slices.Repeat([]string{strings.Repeat("**a", 300) + "b"}, 100)}}
	_, err := (&recording.Made{}).Changes(also)
	assert.ErrorContains(t, err, "got too many files for the patterns of depends")
	also.Depends = recording.Depends{Also: slices.Repeat([]string{strings.Repeat("b/", 200) + "b"}, 100),
		Ignore: slices.Repeat([]string{strings.Repeat("**a", 300) + "b"}, 1000)}
	_, err = (&recording.Made{}).Changes(also)
	assert.ErrorContains(t, err, "got too many files for the patterns of depends", "of a pattern itself")
}

// A \r\n is a \n wherever the pieces that are read end.
func TestEndsOfLinesAcrossReads(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ text, like string }{
		{strings.Repeat("a", 32<<10-1) + "\r\nb\r", strings.Repeat("a", 32<<10-1) + "\nb\r"}, {"\r\r\n\n\r", "\r\n\n\r"},
		{"a\rb", "a\rb"},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "x"), []byte(tt.text), 0o600))
		m := &recording.Made{Files: []recording.File{hashed("x", tt.like)}}
		got, err := m.Changes(recording.Place{Folder: dir, Roots: []string{dir}, Dir: dir})
		require.NoError(t, err)
		assert.Empty(t, got)
	}
}

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		pattern, path string
		want          bool
	}{
		{"data/**", "data/a/b.json", true}, {"data/**", "data", false}, {"data/**", "mydata/a", false},
		{"data", "data/a/b", true}, {"data/", "data/a", true}, {"data", "data2", false},
		{"*.json", "a.json", true}, {"*.json", "conf/a.json", false}, {"**/*.json", "a.json", true},
		{"**/*.json", "x/y/a.json", true}, {"conf/?.yaml", "conf/a.yaml", true},
		{"conf/?.yaml", "conf/ab.yaml", false}, {"../shared/**", "../shared/x", true}, {"a+b.(x)", "a+b.(x)", true},
		{"a.b", "axb", false}, {"**", "any/thing", true},
	} {
		assert.Equal(t, tt.want, recording.Matches(tt.pattern, tt.path), "%s of %s", tt.pattern, tt.path)
	}
}

func TestChangesCannotBeFound(t *testing.T) {
	m := &recording.Made{Files: []recording.File{{Path: strings.Repeat("a", 1000), SHA256: strings.Repeat("0a", 32)}}}
	dir := t.TempDir()
	_, err := m.Changes(recording.Place{Folder: dir, Roots: []string{dir}, Dir: dir})
	assert.Error(t, err, "a name that no file can have: not gone, nor changed")
	also := recording.Place{Folder: dir, Roots: []string{dir}, Dir: dir,
		Depends: recording.Depends{Also: []string{strings.Repeat("a", 1000)}}}
	_, err = (&recording.Made{}).Changes(also)
	assert.Error(t, err, "nor one that files may have")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	m = &recording.Made{Folders: []recording.Listing{{Path: "file", SHA256: strings.Repeat("0a", 32)}}}
	_, err = m.Changes(recording.Place{Folder: dir, Roots: []string{dir}, Dir: dir})
	assert.ErrorContains(t, err, file, "a file where a folder was")
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
	three, less := int64(3), int64(-1)
	for _, c := range []struct {
		made recording.Made
		want string
	}{
		{recording.Made{Read: []recording.Data{{Path: "a", SHA256: sum}, {Path: "b", Size: &three}},
			Folders:   []recording.Listing{{Path: "a", SHA256: sum}},
			Variables: map[string]string{"A": "0123456789abcdef", "B": ""}, Packages: map[string]string{"a": "1.0"}}, ""},
		{recording.Made{Read: []recording.Data{{Path: "a", SHA256: sum}, {Path: "/b", Size: &three}}},
			`read 1: got path "/b"`},
		{recording.Made{Read: []recording.Data{{Path: "/a", SHA256: sum}}}, `read 0: got path "/a"`},
		{recording.Made{Read: []recording.Data{{Path: "a", SHA256: "0"}}}, `read 0: a: got sha256 "0"`},
		{recording.Made{Read: []recording.Data{{Path: "a"}}}, "read 0: a: want either sha256 or size"},
		{recording.Made{Read: []recording.Data{{Path: "a", SHA256: sum, Size: &three}}},
			"read 0: a: want either sha256 or size"},
		{recording.Made{Read: []recording.Data{{Path: "a", Size: &less}}}, "read 0: a: want either sha256 or size"},
		{recording.Made{Folders: []recording.Listing{{Path: "a", SHA256: sum}, {Path: "b"}}}, `folder 1: b: got sha256 ""`},
		{recording.Made{Variables: map[string]string{"A": "0123456789abcde"}}, `variable "A": got "0123456789abcde"`},
		{recording.Made{Variables: map[string]string{"A": "0123456789abcdeg"}}, `variable "A": got`},
		{recording.Made{Variables: map[string]string{"A": "01234567"}}, `variable "A": got "01234567"`},
		{recording.Made{Variables: map[string]string{"A\n": ""}}, `variable "A\n": got ""`},
		{recording.Made{Variables: map[string]string{"": ""}}, `variable "": got ""`},
		{recording.Made{Packages: map[string]string{"a": ""}}, `package "a": got release ""`},
		{recording.Made{Packages: map[string]string{"a\x1b": "1"}}, `package "a\x1b": got release "1", want both printable`},
		{recording.Made{Read: make([]recording.Data, 10_001)}, "got 10001 files that were read, want at most 10000"},
	} {
		err := c.made.Check()
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
	require.EqualError(t, (&recording.Made{Command: []string{"python", "\x1b[2J"}}).Check(),
		`got the word "\x1b[2J" in a command, want it printable: people read it`)
	require.EqualError(t, (&recording.Made{Command: []string{"a b", "\n", "\x00"}}).Check(),
		`got the word "\n" in a command, want it printable: people read it`)
	require.NoError(t, (&recording.Made{Command: make([]string, 1000)}).Check())
	require.EqualError(t, (&recording.Made{Command: make([]string, 1001)}).Check(), "got a command of 1001 words, want "+
		"at most 1000")
	many := &recording.Made{}
	for i := range 10_001 {
		many.Files = append(many.Files, recording.File{Path: fmt.Sprintf("%05d.py", i), SHA256: sum})
	}
	require.EqualError(t, many.Check(), "got 10001 files, want at most 10000")
	many.Files = many.Files[:10_000]
	require.NoError(t, many.Check())
}
