// Package artifact opens the files that hold a model's program and hands them to the decoder of their format.
//
// An archive is an fs.FS, so that a zip file, a folder and a test's map read alike. Nothing after this package knows which format a
// program came from. Strip makes a copy of an archive without its weights.
package artifact

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/memspec/memspec/engine/artifact/torchscript"
	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/program"
)

// Format is one kind of artifact.
type Format struct {
	Name   string
	Sniff  func(fs.FS) bool
	Decode func(fs.FS) (*program.Program, error)
}

// formats is the only list, in the order they are tried.
var formats = [...]Format{
	{Name: "torchscript", Sniff: torchscript.Sniff, Decode: torchscript.Decode},
}

// ErrUnrecognized is what an Unrecognized is.
var ErrUnrecognized = errors.New("not an artifact that can be read")

// Unrecognized is a file that holds no program this package reads, with what it is instead.
type Unrecognized struct{ What string }

func (e *Unrecognized) Error() string {
	return "got " + e.What + ", want a TorchScript archive (torch.jit.save)"
}

// Is makes errors.Is(err, ErrUnrecognized) hold.
func (e *Unrecognized) Is(target error) bool { return target == ErrUnrecognized }

// Decode reads an archive, presented as its top folder.
func Decode(f fs.FS) (*program.Program, error) {
	for _, format := range formats {
		if format.Sniff(f) {
			return format.Decode(f)
		}
	}
	return nil, &Unrecognized{whatArchive(f)}
}

// Open reads the artifact at a path: an archive, or a folder with an archive's content. The file stays open as long as the program is in
// use, because function bodies are read when they are first wanted.
func Open(path string) (*program.Program, error) {
	p, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	return p, nil
}

// plain takes the path from an error of os: the caller names it.
func plain(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) && e.Op != "read" {
		return e.Err
	}
	return err
}

func open(path string) (*program.Program, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return Decode(os.DirFS(path))
	}
	z, f, err := openArchive(path)
	if err != nil {
		return nil, err
	}
	p, err := Decode(z)
	if err != nil {
		f.Close()
		return nil, err
	}
	return p, nil
}

// openArchive opens a zip archive, or says what the file is instead. The caller closes the file.
func openArchive(path string) (*ptzip.Reader, *os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for its other end
		err = &Unrecognized{"something that is no plain file"}
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	z, err := ptzip.Open(f, info.Size())
	if errors.Is(err, ptzip.ErrNotZip) {
		err = &Unrecognized{whatFile(f, info.Size())}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return z, f, nil
}

// legacyMagic begins what torch.save wrote before it wrote zip archives: the pickled MAGIC_NUMBER of torch/serialization.py.
var legacyMagic = []byte("\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.")

// whatFile says what a file that is no zip archive is.
func whatFile(f io.ReaderAt, size int64) string {
	head := make([]byte, min(size, 64))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return "a file that cannot be read"
	}
	switch {
	case size == 0:
		return "an empty file"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "a truncated zip archive: it has no directory at its end"
	case bytes.HasPrefix(head, legacyMagic):
		return "a checkpoint of torch.save (in the format before 1.6), which holds weights and no program"
	case isSafetensors(head, size):
		return "a safetensors file, which holds weights and no program"
	case len(head) > 1 && head[0] == 0x80 && head[1] <= 5:
		return "a raw pickle (memory snapshots are read by memspec replay)"
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return "a compiled library, which holds no program that can be read"
	case bytes.HasPrefix(head, []byte("\x08")) && bytes.Contains(head, []byte("pytorch")):
		return "an ONNX model"
	}
	return "a file that is no zip archive"
}

// isSafetensors: eight bytes of length, then a JSON object.
func isSafetensors(head []byte, size int64) bool {
	if len(head) < 9 || head[8] != '{' {
		return false
	}
	n := binary.LittleEndian.Uint64(head)
	return n > 1 && n <= uint64(size-8)
}

// whatArchive says what an archive of no format is.
func whatArchive(f fs.FS) string {
	has := func(name string) bool { _, err := fs.Stat(f, name); return err == nil }
	switch {
	case has("data/aotinductor"):
		return "an AOTInductor package: compiled code, which holds no program that can be read"
	case isExported(f), has("serialized_exported_program.json"):
		return "a torch.export program: torch.export programs are not read yet"
	case has("data.pkl"):
		return "a checkpoint of torch.save, which holds weights and no program"
	}
	if _, zipped := f.(*ptzip.Reader); !zipped {
		return "a folder without data.pkl"
	}
	if name := inner(f); name != "" {
		return "a zip archive around " + name + ": unpack it first"
	}
	return "a zip archive without data.pkl"
}

// isExported says whether f is a package of torch.export programs (torch/export/pt2_archive).
func isExported(f fs.FS) bool {
	for _, name := range []string{"models", "archive_format"} {
		if _, err := fs.Stat(f, name); err != nil {
			return false
		}
	}
	return true
}

// inner is an archive in the archive.
func inner(f fs.FS) string {
	entries, err := fs.ReadDir(f, ".")
	if err != nil {
		return ""
	}
	for _, e := range entries {
		switch strings.ToLower(path.Ext(e.Name())) {
		case ".pt", ".pth", ".ptl", ".pt2", ".ts", ".jit":
			if !e.IsDir() {
				return e.Name()
			}
		}
	}
	return ""
}
