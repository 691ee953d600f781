package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/memspec/memspec/engine/regular"
)

// Schema numbers the form of a recording's keys:
// pyshim/src/memshim/schemas/measurement.schema.json.
const Schema = 1

// maxPasses is the most passes of a run, the baseline among them.
const maxPasses = 1000

// limits is the most of everything.
type limits struct {
	text     int64 // bytes, uncompressed
	header   int   // bytes of all keys but the long lists
	line     int   // bytes of a line of a .rec except the first
	events   int   // of all runs together
	sites    int
	stacks   int
	frames   int
	inStacks int // frame numbers in all stacks together
}

// defaultLimits: a recording of a training step of a large model has some 10^5 events.
func defaultLimits() limits {
	return limits{text: 256 << 20, header: 64 << 20, line: 1 << 20, events: 2 << 20, sites: 256 << 10, stacks: 1 << 20,
		frames: 1 << 20, inStacks: 16 << 20}
}

// Read reads a recording's file, of either form.
func Read(path string) (*Recording, error) {
	f, _, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.File = path
	return r, nil
}

// gzipMagic begins every gzip file.
const gzipMagic = "\x1f\x8b"

// Decode reads a recording of either form: a record's object, or a compressed .rec.
func Decode(from io.Reader) (*Recording, error) { return decode(from, defaultLimits()) }

func decode(from io.Reader, most limits) (*Recording, error) {
	b := bufio.NewReader(from)
	magic, err := b.Peek(len(gzipMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var r *Recording
	if string(magic) == gzipMagic {
		r, err = decodeRec(b, most)
	} else {
		r, err = decodeRecord(b, most)
	}
	if err != nil {
		return nil, err
	}
	return r, r.Check()
}

// IsRec says whether a file that begins so may be a .rec: a compressed file.
func IsRec(begin []byte) bool { return bytes.HasPrefix(begin, []byte(gzipMagic)) }

// ReadFolder reads every .json and .rec file of a folder, by name. Folders in it are not entered.
func ReadFolder(dir string) ([]*Recording, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []*Recording
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || strings.HasPrefix(name, ".") || e.Type()&fs.ModeIrregular != 0 || !strings.HasSuffix(name, ".json") &&
			!strings.HasSuffix(name, ".rec") {
			continue
		}
		r, err := Read(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// bounded is a reader that ends with an error where it would give too much.
type bounded struct {
	r    io.Reader
	left int64
	most int64
}

func atMost(n int64, r io.Reader) io.Reader { return &bounded{r, n, n} }

func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, fmt.Errorf("got more than %d bytes of text", b.most)
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	return n, err
}

// errNoRecord is what is no recording at all.
func errNoRecord(err error) error { return fmt.Errorf("got no measurement record: %w", err) }

// decodeHeader reads the keys of a record except its lists of events, stacks and frames.
func decodeHeader(data []byte, h *Header) error {
	var head struct{ Schema *int }
	if err := json.Unmarshal(data, &head); err != nil {
		return errNoRecord(err)
	}
	if head.Schema == nil || *head.Schema != Schema {
		return fmt.Errorf("got no measurement record of schema %d", Schema)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(h); err != nil {
		return errNoRecord(err)
	}
	return nil
}
