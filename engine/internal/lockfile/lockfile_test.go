package lockfile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/lockfile"
	"github.com/memspec/memspec/engine/internal/testing/golden"
)

const uv = `version = 1
requires-python = ">=3.10"

[[package]]
name = "numpy"
version = "2.2.6"
source = { registry = "https://pypi.org/simple" }
resolution-markers = [
    "python_full_version < '3.11'",
]

[[package]]
name = "numpy"
version = "2.4.1"

[[package]]
name = "Typing_Extensions"
version = "4.16.0"
dependencies = [
    { name = "torch", version = "1.0" },
]

[package.metadata]
version = "9"
`

func TestFind(t *testing.T) {
	files := map[string]string{
		"uv.lock": uv, "poetry.lock": "[[package]]\nname = \"torch\"\nversion = \"2.14.0\"\n\n[metadata]\nversion = \"1\"\n",
		"requirements.txt": "# pinned\ntorch==2.15.0 ; python_version >= '3.10' \\\n    --hash=sha256:00\n" +
			"transformers[torch] == 5.22.0  # why\nnumpy>=2\n-r other.txt\n",
		"requirements-dev.txt": "pytest==9.*\r\ntorch==2.15.0\r\n", "notes.txt": "numpy==1", "loose.txt": "",
	}
	read := func(name string) ([]byte, error) { return []byte(files[name]), nil }
	for _, tt := range []struct {
		names []string
		want  string
		of    map[string][]string
	}{
		{[]string{"uv.lock", "poetry.lock", "requirements.txt"}, "uv.lock",
			map[string][]string{"numpy": {"2.2.6", "2.4.1"}, "typing-extensions": {"4.16.0"}, "torch": nil}},
		{[]string{"poetry.lock", "requirements.txt"}, "poetry.lock", map[string][]string{"torch": {"2.14.0"}, "": nil}},
		{[]string{"notes.txt", "requirements.txt", "requirements-dev.txt"}, "requirements-dev.txt, requirements.txt",
			map[string][]string{"torch": {"2.15.0"}, "Transformers": {"5.22.0"}, "numpy": nil, "pytest": {"9.*"}, "-r": nil}},
	} {
		l, err := lockfile.Find(tt.names, read)
		require.NoError(t, err)
		require.NotNil(t, l)
		assert.Equal(t, tt.want, l.Name)
		for name, want := range tt.of {
			assert.Equal(t, want, l.Releases(name), "%s: %s", tt.want, name)
		}
	}
	l, err := lockfile.Find([]string{"notes.txt"}, read)
	require.NoError(t, err)
	assert.Nil(t, l)
	files["requirements.txt"] = "numpy>=2\n"
	l, err = lockfile.Find([]string{"requirements.txt"}, read)
	require.NoError(t, err)
	assert.Nil(t, l, "it pins nothing")
	_, err = lockfile.Find([]string{"uv.lock"}, func(string) ([]byte, error) { return nil, errors.New("unreadable") })
	assert.EqualError(t, err, "unreadable")
}

func TestSame(t *testing.T) {
	for _, tt := range []struct {
		release, pin string
		want         bool
	}{
		{"5.23.0", "5.23.0", true}, {"5.23.0", "5.23", true}, {"5.23", "5.23.0", true}, {"5.23.1", "5.23", false},
		{"5.2", "5.20", false}, {"10", "1", false},
		{"2.15.0+cu132", "2.15.0", true}, {"2.15.0", "2.15.0+cu132", true}, {"2.15.0+cu132", "2.15.0+cpu", false},
		{"2.15.0+cu132", "2.14.0", false},
		{"9.2.1", "9.*", true}, {"90.1", "9.*", false}, {"9", "9.*", true}, {"1.0RC1", "1.0rc1", true},
		{"1.0rc1", "1.0", false}, {"1.0", "v1.0", true},
	} {
		assert.Equal(t, tt.want, lockfile.Same(tt.release, tt.pin), "%s and %s", tt.release, tt.pin)
	}
}

func FuzzFind(f *testing.F) {
	f.Add([]byte(uv))
	f.Add([]byte("a==1\nb[x] == 2 # c"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{"uv.lock", "requirements.txt"} {
			l, err := lockfile.Find([]string{name}, func(string) ([]byte, error) { return text, nil })
			if err != nil || l == nil {
				continue
			}
			if !slices.Contains([]string{"uv.lock", "requirements.txt"}, l.Name) {
				t.Fatal(l.Name)
			}
		}
	})
}

// Two releases of one distribution are compared with each other: a file of 32 MiB may not have a
// million of them.
func TestPinsAreBounded(t *testing.T) {
	golden.NeedsWhole(t, "100,000 pins")
	find := func(lines ...string) error {
		_, err := lockfile.Find([]string{"requirements.txt"}, func(string) ([]byte, error) {
			return []byte(strings.Join(lines, "\n")), nil
		})
		return err
	}
	numbered := func(format string, n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf(format, i))
		}
		return out
	}
	const want = "requirements.txt: got more than 100000 pinned releases, or more than 100 of one distribution, want fewer"
	require.NoError(t, find(numbered("a==%d", 100)...))
	require.EqualError(t, find(numbered("a==%d", 101)...), want)
	require.NoError(t, find(numbered("a%d==1", 100_000)...))
	require.EqualError(t, find(numbered("a%d==1", 100_001)...), want)
	require.EqualError(t, find(slices.Repeat([]string{"a==1"}, 100_001)...), want, "the same again is no less work")
	tables := func(n int) error {
		_, err := lockfile.Find([]string{"uv.lock"}, func(string) ([]byte, error) {
			return []byte(strings.Join(numbered("[[package]]\nname = \"a\"\nversion = \"%d\"", n), "\n")), nil
		})
		return err
	}
	require.NoError(t, tables(100))
	require.EqualError(t, tables(101), strings.Replace(want, "requirements.txt", "uv.lock", 1))
}
