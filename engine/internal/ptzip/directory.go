package ptzip

import (
	"bytes"
	"encoding/binary"
	"io"
	"io/fs"
	"strings"
	"unsafe"
)

// The fixed parts of the records of APPNOTE.TXT 6.3, in bytes, and their signatures.
const (
	localHeader   = 30 // 4.3.7
	centralHeader = 46 // 4.3.12
	endRecord     = 22 // 4.3.16
	locator64     = 20 // 4.3.15
	endRecord64   = 56 // 4.3.14
	maxComment    = 1<<16 - 1

	localSignature    = 0x04034b50
	centralSignature  = 0x02014b50
	endSignature      = 0x06054b50
	locator64Sig      = 0x07064b50
	end64Signature    = 0x06064b50
	zip64Extra        = 1
	flagEncrypted     = 1
	stored, deflated  = 0, 8
	max32, max16      = 1<<32 - 1, 1<<16 - 1
	longestDirectory  = 1 << 30
	shortestDirectory = centralHeader + 1
)

var le = binary.LittleEndian

// readAt reads exactly n bytes.
func (z *Reader) readAt(offset int64, n int) ([]byte, error) {
	buf := make([]byte, n)
	if got, err := z.r.ReadAt(buf, offset); got < n {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, &FormatError{offset, err}
	}
	return buf, nil
}

// findDirectory locates the central directory, reads it and returns it with the count of its
// entries.
func (z *Reader) findDirectory(size int64) ([]byte, int64, error) {
	if size < endRecord {
		return nil, 0, ErrNotZip
	}
	// Without a comment, as PyTorch writes it, the end is at a known place.
	tail, err := z.readAt(size-min(size, endRecord+locator64+endRecord64),
		int(min(size, endRecord+locator64+endRecord64)))
	if err != nil {
		return nil, 0, err
	}
	at := len(tail) - endRecord
	if le.Uint32(tail[at:]) != endSignature || le.Uint16(tail[at+20:]) != 0 {
		if tail, err = z.readAt(size-min(size, endRecord+maxComment),
			int(min(size, endRecord+maxComment))); err != nil {
			return nil, 0, err
		}
		if at = findEnd(tail); at < 0 {
			return nil, 0, ErrNotZip
		}
	}
	end := size - int64(len(tail)-at) // offset of the end record
	e := tail[at:]
	count, length, offset := int64(le.Uint16(e[10:])), int64(le.Uint32(e[12:])), int64(le.Uint32(e[16:]))
	if disk := le.Uint16(e[4:]); disk != 0 && disk != max16 {
		return nil, 0, malformed(end, "got disk %d of several, want one file", disk)
	}
	if count == max16 || length == max32 || offset == max32 {
		if count, length, offset, err = z.readEnd64(end, count, length, offset); err != nil {
			return nil, 0, err
		}
	}
	if offset < 0 || length < 0 || offset > end || length > end-offset {
		return nil, 0, malformed(end, "central directory: got %d bytes at offset %d, want an end by offset %d", length,
			offset, end)
	}
	if count > z.limits.Records {
		return nil, 0, &LimitError{What: "records", Got: count, Limit: z.limits.Records}
	}
	if length > longestDirectory {
		return nil, 0, &LimitError{What: "central directory bytes", Got: length, Limit: longestDirectory}
	}
	if count < 0 || count > length/shortestDirectory {
		return nil, 0, malformed(end, "got %d records in a central directory of %d bytes", count, length)
	}
	dir, err := z.readAt(offset, int(length))
	if err != nil {
		return nil, 0, err
	}
	z.end = offset
	return dir, count, nil
}

// findEnd returns the place of the end record in the tail of the archive, whose comment must reach
// the end exactly.
func findEnd(tail []byte) int {
	for at := len(tail) - endRecord; at >= 0; at-- {
		at = bytes.LastIndexByte(tail[:at+1], 'P')
		if at < 0 {
			return -1
		}
		if le.Uint32(tail[at:]) == endSignature && at+endRecord+int(le.Uint16(tail[at+20:])) == len(tail) {
			return at
		}
	}
	return -1
}

