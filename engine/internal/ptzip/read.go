package ptzip

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// longestRun is how much is read in one go where small records stand side by side.
const longestRun = 1 << 20

// ReadFile returns a record, inflated.
func (z *Reader) ReadFile(name string) ([]byte, error) { return z.ReadInto(nil, name) }

// ReadInto is ReadFile into the room of a buffer, where that is enough.
func (z *Reader) ReadInto(buf []byte, name string) ([]byte, error) {
	i, err := z.find("read", name)
	if err != nil {
		return nil, err
	}
	data, err := z.read(i, buf)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

func (z *Reader) read(i int32, buf []byte) ([]byte, error) {
	rec := &z.records[i]
	switch {
	case IsWeight(z.names[i]) && rec.size > MaxSmall:
		return nil, &LimitError{What: "weight bytes", Got: rec.size, Limit: MaxSmall}
	case rec.size > z.limits.RecordBytes:
		return nil, &LimitError{What: "record bytes", Got: rec.size, Limit: z.limits.RecordBytes}
	case rec.size > 1<<20 && rec.size/max(rec.packed, 1) > z.limits.Ratio:
		return nil, &LimitError{What: "ratio", Got: rec.size / max(rec.packed, 1), Limit: z.limits.Ratio}
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.total+rec.size > z.limits.TotalBytes {
		return nil, &LimitError{What: "total bytes", Got: z.total + rec.size, Limit: z.limits.TotalBytes}
	}
	z.total += rec.size
	packed, err := z.payload(i)
	if err != nil {
		return nil, err
	}
	switch rec.method {
	case stored:
		return append(buf[:0], packed...), nil
	case deflated:
		if int64(cap(buf)) < rec.size {
			buf = make([]byte, rec.size)
		}
		out := buf[:rec.size]
		if err := inflate(out, packed); err != nil {
			return nil, malformed(rec.offset, "deflated data: %w", err)
		}
		return out, nil
	}
	return nil, malformed(rec.offset, "got compression method %d, want stored or deflated", rec.method)
}

// Twin returns a record that was asked for before and whose packed bytes are the same, so that its
// content is; else the record itself.
func (z *Reader) Twin(name string) string {
	i, ok := z.index[name]
	if !ok {
		return name
	}
	rec := &z.records[i]
	z.mu.Lock()
	defer z.mu.Unlock()
	if rec.packed > longestRun {
		return name
	}
	data, err := z.payload(i)
	if err != nil {
		return name // reading it reports
	}
	key := twinKey{rec.method, rec.crc, rec.packed, rec.size}
	if other, ok := z.twins[key]; ok && bytes.Equal(other.packed, data) {
		return z.names[other.record]
	} else if !ok {
		if z.twins == nil {
			z.twins = map[twinKey]twin{}
		}
		z.twins[key] = twin{i, data}
	}
	return name
}

// twin is the first record of its key; its bytes lie in a run.
type twin struct {
	record int32
	packed []byte
}

type twinKey struct {
	method       uint16
	crc          uint32
	packed, size int64
}

// runOf is the run at hand that holds a record, or a new one. z.mu is held.
func (z *Reader) runOf(i int32) (*run, error) {
	if r := z.heldIn(&z.records[i]); r != nil {
		return r, nil
	}
	r, err := z.readRun(i)
	if err != nil {
		return nil, err
	}
	z.run = (z.run + len(z.runs) - 1) % len(z.runs)
	z.runs[z.run] = r
	return &z.runs[z.run], nil
}

// heldIn is the run at hand that holds a record.
func (z *Reader) heldIn(rec *record) *run {
	for k := range z.runs {
		if r := &z.runs[(z.run+k)%len(z.runs)]; rec.offset >= r.from && rec.limit <= r.from+int64(len(r.data)) {
			return r
		}
	}
	return nil
}

// payload returns the packed bytes of a record. z.mu is held.
func (z *Reader) payload(i int32) ([]byte, error) {
	rec := &z.records[i]
	r, err := z.runOf(i)
	if err != nil {
		return nil, err
	}
	whole := r.data[rec.offset-r.from:]
	whole = whole[:min(int64(len(whole)), rec.limit-rec.offset)]
	start, err := rec.start(whole)
	if err != nil {
		return nil, err
	}
	if rec.packed > int64(len(whole)-start) {
		return nil, malformed(rec.offset, "got %d bytes left, want %d", len(whole)-start, rec.packed)
	}
	return whole[start : start+int(rec.packed) : start+int(rec.packed)], nil
}

// readRun reads the record and those behind it, as far as they are no weights and not at hand.
func (z *Reader) readRun(i int32) (run, error) {
	rec := &z.records[i]
	from, to := rec.offset, z.spanEnd(rec)
	at, _ := slices.BinarySearchFunc(z.order, from,
		func(j int32, offset int64) int { return cmp.Compare(z.records[j].offset, offset) })
	for _, j := range z.order[at+1:] {
		next := &z.records[j]
		if next.offset != to || z.spanEnd(next)-from > longestRun || IsWeight(z.names[j]) || z.heldIn(next) != nil {
			break
		}
		to = z.spanEnd(next)
	}
	data, err := z.readAt(from, int(to-from))
	return run{from, data}, err
}

// spanEnd is where a record's bytes end at the latest: at the next record, or, if that is far away,
// after the longest header there can be.
func (z *Reader) spanEnd(rec *record) int64 {
	return min(rec.limit, rec.offset+localHeader+2*max16+rec.packed)
}

// start returns where the payload begins in the record's bytes: the local header's name and padding
// have their own lengths. There are bytes enough for the header: see place.
func (rec *record) start(head []byte) (int, error) {
	if sig := le.Uint32(head); sig != localSignature {
		return 0, malformed(rec.offset, "got signature %#08x, want a local header", sig)
	}
	if (le.Uint16(head[6:])|rec.flags)&flagEncrypted != 0 {
		return 0, malformed(rec.offset, "got an encrypted record")
	}
	return localHeader + int(le.Uint16(head[26:])) + int(le.Uint16(head[28:])), nil
}

// section returns the payload of a record, as it is packed, without reading it.
func (z *Reader) section(i int32) (*io.SectionReader, error) {
	rec := &z.records[i]
	head, err := z.readAt(rec.offset, localHeader)
	if err != nil {
		return nil, err
	}
	start, err := rec.start(head)
	if err != nil {
		return nil, err
	}
	if rec.offset+int64(start)+rec.packed > rec.limit {
		return nil, malformed(rec.offset, "got %d bytes left, want %d", rec.limit-rec.offset-int64(start), rec.packed)
	}
	return io.NewSectionReader(z.r, rec.offset+int64(start), rec.packed), nil
}

// CopyRaw copies a record as it is packed into another archive, under the root folder given there.
func (z *Reader) CopyRaw(w *zip.Writer, root, name string) error {
	i, err := z.find("copy", name)
	if err != nil {
		return err
	}
	rec := &z.records[i]
	from, err := z.section(i)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if root != "" {
		name = root + "/" + name
	}
	to, err := w.CreateRaw(&zip.FileHeader{Name: name, Method: rec.method, CRC32: rec.crc,
		CompressedSize64: uint64(rec.packed), UncompressedSize64: uint64(rec.size)})
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return err
}

var _ interface {
	fs.ReadFileFS
	fs.ReadDirFS
	fs.StatFS
} = (*Reader)(nil)
