package modelfolder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/internal/jsonscan"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/units"
)

// What a folder's safetensors files may have.
const (
	mostHeader  = 32 << 20 // bytes of one header; that of 91,991 tensors has 10 MiB
	mostHeaders = 64 << 20 // bytes of all
	mostFiles   = 4096
	indexName   = "model.safetensors.index.json"
	singleName  = "model.safetensors"
)

// A Tensor is one of a safetensors header.
type Tensor struct {
	DType string // as safetensors writes it: BF16
	Bytes units.Bytes
	Sizes int64 // the product of its sizes
}

// readHeaders reads the headers of the files that an engine loads; nil where the folder has none.
func readHeaders(folder fs.FS) (map[string]Tensor, []string, error) {
	files, err := weightFiles(folder)
	if err != nil || len(files) == 0 {
		return nil, nil, err
	}
	out := map[string]Tensor{}
	left := int64(mostHeaders)
	for _, name := range files {
		n, err := readHeader(folder, name, left, out)
		var missing *fs.PathError
		if errors.As(err, &missing) {
			return nil, nil, regular.Plain(err)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		left -= n
	}
	return out, files, nil
}

// weightFiles are the safetensors files that an engine loads: those of the index, else the one of
// the usual name, else all whose names say that they are parts of one model.
func weightFiles(folder fs.FS) ([]string, error) {
	data, err := readAll(folder, indexName, mostHeader)
	switch {
	case err == nil:
		return indexed(data)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if _, err := fs.Stat(folder, singleName); err == nil {
		return []string{singleName}, nil
	}
	parts, _ := fs.Glob(folder, "model-*-of-*.safetensors") // the pattern is one
	if len(parts) > mostFiles {
		return nil, fmt.Errorf("got %d files of weights, want at most %d", len(parts), mostFiles)
	}
	return parts, nil
}

func indexed(data []byte) ([]string, error) {
	if err := regular.CheckJSON(data, objectText); err != nil {
		return nil, fmt.Errorf("%s: %w", indexName, err)
	}
	files := map[string]bool{}
	s := jsonscan.New(data)
	s.Object(func(key string) {
		if key != "weight_map" {
			s.Skip()
			return
		}
		s.Object(func(string) {
			file := strings.Clone(s.String())
			if s.Err() == nil && (!fs.ValidPath(file) || path.Ext(file) != ".safetensors") {
				s.Fail("got the file %q, want one of this folder that ends in .safetensors", file)
			}
			files[file] = true
		})
	})
	s.End()
	if s.Err() != nil {
		return nil, fmt.Errorf("%s: %w", indexName, s.Err())
	}
	if len(files) == 0 || len(files) > mostFiles {
		return nil, fmt.Errorf("%s: got %d files in weight_map, want 1 to %d", indexName, len(files), mostFiles)
	}
	return slices.Sorted(maps.Keys(files)), nil
}

// readHeader adds the tensors of one file, and returns the bytes of its header.
func readHeader(folder fs.FS, name string, most int64, to map[string]Tensor) (int64, error) {
	f, err := folder.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	var length [8]byte
	if _, err := io.ReadFull(f, length[:]); err != nil {
		return 0, fmt.Errorf("got %d bytes, want a safetensors file", info.Size())
	}
	if string(length[:]) == "version " {
		return 0, fmt.Errorf("got a Git LFS pointer, want the file itself (git lfs pull)")
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > uint64(info.Size()-8) {
		return 0, fmt.Errorf("got a header of %d bytes in a file of %d, want a whole safetensors file", n, info.Size())
	}
	if n > uint64(min(most, mostHeader)) {
		return 0, fmt.Errorf("got a header of %d bytes, want at most %d", n, min(most, mostHeader))
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(f, data); err != nil {
		return 0, err
	}
	return int64(n), addHeader(data, info.Size()-8-int64(n), to)
}

// itemBits are the sizes of safetensors' dtypes.
var itemBits = map[string]int64{
	"BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
	"I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64,
	"C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}

// addHeader adds the tensors of a header. Their bytes must lie within the file's so many bytes
// behind it.
func addHeader(data []byte, room int64, to map[string]Tensor) error {
	if err := regular.CheckJSON(data, objectText); err != nil {
		return err
	}
	s := jsonscan.New(data)
	s.Object(func(name string) {
		if name == "__metadata__" {
			s.Skip()
			return
		}
		t := Tensor{Sizes: 1}
		var offsets []int64
		s.Object(func(key string) {
			switch key {
			case "dtype":
				t.DType = strings.Clone(s.String())
			case "shape":
				s.Array(func() {
					var err error
					n := s.Int()
					if t.Sizes, err = product(t.Sizes, n); s.Err() == nil && (err != nil || n < 0) {
						s.Fail("%s: got a size of %d, want one that fits", name, n)
					}
				})
			case "data_offsets":
				s.Array(func() {
					if offsets = append(offsets, s.Int()); len(offsets) > 2 {
						s.Fail("%s: got %d data_offsets, want 2", name, len(offsets))
					}
				})
			default:
				s.Skip()
			}
		})
		if s.Err() != nil {
			return
		}
		if problem := t.check(offsets, room); problem != "" {
			s.Fail("%s: %s", name, problem)
			return
		}
		t.Bytes = units.Bytes(offsets[1] - offsets[0])
		to[strings.Clone(name)] = t
	})
	s.End()
	return s.Err()
}

// check says what is wrong with a tensor's description, "" where nothing is.
func (t *Tensor) check(offsets []int64, room int64) string {
	if len(offsets) != 2 || offsets[0] < 0 || offsets[1] < offsets[0] || offsets[1] > room {
		return fmt.Sprintf("got data_offsets %d in %d bytes of data, want its beginning and end", offsets, room)
	}
	bits, ok := itemBits[t.DType]
	if !ok {
		return fmt.Sprintf("got the dtype %.20q, want one of safetensors", t.DType)
	}
	want, err := product(t.Sizes, bits)
	if n := offsets[1] - offsets[0]; err != nil || (want+7)/8 != n {
		return fmt.Sprintf("got %d bytes for %d elements of %s", n, t.Sizes, t.DType)
	}
	return ""
}
