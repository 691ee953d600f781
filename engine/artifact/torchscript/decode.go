// Package torchscript turns a TorchScript archive, what torch.jit.save writes, into a program.
//
// It reads the records data.pkl and constants.pkl (the objects and the tensors' descriptions),
// code/**.py (classes and functions), *.debug_pkl (where each operation stands in the user's own
// source) and version. Tensor bytes are not read, except constants and buffers of at most 64
// elements, because traced programs compute shapes with them. Function bodies are read and lowered
// when they are first asked for; what a body refers to is resolved then, across files.
//
// Values of an If or Loop are exactly those PyTorch's own graph has, because when a value dies
// depends on it.
//
// Not modelled: the container of PyTorch 1.0 and 1.1 (model.json, refused), bytecode.pkl (mobile
// archives hold the same code as source), and what has never been written by PyTorch's printer:
// comprehensions, break and continue, augmented assignment.
package torchscript

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/program"
)

// ErrLegacy is an archive of PyTorch 1.0 or 1.1: model.json and no data.pkl.
var ErrLegacy = errors.New("got a TorchScript archive of PyTorch 1.1 or older (model.json, no data.pkl), want one " +
	"saved by 1.2 or newer")

// Sniff says whether an archive is TorchScript: it holds code beside data.pkl, or is the container
// of PyTorch 1.0.
func Sniff(f fs.FS) bool {
	if exists(f, "model.json") {
		return true
	}
	if !exists(f, "data.pkl") {
		return false
	}
	return exists(f, "constants.pkl") || exists(f, "code")
}

func exists(f fs.FS, name string) bool {
	_, err := fs.Stat(f, name)
	return err == nil
}

// Decode reads an archive, presented as its top folder. True sizes of records that were stripped
// come from .memspec/stripped.json.
func Decode(f fs.FS) (*program.Program, error) {
	if !exists(f, "data.pkl") && exists(f, "model.json") {
		return nil, ErrLegacy
	}
	d := &decoder{
		fs:     f,
		prog:   &program.Program{Format: "torchscript"},
		types:  map[string]*program.Type{},
		funcs:  map[string]*program.Func{},
		texts:  map[sourceKey]*origin{},
		ops:    map[string]string{},
		frames: map[string]*program.Frame{},
		fixed:  map[string]any{},

		records: map[string]*debugTable{},
	}
	d.low.d = d
	for kind := range d.plain {
		d.plain[kind].Kind = program.TypeKind(kind)
	}
	for _, step := range []func() error{d.list, d.readVersion, d.readSource, d.readObjects, d.finish} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return d.prog, nil
}

// decoder is one archive being read. After Decode it stays behind to lower bodies.
type decoder struct {
	fs         fs.FS
	names      []string // of all records, in the archive's order
	prog       *program.Program
	version    int // of the container
	files      []sourceFile
	types      map[string]*program.Type        // by text
	plain      [program.ClassType]program.Type // types without parts, by kind
	classTypes []*program.Type                 // parts of them
	classes    map[string]*program.Class
	funcs      map[string]*program.Func // free functions
	consts     []any                    // constants.pkl
	root       any                      // data.pkl
	late       []lateConstant
	fixed      map[string]any // literals of classes that nothing changes, by text

	outline python.Parser // one file at a time
	small   python.Parser // annotations and values, forgotten at once

	mu           sync.Mutex // guards what follows: lowering
	low          lowerer
	alike        map[bodyText]alike
	texts        map[sourceKey]*origin
	ranges       rangeMachine
	frames       map[string]*program.Frame // by line
	sources      debugSources
	records      map[string]*debugTable // by record
	debugged     *sourceFile            // whose records were read last
	recordsKnown bool                   // prog.Records is known
	debugBuf     []byte
	ops          map[string]string // operators' names, as printed to ours
}

// list learns the records' names. The zip reader offers them; other file systems are walked.
func (d *decoder) list() error {
	if l, ok := d.fs.(interface{ Names() []string }); ok {
		d.names = l.Names()
		return nil
	}
	return fs.WalkDir(d.fs, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			d.names = append(d.names, name)
		}
		return err
	})
}

// readFile returns a record as text. The bytes are nobody else's.
func (d *decoder) readFile(name string) (string, error) {
	data, err := fs.ReadFile(d.fs, name)
	if err != nil {
		return "", err
	}
	return unsafe.String(unsafe.SliceData(data), len(data)), nil
}

// Container versions: kMinSupportedFileFormatVersion and kMaxSupportedFileFormatVersion of
// caffe2/serialize/versions.h in 2.15.
const minVersion, maxVersion = 1, 10

// maxVersionBytes bounds the record: a number and a newline.
const maxVersionBytes = 64

// readVersion reads the container's version: the record version or, in archives for mobile and
// those of some releases, .data/version.
func (d *decoder) readVersion() error {
	for _, name := range []string{"version", ".data/version"} {
		info, err := fs.Stat(d.fs, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Size() > maxVersionBytes {
			return fmt.Errorf("%s: got %d bytes, want a number", name, info.Size())
		}
		text, err := d.readFile(name)
		if err != nil {
			return err
		}
		v, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return fmt.Errorf("%s: got %q, want a number", name, text)
		}
		if v < minVersion || v > maxVersion {
			return fmt.Errorf("%s: got version %d, want %d to %d", name, v, minVersion, maxVersion)
		}
		d.prog.Producer, d.version = "TorchScript version "+strconv.Itoa(v), v
		return nil
	}
	return errors.New("got no record version and no .data/version, want one")
}

// finish gathers classes and modules, names the tensors and finds the entry.
func (d *decoder) finish() error {
	root, ok := d.root.(*program.Object)
	if !ok {
		return fmt.Errorf("data.pkl: got %s, want an object", literalName(d.root))
	}
	p := d.prog
	p.Root = root
	p.Entry = root.Class.Method("forward")
	for _, c := range d.classes {
		p.Classes = append(p.Classes, c)
	}
	slices.SortFunc(p.Classes, func(a, b *program.Class) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range d.funcs {
		p.Funcs = append(p.Funcs, f)
	}
	slices.SortFunc(p.Funcs, func(a, b *program.Func) int { return strings.Compare(a.Name, b.Name) })
	d.nameTree(root)
	if err := d.readValues(); err != nil {
		return err
	}
	if err := d.findRecords(); err != nil {
		return err
	}
	return program.CheckTables(p)
}
