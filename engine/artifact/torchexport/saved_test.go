package torchexport

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/program"
)

// savedAs is an archive with one record of torch.save that has this pickle.
func savedAs(t testing.TB, data []byte) fs.FS {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateHeader(&zip.FileHeader{Name: "archive/data.pkl", Method: zip.Store})
	require.NoError(t, err)
	_, err = f.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return fstest.MapFS{"weights.pt": {Data: b.Bytes()}}
}

// pickleOf is the pickle within a record of an archive.
func pickleOf(t testing.TB, archive, record string) []byte {
	f, err := open(t, filepath.Join(exported, archive)).Open(record)
	require.NoError(t, err)
	info, err := f.Stat()
	require.NoError(t, err)
	z, err := ptzip.Open(f.(io.ReaderAt), info.Size())
	require.NoError(t, err)
	data, err := z.ReadFile("data.pkl")
	require.NoError(t, err)
	return data
}

// TestSavedRefused: a file of torch.save that says what none says is an error, and names the
// record.
func TestSavedRefused(t *testing.T) {
	good := string(pickleOf(t, filepath.Join("models", "ao_int8.pt2"), "data/weights/weight_0"))
	v, err := readSaved(savedAs(t, []byte(good)), "weights.pt")
	require.NoError(t, err)
	var attrs []string
	for _, in := range v.(*savedTensor).inner {
		attrs = append(attrs, in.attr)
	}
	assert.Equal(t, []string{"qdata", "scale", "zero_point"}, attrs)
	for _, c := range []struct{ why, old, with, want string }{
		{"no pickle at all", good, "x", "weights.pt: data.pkl: offset 0"},
		{"a storage of another class", "CharStorage", "WideStorage", "got a persistent id that is no storage"},
		{"no numbers as sizes", "J\x00\x00\x02\x00t", "J\x00\x00\x01\x00t", "got a tensor of 131072 bytes in a storage of " +
			"65536"},
	} {
		require.Contains(t, good, c.old, c.why)
		_, err := readSaved(savedAs(t, []byte(strings.Replace(good, c.old, c.with, 1))), "weights.pt")
		require.ErrorContains(t, err, c.want, c.why)
	}
	for _, c := range []struct{ why, data string }{{"an empty record", ""}, {"weights of no archive", "abcdefgh"},
		{"two bytes", "PK"}} {
		v, err := readSaved(fstest.MapFS{"weights.pt": {Data: []byte(c.data)}}, "weights.pt")
		require.NoError(t, err, c.why)
		assert.Nil(t, v, c.why)
	}
}

// TestSubclassesCountAsWhatTheyHold: torchao's weights are the tensors that they are made of, those
// that the program does not read among them.
func TestSubclassesCountAsWhatTheyHold(t *testing.T) {
	for name, want := range map[string]int64{
		// bytes, scales in float32, zero points in int8, biases in bfloat16
		"ao_int8": 2*256*512 + 4*(512+256) + (512 + 256) + 2*(512+256),
		"ao_fp8":  2*256*512 + 4*(512+256) + 2*(512+256),
	} {
		p := decode(t, filepath.Join(exported, "models", name+".pt2"))
		require.NoError(t, program.Check(p))
		var sum int64
		for _, s := range p.States {
			sum += s.NBytes
		}
		assert.Equal(t, want, sum, name)
		var b bytes.Buffer
		require.NoError(t, program.Write(&b, p))
		assert.NotContains(t, b.String(), "export::access_subclass_inner_tensor", "what reads a part is an alias of it")
		assert.Contains(t, b.String(), "= aten::alias(self=state ")
	}
}

// FuzzSaved: no pickle makes the reader of weights panic, hang or exhaust memory.
func FuzzSaved(f *testing.F) {
	f.Add(pickleOf(f, filepath.Join("models", "ao_int8.pt2"), "data/weights/weight_0"))
	f.Add(pickleOf(f, filepath.Join("models", "ao_fp8.pt2"), "data/weights/weight_1"))
	f.Add(pickleOf(f, "half_28.pt2", "data/weights/model.pt"))
	f.Add(pickleOf(f, "tied_27.pt2", "serialized_state_dict.pt"))
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = readSaved(savedAs(t, data), "weights.pt") })
}
