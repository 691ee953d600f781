// Package regular opens the files that a command was given, or that one of them names. They may
// come from anybody: a link to a device, a pipe, a file that grows. A file is opened once, without
// waiting, and is read only where it is a regular file and within a limit.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNotRegular is the cause of an error of a path that is no regular file.
var ErrNotRegular = errors.New("want a regular file")

// ErrTooLarge is the cause of an error of a file with more bytes than are read of its kind.
var ErrTooLarge = errors.New("want fewer bytes")

func tooLarge(path string, most int64) error {
	return &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("got more than %d bytes, %w", most, ErrTooLarge)}
}

// Open opens a regular file for reading and returns its size in bytes. Errors are of type
// *fs.PathError.
func Open(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if err := refused(path, info); err != nil { // a device is not opened at all
		return nil, 0, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		return nil, 0, err
	}
	if info, err = f.Stat(); err == nil { // it may be another one now
		err = refused(path, info)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// Read reads a regular file of at most so many bytes. Errors are of type *fs.PathError.
func Read(path string, most int64) ([]byte, error) {
	f, size, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > most {
		return nil, tooLarge(path, most)
	}
	return All(f, path, most)
}

// All reads an open file to its end, which may hold at most so many bytes. A file may be longer
// than it said.
func All(r io.Reader, path string, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, tooLarge(path, most)
	}
	return data, nil
}

// refused is the error of what is no regular file.
func refused(path string, info fs.FileInfo) error {
	mode := info.Mode()
	var what string
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	default:
		what = "something else"
	}
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("got %s, %w", what, ErrNotRegular)}
}

// Plain returns err as "PATH: no such file or directory", without the system call that found it;
// any other error as it is.
func Plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && err.Error() == pe.Error() {
		return fmt.Errorf("%s: %w", pe.Path, pe.Err)
	}
	return err
}