// readEnd64 reads the zip64 end record, if its locator stands before the end record; else what the
// end record says holds.
func (z *Reader) readEnd64(end, count, length, offset int64) (int64, int64, int64, error) {
	if end < locator64 {
		return count, length, offset, nil
	}
	loc, err := z.readAt(end-locator64, locator64)
	if err != nil {
		return 0, 0, 0, err
	}
	if le.Uint32(loc) != locator64Sig {
		return count, length, offset, nil
	}
	at := int64(le.Uint64(loc[8:]))
	if at < 0 || at > end-locator64-endRecord64 {
		return 0, 0, 0, malformed(end-locator64, "zip64 end record: got offset %d, want one before %d", at,
			end-locator64)
	}
	e, err := z.readAt(at, endRecord64)
	if err != nil {
		return 0, 0, 0, err
	}
	if sig := le.Uint32(e); sig != end64Signature {
		return 0, 0, 0, malformed(at, "got signature %#08x, want a zip64 end record", sig)
	}
	return int64(le.Uint64(e[32:])), int64(le.Uint64(e[40:])), int64(le.Uint64(e[48:])), nil
}

// readDirectory turns the central directory into records.
func (z *Reader) readDirectory(dir []byte, count int64) error {
	z.records = make([]record, 0, count)
	text := unsafe.String(unsafe.SliceData(dir), len(dir)) // names are parts of it; nobody else has the bytes
	pos := 0
	for range count {
		at := z.end + int64(pos)
		e := dir[pos:]
		if len(e) < centralHeader {
			return malformed(at, "got %d bytes left, want a central directory entry", len(e))
		}
		if sig := le.Uint32(e); sig != centralSignature {
			return malformed(at, "got signature %#08x, want a central directory entry", sig)
		}
		nameLen, extraLen, commentLen := int(le.Uint16(e[28:])), int(le.Uint16(e[30:])), int(le.Uint16(e[32:]))
		total := centralHeader + nameLen + extraLen + commentLen
		if total > len(e) {
			return malformed(at, "entry of %d bytes: got %d left", total, len(e))
		}
		if int64(nameLen) > z.limits.NameBytes {
			return &LimitError{What: "name bytes", Got: int64(nameLen), Limit: z.limits.NameBytes}
		}
		rec := record{
			name:   text[pos+centralHeader : pos+centralHeader+nameLen],
			flags:  le.Uint16(e[8:]),
			method: le.Uint16(e[10:]),
			crc:    le.Uint32(e[16:]),
			packed: int64(le.Uint32(e[20:])),
			size:   int64(le.Uint32(e[24:])),
			offset: int64(le.Uint32(e[42:])),
		}
		if err := rec.zip64(e[centralHeader+nameLen : centralHeader+nameLen+extraLen]); err != nil {
			return &FormatError{at, err}
		}
		pos += total
		if strings.HasSuffix(rec.name, "/") && rec.size == 0 {
			continue // a folder
		}
		if !fs.ValidPath(rec.name) || rec.name == "." {
			return malformed(at, "got the name %q, want a relative path", rec.name)
		}
		if rec.packed < 0 || rec.size < 0 || rec.offset < 0 || rec.offset > z.end {
			return malformed(at, "record %q: got offset %d and sizes %d and %d, want them before offset %d", rec.name,
				rec.offset, rec.packed, rec.size, z.end)
		}
		if rec.method == stored && rec.packed != rec.size {
			return malformed(at, "record %q: got %d bytes stored of %d", rec.name, rec.packed, rec.size)
		}
		z.records = append(z.records, rec)
	}
	return z.name()
}

// name finds the root and indexes the records below it.
func (z *Reader) name() error {
	z.root = ""
	for i := range z.records {
		top, _, ok := strings.Cut(z.records[i].name, "/")
		if !ok || i > 0 && top != z.root {
			z.root = ""
			break
		}
		z.root = top
	}
	z.names = make([]string, len(z.records))
	z.index = make(map[string]int32, len(z.records))
	for i := range z.records {
		rec := &z.records[i]
		name := rec.name
		if z.root != "" {
			name = name[len(z.root)+1:]
		}
		z.names[i] = name
		z.index[name] = int32(i)
		if len(z.index) != i+1 {
			return malformed(z.end, "got two records %q, want one of a name", rec.name)
		}
	}
	return nil
}

// zip64 replaces the fields that did not fit in 32 bits by those of the zip64 extra field (4.5.3).
func (rec *record) zip64(extra []byte) error {
	for len(extra) >= 4 {
		id, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		extra = extra[4:]
		if n > len(extra) {
			return nil // padding: PyTorch and others leave rubbish here
		}
		if id == zip64Extra {
			field := extra[:n]
			for _, v := range []*int64{&rec.size, &rec.packed, &rec.offset} {
				if *v != max32 {
					continue
				}
				if len(field) < 8 {
					return malformed(0, "record %q: got a zip64 field of %d bytes, want 8 for each size", rec.name, n)
				}
				*v = int64(le.Uint64(field))
				field = field[8:]
			}
			return nil
		}
		extra = extra[n:]
	}
	return nil
}
