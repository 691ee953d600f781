package torchscript

import (
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/pickle"
	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// TestRecordsThatCannotBeRead: an archive of which a record cannot be read is refused, and never
// read without it.
func TestRecordsThatCannotBeRead(t *testing.T) {
	const source = "class M(Module):\n  d : Dict[str, int]\n  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n" +
		"    return torch.neg(x)\n"
	const withDict = "\x80\x02c__torch__\nM\n)\x81}X\x01\x00\x00\x00d}"
	for _, tt := range []struct{ why, name, data, want string }{
		{"nothing is wrong", "data.pkl", withDict + "X\x01\x00\x00\x00aK\x01ssb.", ""},
		{"a key of bytes", "data.pkl", withDict + "C\x01aK\x01ssb.", "got a value of []uint8, want a literal"},
		{"a value of bytes", "data.pkl", withDict + "X\x01\x00\x00\x00aC\x01assb.", "got a value of []uint8, want a literal"},
		{"sizes that are none", ptzip.StrippedRecord, "[", "stripped.json"},
		{"constants that are a folder", "constants.pkl/x", "", "constants.pkl: invalid argument"},
		{"places that are a folder", "code/__torch__.py.debug_pkl/x", "", "code/__torch__.py.debug_pkl: invalid argument"},
		{"a version that is a folder", "version/x", "", "version: invalid argument"},
		{"a version that is long", "version", string(make([]byte, 65)), "version: got 65 bytes, want a number"},
	} {
		files := archive(source)
		files["data.pkl"] = &fstest.MapFile{Data: []byte(withDict + "sb.")}
		for _, folder := range []string{"constants.pkl", "version"} {
			if tt.name == folder+"/x" {
				delete(files, folder)
			}
		}
		files[tt.name] = &fstest.MapFile{Data: []byte(tt.data)}
		_, err := Decode(files)
		if tt.want == "" {
			assert.NoError(t, err, tt.why)
		} else {
			assert.ErrorContains(t, err, tt.want, tt.why)
		}
	}
}

// TestTensorsOfBytes: a tensor of an untyped storage is one of bytes.
func TestTensorsOfBytes(t *testing.T) {
	u := anUnpickler(aDecoder(t, ""))
	v, err := u.tensor(false, []any{&storage{record: "data/0", dtype: untyped, device: "cpu", nbytes: 6}, int64(1),
		pickle.Tuple{int64(5)}, pickle.Tuple{int64(1)}, true})
	require.NoError(t, err)
	assert.Equal(t, tensor.Meta{DType: tensor.Uint8, Sizes: []int64{5}, Strides: []int64{1}, StorageOffset: 1,
		Device: "cpu", RequiresGrad: true}, v.(*program.State).Meta)
}

// TestLongestRecordOfPlaces: a record of more than 1 GiB is not read.
func TestLongestRecordOfPlaces(t *testing.T) {
	golden.NeedsWhole(t, "a GiB is read")
	bytes := make([]byte, maxDebug+1) // never written, so that it takes no memory
	_, err := new(rangeMachine).run(unsafe.String(&bytes[0], len(bytes)))
	assert.EqualError(t, err, "got 1073741825 bytes, want at most 1073741824")
}
