// Package ptzip presents the zip archives PyTorch writes as an fs.FS rooted at their one top
// folder, whatever that is called.
//
// It reads what it is asked for and nothing else: the central directory when an archive is opened,
// then records one by one, neighbours in one go. Records of weights (under data/, constants/,
// tensors/) are never read through ReadFile unless they have at most MaxSmall bytes; who needs a
// part of one opens it and uses ReadAt. So an archive of 500 MiB costs what its stripped twin
// costs.
//
// Hostile archives cost bounded time and memory: see Limits. Checksums are not verified, because
// PyTorch can be set to write none. Not modelled: encryption, archives in several files,
// compression other than deflate.
package ptzip

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// ErrNotZip says that the bytes are no zip archive at all.
var ErrNotZip = errors.New("not a zip archive")

// MaxSmall is the most bytes of a weight record that ReadFile reads.
const MaxSmall = 4096

// MaxRecord is the most bytes of any record that is read.
const MaxRecord = 256 << 20

// Limits bound what an archive may cost. A zero field takes the default.
type Limits struct {
	Records     int64 // entries of the central directory
	NameBytes   int64 // of one name
	RecordBytes int64 // of one record that is read, inflated
	TotalBytes  int64 // of all records read, inflated
	Ratio       int64 // inflated to deflated, of records beyond 1 MiB
}

// defaults is several times what the biggest archive seen needs: 1,300 records, names of 120 bytes,
// 5 MiB of code.
func (l Limits) defaults() Limits {
	for _, d := range []struct {
		field *int64
		value int64
	}{{&l.Records, 1 << 20}, {&l.NameBytes, 1024}, {&l.RecordBytes, MaxRecord}, {&l.TotalBytes, 1 << 30},
		{&l.Ratio, 200}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return l
}

// LimitError says which limit an archive passes.
type LimitError struct {
	What       string // "records", "name bytes", "record bytes", "total bytes", "ratio", "weight bytes"
	Name       string // of the record, where it is one record's
	Got, Limit int64
}

func (e *LimitError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%s: got %d, want at most %d", e.What, e.Got, e.Limit)
	}
	return fmt.Sprintf("%s: %s: got %d, want at most %d", e.Name, e.What, e.Got, e.Limit)
}

// FormatError is an archive that contradicts itself.
type FormatError struct {
	Offset int64
	Err    error
}

func (e *FormatError) Error() string { return fmt.Sprintf("offset %d: %v", e.Offset, e.Err) }

func (e *FormatError) Unwrap() error { return e.Err }

func malformed(offset int64, format string, args ...any) error {
	return &FormatError{offset, fmt.Errorf(format, args...)}
}

// Reader is an open archive. It is an fs.FS with ReadFile, ReadDir and Stat, and safe for use by
// several goroutines.
type Reader struct {
	r       io.ReaderAt
	size    int64
	end     int64 // where the central directory begins: no record passes it
	limits  Limits
	root    string
	records []record // in central-directory order
	names   []string // of records
	index   map[string]int32
	order   []int32 // records by offset

	mu    sync.Mutex // guards what follows
	runs  [4]run     // the latest
	run   int        // the last one
	total int64
	twins map[twinKey]twin
}

// record is one entry of the central directory.
type record struct {
	name         string // below the root
	method       uint16
	flags        uint16
	crc          uint32
	packed, size int64
	offset       int64 // of the local header
	limit        int64 // where the next record begins
}

// run is a stretch of the archive read in one go.
type run struct {
	from int64
	data []byte
}

// Open reads the central directory of an archive of size bytes, under the default limits.
func Open(r io.ReaderAt, size int64) (*Reader, error) { return OpenLimits(r, size, Limits{}) }

// OpenLimits is Open with limits of the caller's.
func OpenLimits(r io.ReaderAt, size int64, l Limits) (*Reader, error) {
	z := &Reader{r: r, size: size, limits: l.defaults()}
	dir, count, err := z.findDirectory(size)
	if err != nil {
		return nil, err
	}
	if err := z.readDirectory(dir, count); err != nil {
		return nil, err
	}
	if err := z.place(); err != nil {
		return nil, err
	}
	return z, nil
}

// Root is the name of the archive's one top folder, "" where it has none.
func (z *Reader) Root() string { return z.root }

// Names returns the records below the root, in central-directory order. It must not be changed.
func (z *Reader) Names() []string { return z.names }

// Size returns the bytes of a record, inflated.
func (z *Reader) Size(name string) (int64, bool) {
	i, ok := z.index[name]
	if !ok {
		return 0, false
	}
	return z.records[i].size, true
}

// IsWeight says whether a record of that name holds weights, or compiled code, which is read as
// little. The small descriptions beside them do not count, nor does the source of compiled code; of
// torch.export before 2.8 a record is a whole file of torch.save.
func IsWeight(name string) bool {
	top, _, ok := strings.Cut(name, "/")
	if base, _, _ := strings.Cut(name, "."); base == "serialized_state_dict" || base == "serialized_constants" ||
		base == "serialized_example_inputs" {
		return true
	}
	if !ok || strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".cpp") &&
		strings.HasPrefix(name, "data/aotinductor/") {
		return false
	}
	return top == "data" || top == "constants" || top == "tensors"
}

// place puts the records in order and refuses those that overlap: the cheapest bombs.
func (z *Reader) place() error {
	z.order = make([]int32, len(z.records))
	for i := range z.order {
		z.order[i] = int32(i)
	}
	byOffset := func(a, b int32) int { return cmp.Compare(z.records[a].offset, z.records[b].offset) }
	if !slices.IsSortedFunc(z.order, byOffset) {
		slices.SortStableFunc(z.order, byOffset)
	}
	limit := z.end
	for i := len(z.order) - 1; i >= 0; i-- {
		rec := &z.records[z.order[i]]
		rec.limit = limit
		least := int64(localHeader + len(rec.name))
		if rec.offset > limit-least || rec.packed > limit-least-rec.offset {
			return malformed(rec.offset, "record %q of %d bytes: got space up to offset %d", rec.name, rec.packed,
				limit)
		}
		limit = rec.offset
	}
	return nil
}

// find returns a record for an fs call.
func (z *Reader) find(op, name string) (int32, error) {
	i, ok := z.index[name]
	if !ok {
		err := fs.ErrNotExist
		if !fs.ValidPath(name) { // no record has such a name
			err = fs.ErrInvalid
		}
		return 0, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return i, nil
}
