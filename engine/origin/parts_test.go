package origin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/spec"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSidecarLimits: a file beside an artifact that is too large, nested too deep, or none.
func TestSidecarLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.pt")
	s, err := ReadSidecar(path)
	require.NoError(t, err)
	assert.Nil(t, s, "there is none")
	write := func(data string) { require.NoError(t, os.WriteFile(path+".inputs.json", []byte(data), 0o600)) }
	module := func(depth int) string {
		text,
			err := json.Marshal(map[string]any{"modules": []string{"a", strings.TrimSuffix(strings.Repeat("b.", depth), ".")}})
		require.NoError(t, err)
		return string(text)
	}
	pad := func(n int) string {
		return `{"inputs":["x=float32[1]"]}` + strings.Repeat(" ", n-len(`{"inputs":["x=float32[1]"]}`))
	}
	for _, tt := range []struct{ why, data, err string }{
		{"as large as may be", pad(16 << 20), ""},
		{"and a byte", pad(16<<20 + 1), "read " + path + ".inputs.json: got more than 16777216 bytes, want fewer bytes"},
		{"as deep as may be", module(1000), ""},
		{"and a module", module(1001), path + ".inputs.json: modules[1]: got a path of 1001 names, want at most 1000"},
		{"no JSON", "{", path + ".inputs.json: unexpected end of JSON input"},
		{"a list", "[]", path + ".inputs.json: json: cannot unmarshal array into Go value of type origin.Sidecar"},
		{"a command without a word", `{"made":{"command":[""]}}`, ""},
	} {
		write(tt.data)
		s, err := ReadSidecar(path)
		if tt.err == "" {
			require.NoError(t, err, tt.why)
			assert.NotNil(t, s, tt.why)
			continue
		}
		assert.EqualError(t, err, tt.err, tt.why)
	}
	write(`{"inputs":["x=float32[1]", "x=float33[1]"]}`)
	_, err = Inputs(path)
	assert.ErrorContains(t, err, path+".inputs.json: inputs[1] x=float33[1]: ")
	write(`{"inputs":["x=float32[1]", "[int64[2]]"]}`)
	in, err := Inputs(path)
	require.NoError(t, err)
	assert.Equal(t, []string{"x=float32[1]", "[int64[2]]"}, spec.InputTexts(in))
	require.NoError(t, os.Remove(path+".inputs.json"))
	require.NoError(t, os.Mkdir(path+".inputs.json", 0o700))
	_, err = ReadSidecar(path)
	assert.Error(t, err, "a folder")
}

// A function's text is looked for by whole lines, whatever blanks are around them.
func TestTrimmedLines(t *testing.T) {
	lines := func(words string) string { return strings.ReplaceAll(words, " ", "\n") }
	for _, tt := range []struct {
		all, some string
		want      bool
	}{
		{"a b c", "", true}, {"", "", true}, {"", "a", false}, {"a b c", "a", true}, {"a b c", "c", true},
		{"a b c", "b c", true}, {"a b c", "a b c", true}, {"a b c", "a c", false}, {"a b c", "c d", false},
		{"a b c", "a b c d", false}, {"a a b", "a b", true}, {"a b a c", "a c", true}, {"ab cd", "b cd", false},
		{"ab cd", "ab c", false}, {"a \t\vb", "a b\t", true}, {"a  b", "a b", true},
	} {
		assert.Equal(t, tt.want, holdsText(trimmedLines([]byte(lines(tt.all))), lines(tt.some)), "%q in %q", tt.some, tt.all)
	}
}

// A text of lines that are equal but for the last takes the product of both lengths where each
// place is tried: here 10 billion comparisons. A search in one pass takes some milliseconds.
func TestEqualLinesAreSearchedOnce(t *testing.T) {
	lines := trimmedLines([]byte(strings.Repeat("a\n", 200_000)))
	start := time.Now()
	assert.False(t, holdsText(lines, strings.Repeat("a\n", 100_000)+"b"))
	assert.Less(t, time.Since(start), 10*time.Second)
}

// The functions of an installed package are not the project's source, though its file ends in the
// same path.
func TestTextsOfAnInstalledPackage(t *testing.T) {
	a, err := artifact.Open("../../testdata/artifacts/torchvision/resnet18.script.pt")
	require.NoError(t, err)
	assert.Empty(t, texts(a.Program, "torchvision/models/resnet.py"))
}
