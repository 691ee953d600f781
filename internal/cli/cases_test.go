package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/spec"
)

// specFile is a memspec.yaml in a separate folder, with cases of one dim on a t4.
func specFile(t *testing.T, names ...string) string {
	t.Helper()
	text := "version: 1\nmodels:\n"
	for _, name := range names {
		text += fmt.Sprintf("  '%s': {artifact: m.pt2, device: t4, inputs: {x: 'float32[B]'}, dims: {B: 1}, budget: {}}\n",
			name)
	}
	path := filepath.Join(t.TempDir(), "memspec.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

func namesOf(cases []spec.Case) []string {
	var names []string
	for i := range cases {
		names = append(names, cases[i].Name)
	}
	return names
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "", false}, {"*", "", true}, {"**", "ab", true}, {"?", "", false},
		{"?", "é", true}, {"??", "a", false},
		{"a*c", "abbc", true}, {"a*c", "abcb", false}, {"a*b*c", "aXbYbc", true}, {"a*b", "ab", true}, {"*a", "ba", true},
		{"*a", "ab", false},
		{"a[1]", "a[1]", true}, {"a[1]", "a1", false}, {`a\*`, `a\x`, true}, {"a*?", "a", false}, {"a*?", "ab", true},
		{"*ab?c", "aabababxc", true},
	} {
		assert.Equal(t, c.want, match(c.pattern, c.name), "%s %s", c.pattern, c.name)
	}
}

func TestNamedCases(t *testing.T) {
	cases, err := spec.Load(specFile(t, "a*", "ab", "ac", "d", "e", "f", "g"))
	require.NoError(t, err)
	for _, c := range []struct {
		patterns, want []string
	}{
		{nil, []string{"a*", "ab", "ac", "d", "e", "f", "g"}},
		{[]string{"a*"}, []string{"a*"}}, // an exact name is no pattern
		{[]string{"a?"}, []string{"a*", "ab", "ac"}},
		{[]string{"g", "?b"}, []string{"ab", "g"}},
	} {
		got, err := named([]string{"f"}, c.patterns, cases)
		require.NoError(t, err)
		assert.Equal(t, c.want, namesOf(got))
	}
	_, err = named([]string{"f", "g"}, []string{"a?", "zzz"}, cases)
	assert.EqualError(t, err, `f, g: got no case "zzz", want one of a*, ab, ac, d, e, 2 more`)
	_, err = named([]string{"f"}, []string{"zzz"}, cases[:5])
	assert.EqualError(t, err, `f: got no case "zzz", want one of a*, ab, ac, d, e`)
}

// Cases that differ by their device alone are one on another.
func TestOnDevice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memspec.yaml")
	require.NoError(t,
		os.WriteFile(file, []byte("version: 1\nmodels:\n  m: {artifact: m.pt2, device: [t4, a10g], budget: {}}\n"), 0o666))
	cases, err := spec.Load(file)
	require.NoError(t, err)
	require.Len(t, cases, 2)
	same, err := OnDevice(cases, "")
	require.NoError(t, err)
	assert.Equal(t, cases, same)
	one, err := OnDevice(cases, "l4")
	require.NoError(t, err)
	require.Len(t, one, 1)
	assert.Equal(t, "l4", one[0].Platform.Device.Name)
	_, err = OnDevice(cases, "l5")
	assert.ErrorContains(t, err, `--device: got device "l5"`)
}

func TestWithLines(t *testing.T) {
	cases, err := spec.Load(specFile(t, "a", "b"))
	require.NoError(t, err)
	same, err := WithLines(cases, nil)
	require.NoError(t, err)
	assert.Equal(t, cases, same)
	changed, err := WithLines(cases, []string{"dims: {B: 3}"})
	require.NoError(t, err)
	assert.Equal(t, []spec.Dim{{Name: "B", Value: 3}}, changed[1].Dims)
	_, err = WithLines(cases, []string{"nothing: 2"})
	assert.Error(t, err)
}

