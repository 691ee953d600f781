package ptzip

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Open opens a record or a folder. A stored record of any size also offers ReadAt and Seek and is
// not read until they are called: that is how an archive inside the archive is opened.
func (z *Reader) Open(name string) (fs.File, error) {
	if info, ok := z.folder(name); ok {
		return &folderFile{info: info, entries: z.entries(name)}, nil
	}
	i, err := z.find("open", name)
	if err != nil {
		return nil, err
	}
	info := z.info(i)
	if z.records[i].method == stored && info.size > MaxSmall {
		s, err := z.section(i)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return &bigFile{SectionReader: s, info: info, weight: IsWeight(name)}, nil
	}
	data, err := z.read(i, nil)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &smallFile{Reader: bytes.NewReader(data), info: info}, nil
}

// Stat reports a record's size without reading it.
func (z *Reader) Stat(name string) (fs.FileInfo, error) {
	if info, ok := z.folder(name); ok {
		return info, nil
	}
	i, err := z.find("stat", name)
	if err != nil {
		return nil, err
	}
	return z.info(i), nil
}

// ReadDir lists a folder by name.
func (z *Reader) ReadDir(name string) ([]fs.DirEntry, error) {
	if _, ok := z.folder(name); !ok {
		err := fs.ErrNotExist
		if !fs.ValidPath(name) {
			err = fs.ErrInvalid
		}
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	return z.entries(name), nil
}

// entries returns what a folder holds, by name.
func (z *Reader) entries(name string) []fs.DirEntry {
	prefix := ""
	if name != "." {
		prefix = name + "/"
	}
	var out []fs.DirEntry
	seen := map[string]bool{}
	for i, full := range z.names {
		rest, ok := strings.CutPrefix(full, prefix)
		if !ok {
			continue
		}
		if top, _, deeper := strings.Cut(rest, "/"); !deeper {
			out = append(out, fs.FileInfoToDirEntry(z.info(int32(i))))
		} else if !seen[top] {
			seen[top] = true
			out = append(out, fs.FileInfoToDirEntry(fileInfo{name: top, dir: true}))
		}
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out
}

// folder says whether the name is one. A record of the same name comes first.
func (z *Reader) folder(name string) (fileInfo, bool) {
	if name == "." {
		return fileInfo{name: ".", dir: true}, true
	}
	if _, ok := z.index[name]; ok || !fs.ValidPath(name) {
		return fileInfo{}, false
	}
	for _, full := range z.names {
		if len(full) > len(name) && full[len(name)] == '/' && full[:len(name)] == name {
			return fileInfo{name: path.Base(name), dir: true}, true
		}
	}
	return fileInfo{}, false
}

func (z *Reader) info(i int32) fileInfo {
	return fileInfo{name: path.Base(z.names[i]), size: z.records[i].size}
}

// fileInfo describes a record or folder: archives of PyTorch carry no times and no modes.
type fileInfo struct {
	name string
	size int64
	dir  bool
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return i.dir }
func (i fileInfo) Sys() any           { return nil }
func (i fileInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

type smallFile struct {
	*bytes.Reader
	info fileInfo
}

func (f *smallFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *smallFile) Close() error               { return nil }

// bigFile is a stored record that is read where asked. Weights cannot be read through, only at a
// place.
type bigFile struct {
	*io.SectionReader
	info   fileInfo
	weight bool
}

func (f *bigFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *bigFile) Close() error               { return nil }

func (f *bigFile) Read(p []byte) (int, error) {
	if f.weight {
		return 0, &LimitError{What: "weight bytes", Name: f.info.name, Got: f.info.size, Limit: MaxSmall}
	}
	return f.SectionReader.Read(p)
}

type folderFile struct {
	info    fileInfo
	entries []fs.DirEntry
}

func (f *folderFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *folderFile) Close() error               { return nil }
func (f *folderFile) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.name, Err: fs.ErrInvalid}
}

func (f *folderFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		out := f.entries
		f.entries = nil
		return out, nil
	}
	if len(f.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.entries))
	out := f.entries[:n]
	f.entries = f.entries[n:]
	return out, nil
}
