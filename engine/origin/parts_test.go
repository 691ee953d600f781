package origin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
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
		{"too many objects", strings.Repeat("{", 1<<20), path + ".inputs.json: got 1048576 objects in 1048576 bytes, want " +
			"at most 147456"},
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
	write(`{"inputs":["x=float33[1]", "y=float33[1]"]}`)
	_, err = Inputs(path)
	assert.ErrorContains(t, err, "inputs[0] x=float33[1]: ", "the first of them")
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

// What an archive was made from is known by its texts of the case's source, or by a record of it.
func TestUnknown(t *testing.T) {
	a, err := artifact.Open("../../testdata/artifacts/small/module_list.script.pt")
	require.NoError(t, err)
	for _, tt := range []struct {
		why, source string
		origin      Origin
		want        string
	}{
		{"its texts are of the source", "small/module_list.py:make", Origin{Program: a.Program}, ""},
		{"its texts are of another", "zoo.py:make", Origin{Program: a.Program}, report.OriginUnknown},
		{"a source with a name that ends alike", "list.py:make", Origin{Program: a.Program}, report.OriginUnknown},
		{"a file of a package", "nn/modules/linear.py:Linear", Origin{Program: a.Program}, report.OriginUnknown},
		{"no source", "", Origin{Program: a.Program}, report.OriginUnknown},
		{"a recorded run", "small/module_list.py:make", Origin{}, report.OriginUnknown},
		{"how it was made is recorded", "", Origin{Made: &recording.Made{}}, ""},
	} {
		assert.Equal(t, tt.want, tt.origin.Unknown(&spec.Case{Source: tt.source}), tt.why)
	}
}

// The text of an archive is compared with a file that can be read.
func TestChangedText(t *testing.T) {
	a, err := artifact.Open("../../testdata/artifacts/small/module_list.script.pt")
	require.NoError(t, err)
	dir := t.TempDir()
	c := &spec.Case{Dir: dir, Source: "module_list.py:make"}
	path := filepath.Join(dir, "module_list.py")
	said := func() string {
		text, err := changedText(a.Program, c)
		if err != nil {
			return "error: " + err.Error()
		}
		return text
	}
	assert.Equal(t, path+" is gone", said())
	require.NoError(t, os.Mkdir(path, 0o700))
	assert.Equal(t, "error: "+path+": got a folder, want a regular file", said())
	_, err = (&Origin{Path: "m.pt", Program: a.Program}).Notes(&spec.Case{Dir: dir, Source: c.Source, Artifact: "m.pt"})
	assert.EqualError(t, err, path+": got a folder, want a regular file")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, []byte("x = 1\n"), 0o600))
	assert.Equal(t, path+" no longer has the function that stood at its line 12", said())
	text := texts(a.Program, "module_list.py")[0].Text
	require.NoError(t, os.WriteFile(path, []byte("x = 1\n"+text), 0o600))
	assert.Empty(t, said())
}

// Lock files are looked for from the file's folder up to its repository; a folder that is gone has
// none, and what cannot be read is an error.
func TestFindLock(t *testing.T) {
	root := t.TempDir()
	in := filepath.Join(root, "a", "b")
	require.NoError(t, os.MkdirAll(in, 0o700))
	lock := filepath.Join(root, "requirements.txt")
	require.NoError(t, os.WriteFile(lock, []byte("torch==2.15.0\n"), 0o600))
	for _, tt := range []struct {
		why, from, top, want string
	}{
		{"beside it", root, root, "requirements.txt"},
		{"above it", in, root, "requirements.txt"},
		{"above a folder that is gone", filepath.Join(in, "gone"), root, "requirements.txt"},
		{"above its repository", in, in, ""},
		{"in a file", lock, root, "error: " + lock},
	} {
		got := ""
		switch l, err := findLock(recording.Place{Dir: tt.from, Roots: []string{"/elsewhere", tt.top}}); {
		case err != nil:
			got = "error: " + err.Error()
		case l != nil:
			got = l.Name
		}
		if strings.HasPrefix(tt.want, "error") {
			assert.Contains(t, got, tt.want[7:], tt.why)
		} else {
			assert.Equal(t, tt.want, got, tt.why)
		}
	}
	o := &Origin{Path: filepath.Join(root, "m.rec"), Made: &recording.Made{Packages: map[string]string{"torch": "2.15.0"}}}
	_, err := o.Notes(&spec.Case{Artifact: "m.rec", Dir: lock})
	assert.ErrorContains(t, err, lock)
	o.Made = &recording.Made{Folders: []recording.Listing{{Path: "requirements.txt"}}}
	_, err = o.Notes(&spec.Case{Artifact: "m.rec", Dir: root})
	assert.ErrorContains(t, err, lock, "a file where a folder was")
}

// Ranks that did not run are counted once, and so are reasons, in their order.
func TestRanksThatDidNotRun(t *testing.T) {
	r := &Ranks{NotRun: []Unlike{{Why: "stage", Ranks: []int{1, 2}}, {Why: "experts", Ranks: []int{2, 3}},
		{Why: "experts", Ranks: []int{3}}}}
	assert.Equal(t, 3, r.Unlike())
	assert.Equal(t, "stage, experts", r.Why())
	assert.Zero(t, (&Ranks{}).Unlike())
}

// What is recorded of a live model is of a program that has modules, and of a sidecar that names
// releases.
func TestNothingSeen(t *testing.T) {
	modules := &program.Program{Records: program.RecordsModules}
	for why, of := range map[string]struct {
		s *Sidecar
		p *program.Program
	}{
		"no sidecar": {nil, modules}, "a recorded run": {&Sidecar{Releases: [][2]string{{"x", "y"}}}, nil},
		"a program without modules": {&Sidecar{Releases: [][2]string{{"x", "y"}}}, &program.Program{}},
		"no releases":               {&Sidecar{}, modules},
	} {
		seen, err := of.s.Seen("m.pt2", of.p)
		require.NoError(t, err, why)
		assert.Nil(t, seen, why)
	}
}
