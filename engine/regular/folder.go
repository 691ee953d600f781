package regular

import (
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
)

// A Folder is the content of a folder as a file system: regular files and folders alone, none
// reached by a link that leads out of it.
type Folder struct {
	root   *os.Root
	most   int64        // bytes of one file
	opened atomic.Int64 // bytes of all files that were opened
}

// folderShare is how many files of the largest size may be opened in all.
const folderShare = 4

// OpenFolder opens a folder. A file in it with more than most bytes is not opened.
func OpenFolder(path string, most int64) (*Folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Folder{root: root, most: most}, nil
}

// Close closes the folder. Files that were opened stay open.
func (f *Folder) Close() error { return f.root.Close() }

// Open opens a file or a folder.
func (f *Folder) Open(name string) (fs.File, error) {
	if err := f.check("open", name); err != nil {
		return nil, err
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = f.allowed(name, info)
	}
	if err == nil && !info.IsDir() && f.opened.Add(info.Size()) > folderShare*f.most {
		err = &fs.PathError{Op: "open", Path: name,
			Err: fmt.Errorf("got more than %d bytes in the folder's files, want at most that", folderShare*f.most)}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// Stat describes a file or a folder without opening it.
func (f *Folder) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	return f.root.Stat(name)
}

// check says whether a name may be opened.
func (f *Folder) check(op, name string) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	info, err := f.root.Stat(name)
	if err != nil {
		return err
	}
	return f.allowed(name, info)
}

func (f *Folder) allowed(name string, info fs.FileInfo) error {
	if info.IsDir() {
		return nil
	}
	if err := refused(name, info); err != nil {
		return err
	}
	if info.Size() > f.most {
		return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("got %d bytes, want at most %d", info.Size(), f.most)}
	}
	return nil
}
