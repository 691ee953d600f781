// Package artifact opens the files that memspec predicts from, and says of any other file what it
// is.
//
// kinds is the one list: each row knows a kind of file by signature and names it in a line; the
// rows that can be read open it. An Artifact holds a program, which is then run abstractly, or a
// run that was recorded, which enters at trace; it says what it can answer, and refuses the rest in
// one place. Nothing after this package knows which format a program came from. Strip makes a copy
// of an archive without its weights.
package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/artifact/aotinductor"
	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/trace"
)

// Artifact is an opened file. It holds a program, a recorded run or the recorded start of an
// engine.
type Artifact struct {
	Format   string            // the name of its kind
	Producer string            // what it says of its maker
	Program  *program.Program  // nil of a recorded run
	Recorded *Recorded         // nil of a program
	Served   *recording.Served // the start of an engine in the place of both; else nil
	// how it can be run, what is meant where nobody says first; none where a recorded run does not say
	// how it was
	Runtimes []string
	Modes    []string // what can be asked of it; likewise
}

// Recorded is a run as PyTorch's allocator recorded it, on one device.
type Recorded struct {
	*trace.Recording
	Header *recording.Header // what was run, and on what; nil of a memory snapshot, which does not record
	Others []OtherRun        // the same run with other values, those that take otherwise
}

// OtherRun is a recorded run with other values than the recording's own.
type OtherRun struct {
	Values string
	Trace  *trace.Trace
	OOM    *recording.OutOfMemory // where memory ran out while it was recorded
}

// Refusal is something that an artifact cannot answer.
type Refusal struct {
	What      string // runtime, mode
	Got       string
	Want      []string
	Artifact  string // the line of its kind
	IsProgram bool
}

func (e *Refusal) Error() string {
	why := "is what can be predicted of"
	if !e.IsProgram {
		why = "is what was recorded in"
	}
	return fmt.Sprintf("got %s %s, want %s: that %s %s", e.What, e.Got, strings.Join(e.Want, " or "), why, e.Artifact)
}

// Answers says whether the artifact can be asked for a run of a runtime in a mode; the empty ones
// are its usual. The error is a *Refusal.
func (a *Artifact) Answers(runtime, mode string) error {
	for _, q := range []struct {
		what, got string
		want      []string
	}{{"runtime", runtime, a.Runtimes}, {"mode", mode, a.Modes}} {
		if q.got != "" && len(q.want) > 0 && !slices.Contains(q.want, q.got) {
			return &Refusal{q.what, q.got, q.want, lineOf(a.Format), a.Program != nil}
		}
	}
	return nil
}

// ErrUnrecognized is what an Unrecognized is.
var ErrUnrecognized = errors.New("not an artifact that can be read")

// Unrecognized is a file that is not what was wanted, with what it is instead.
type Unrecognized struct{ What, Want string } // an empty Want is any artifact

func (e *Unrecognized) Error() string {
	if e.Want != "" {
		return "got " + e.What + ", want " + e.Want
	}
	return "got " + e.What + ", want " + readable()
}

// What to use instead of a file that cannot be read.
const (
	capture        = "(python -m memshim capture FILE.py:NAME --input INPUT --on DEVICE -o model.rec)"
	buildAndRecord = "the model: build it in Python, as from its config, and record it " + capture
	recordCompiled = "a recording of the compiled model's run " + capture
)

// Is makes errors.Is(err, ErrUnrecognized) hold.
func (e *Unrecognized) Is(target error) bool { return target == ErrUnrecognized }

// Open reads the artifact at a path: a file, or a folder with an archive's content. An archive
// stays open as long as its program is in use, because function bodies are read when they are first
// wanted.
func Open(path string) (*Artifact, error) {
	a, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	return a, nil
}

// Decode reads a program's archive, presented as its top folder.
func Decode(f fs.FS) (*Artifact, error) { return (&file{archive: f}).open() }

// Unpack reads a program's archive from memory: a zip archive's bytes.
func Unpack(data []byte) (*Artifact, error) {
	z, err := ptzip.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	return Decode(z)
}

// What says by signature what the file at a path is: the name of its kind, "" where it is none that
// can be read, and a line for people: "a TorchScript archive (torch.jit.save)", "an ONNX model".
func What(path string) (name, line string, err error) {
	f, err := openFile(path)
	if err != nil {
		var unrecognized *Unrecognized
		if errors.As(err, &unrecognized) {
			return "", unrecognized.What, nil
		}
		return "", "", fmt.Errorf("%s: %w", path, plain(err))
	}
	defer f.close()
	k, line := f.kind()
	if k == nil || k.open == nil {
		return "", line, nil
	}
	return k.name, line, nil
}

func open(path string) (*Artifact, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	a, err := f.open()
	if err != nil || a.Program == nil {
		f.close()
	}
	return a, err
}

// open opens a file by its kind.
func (f *file) open() (*Artifact, error) {
	k, what := f.kind()
	if k == nil {
		return nil, &Unrecognized{What: what}
	}
	if k.open == nil {
		return nil, &Unrecognized{What: what, Want: k.want}
	}
	if f.model != "" && k.name != aotinductor.Format {
		return nil, fmt.Errorf("got the model %s of %s, want one of %s: no other file has several", f.model, what,
			lineOf(aotinductor.Format))
	}
	a, err := k.open(f)
	if err != nil {
		return nil, err
	}
	a.Format = k.name
	return a, nil
}

// plain takes the path from an error of os: the caller names it.
func plain(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) && e.Op != "read" {
		return e.Err
	}
	return err
}

// openFile opens a file to look at it, a zip archive as what is in it. The caller closes it.
func openFile(path string) (*file, error) {
	path, model := Split(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		folder, err := regular.OpenFolder(path, ptzip.MaxRecord)
		if err != nil {
			return nil, err
		}
		return &file{archive: folder, folder: folder, model: model}, nil
	}
	from, size, err := regular.Open(path)
	if errors.Is(err, regular.ErrNotRegular) {
		return nil, &Unrecognized{What: "something that is no plain file"}
	}
	if err != nil {
		return nil, err
	}
	f := &file{path: path, model: model, size: size, from: from}
	if err := f.look(); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}
