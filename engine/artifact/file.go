package artifact

import (
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/regular"
)

// file is what a kind is known by.
type file struct {
	path    string // "" of an archive that is no file
	model   string // which of a package's is meant, "" where it is not said
	size    int64
	from    *os.File        // nil of a folder
	head    []byte          // the first bytes
	folder  *regular.Folder // of a folder
	archive fs.FS           // of a zip archive or folder what is in it; else nil
	zip     *ptzip.Reader   // of a zip archive
}

// Split takes apart FILE.pt2#MODEL, which means one model of a package of several. A file that
// itself is named so is meant with all of its name.
func Split(path string) (file, model string) {
	at := strings.LastIndexByte(path, '#')
	if at <= 0 || at == len(path)-1 || strings.ContainsAny(path[at:], `/\`) {
		return path, ""
	}
	if _, err := os.Lstat(path); err == nil {
		return path, ""
	}
	return path[:at], path[at+1:]
}

// headSize is how much of a file is looked at: a tar header is 512 bytes.
const headSize = 512

// look reads a file's beginning, and its directory where it is a zip archive.
func (f *file) look() error {
	f.head = make([]byte, min(f.size, headSize))
	if n, err := f.from.ReadAt(f.head, 0); err != nil && !errors.Is(err, io.EOF) {
		return &Unrecognized{What: "a file that cannot be read"}
	} else {
		f.head = f.head[:n]
	}
	z, err := ptzip.Open(f.from, f.size)
	switch {
	case errors.Is(err, ptzip.ErrNotZip):
		return nil
	case err != nil:
		return err
	}
	f.archive, f.zip = z, z
	return nil
}

// unpacked is the beginning of what a gzip file holds.
func (f *file) unpacked() []byte {
	z, err := gzip.NewReader(io.NewSectionReader(f.from, 0, f.size))
	if err != nil {
		return nil
	}
	text := make([]byte, 8*headSize)
	n, _ := io.ReadFull(z, text)
	return text[:n]
}

func (f *file) close() {
	if f.from != nil {
		f.from.Close()
	}
	if f.folder != nil {
		f.folder.Close()
	}
}

// has says whether the archive holds a record.
func (f *file) has(name string) bool {
	if f.archive == nil {
		return false
	}
	_, err := fs.Stat(f.archive, name)
	return err == nil
}