// Every case is in one part, whatever else the file holds.
func TestShard(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}
	cases, err := spec.Load(specFile(t, names...))
	require.NoError(t, err)
	for i := range cases {
		cases[i].Pos.File = "x/memspec.yaml"
	}
	var all []string
	for _, part := range []string{"1/3", "2/3", "3/3"} {
		got, err := Shard(cases, part)
		require.NoError(t, err)
		assert.NotEmpty(t, got)
		all = append(all, namesOf(got)...)
		for i := range got {
			alone, err := Shard(got[i:i+1], part)
			require.NoError(t, err)
			assert.Len(t, alone, 1)
		}
	}
	assert.ElementsMatch(t, names, all)
	whole, err := Shard(cases, "1/1")
	require.NoError(t, err)
	assert.Equal(t, names, namesOf(whole))
	whole, err = Shard(cases, "")
	require.NoError(t, err)
	assert.Equal(t, names, namesOf(whole))
	for _, text := range []string{"0/3", "4/3", "1", "1/", "/3", "a/3", "1/b", "1/3/5", "-1/3"} {
		_, err := Shard(cases, text)
		assert.EqualError(t, err, fmt.Sprintf("--shard: got %q, want a part of several such as 2/8", text))
	}
}

func TestSpecFiles(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"memspec.yaml", "a/memspec.yml", "a/b/memspec.yaml", "a/other.yaml",
		".hidden/memspec.yaml",
		"node_modules/memspec.yaml", "a/testdata/memspec.yaml", "c/.git/x", "empty/x"} {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte("version: 1\nmodels: []\n"), 0o666))
	}
	t.Chdir(root)
	for _, c := range []struct {
		args, want []string
		err        string
	}{
		{args: nil, want: []string{"memspec.yaml"}},
		{args: []string{"."}, want: []string{"a/b/memspec.yaml", "a/memspec.yml", "memspec.yaml"}},
		{args: []string{"a/b", "a"}, want: []string{"a/b/memspec.yaml", "a/memspec.yml"}},
		{args: []string{"a/testdata"}, want: []string{"a/testdata/memspec.yaml"}},
		{args: []string{"a/other.yaml", "none.yaml"}, want: []string{"a/other.yaml", "none.yaml"}},
		{args: []string{"a/*.y*ml"}, want: []string{"a/memspec.yml", "a/other.yaml"}},
		{args: []string{"[a]"}, want: []string{"a/b/memspec.yaml", "a/memspec.yml"}},
		{args: []string{"z*"}, err: "z*: got no file of that pattern"},
		{args: []string{"[z"}, err: "[z: syntax error in pattern"},
		{args: []string{"empty"}, err: "empty: got no memspec.yaml or memspec.yml in that folder or beneath it"},
		{args: []string{"e*"}, err: "empty: got no memspec.yaml or memspec.yml in that folder or beneath it"},
	} {
		got, err := SpecFiles(c.args)
		if c.err != "" {
			assert.EqualError(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.want, got, c.args)
	}
	_, err := SpecFile([]string{"a"})
	assert.EqualError(t, err, "got 2 files of cases, such as a/b/memspec.yaml and a/memspec.yml, want one")

	t.Chdir("a/testdata")
	require.NoError(t, os.Remove("memspec.yaml"))
	near, err := SpecFile(nil)
	require.NoError(t, err)
	assert.Equal(t, "../memspec.yml", near)
	t.Chdir("../../c")
	_, err = SpecFile(nil)
	assert.EqualError(t, err, "memspec.yaml: no such file here or above in the repository; memspec init writes one",
		"the repository ends here")
}

func TestUnreadableSpecs(t *testing.T) {
	good, bad, worse := specFile(t, "a"), specFile(t, "b"), specFile(t, "c")
	require.NoError(t, os.WriteFile(bad, []byte("version: 1\nmodels: 3\n"), 0o666))
	require.NoError(t, os.WriteFile(worse, []byte("version: 1\nmodels: 4\n"), 0o666))
	files := []string{bad, good, worse}
	cases, wrong, err := LoadReadable(files, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, namesOf(cases))
	assert.Equal(t, []string{good}, Readable(files, wrong))
	_, err = LoadCases(files, nil)
	lines := ErrorLines(err)
	require.Len(t, lines, 2, "all that is wrong with all of them")
	assert.Contains(t, lines[0], bad+":2:")
	assert.Contains(t, lines[1], worse+":2:")
	_, err = LoadCases([]string{"none.yaml", good}, nil)
	assert.EqualError(t, err, "none.yaml: no such file or directory")
	cases, err = CasesOf([]string{good}, []string{"a"})
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, namesOf(cases))
}
