package artifact

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/memspec/memspec/engine/artifact/aotinductor"
	"github.com/memspec/memspec/engine/artifact/torchexport"
	"github.com/memspec/memspec/engine/artifact/torchscript"
	"github.com/memspec/memspec/engine/recording"
)

// kind is a kind of file that people have where an artifact is wanted.
type kind struct {
	name  string             // of those that can be read
	line  string             // what it is, for people
	say   func(*file) string // the line of a file, where it depends on it
	want  string             // what to use instead; "" is any kind that can be read
	is    func(*file) bool
	open  func(*file) (*Artifact, error) // nil of those that cannot be read
	strip bool                           // its weights are their own records, which Strip empties
}

// kinds are all that are known, in the order they are tried: first what can be read, of the others
// the archives before plain files, and in each the more special before the more general.
var kinds = [...]kind{
	{name: "torchscript", line: "a TorchScript archive (torch.jit.save)", is: inArchive(torchscript.Sniff),
		open: openTorchScript, strip: true},
	{name: "torchexport", line: "a torch.export program", is: isExported, open: openTorchExport, strip: true},
	{name: aotinductor.Format, line: "an AOTInductor package (torch._inductor.aoti_compile_and_package)",
		is: inArchive(aotinductor.Sniff), open: openAOTInductor, strip: true},
	{name: ServedFormat, line: "a recording of an engine's start (memshim serve)", is: isServed, open: openServed},
	{name: recordingFormat, line: "a recording (memshim measure)", is: isRecording, open: openRecording},
	{name: "snapshot", line: "a memory snapshot (torch.cuda.memory._dump_snapshot)", is: isSnapshot, open: openSnapshot},

	{line: "a checkpoint of torch.save, which holds weights and no program", want: buildAndRecord, is: holds("data.pkl")},
	{line: "a folder without data.pkl", is: func(f *file) bool { return f.archive != nil && f.zip == nil }},
	{line: "a zip archive around another", is: func(f *file) bool { return f.inner() != "" }, say: func(f *file) string {
		return "a zip archive around " + f.inner() + ": unpack it first"
	}},
	{line: "a zip archive without data.pkl", is: func(f *file) bool { return f.archive != nil }},

	{line: "an empty file", is: func(f *file) bool { return f.size == 0 }},
	{line: "a truncated zip archive: it has no directory at its end", is: begins("PK\x03\x04")},
	{line: "a checkpoint of torch.save (in the format before 1.6), which holds weights and no program",
		want: buildAndRecord, is: begins(legacyMagic)},
	{line: "a safetensors file, which holds weights and no program", want: buildAndRecord, is: isSafetensors},
	{line: "a compiled library, which holds no program that can be read", is: begins("\x7fELF")},
	{line: "an ONNX model, which PyTorch does not run", want: buildAndRecord, is: func(f *file) bool {
		made := bytes.Contains(f.head[:min(len(f.head), 64)], []byte("pytorch"))
		return bytes.HasPrefix(f.head, []byte("\x08")) && (made || strings.EqualFold(path.Ext(f.path), ".onnx"))
	}},
	{line: "a Git LFS pointer: the file itself has not been fetched (git lfs pull)",
		is: begins("version https://git-lfs.github.com/spec/")},
	{line: "a GGUF file, which holds weights and no program that can be read", want: buildAndRecord, is: begins("GGUF")},
	{line: "an HDF5 file (Keras writes its weights so), which holds weights and no program", want: buildAndRecord,
		is: begins("\x89HDF\r\n\x1a\n")},
	{line: "a gzip file: unpack it first", is: begins("\x1f\x8b")},
	{line: "a tar archive: unpack it first", is: func(f *file) bool {
		return len(f.head) > 262 && string(f.head[257:262]) == "ustar"
	}},
	{line: "an HTML page: what was downloaded is a web page, not the file", is: isHTML},
	{want: "the recording of one rank", is: isRanks, say: func(f *file) string {
		return "the list of a case's ranks" + f.rankFiles()
	}},
	{line: "JSON that is no recording", is: func(f *file) bool { return isObject(f.head) }},
	{line: "a wrapper that torch.compile wrote (output_code.py)", want: recordCompiled, is: isWrapper},
	{line: "Python source: what it builds has to be exported first (python -m memshim export)", is: func(f *file) bool {
		return strings.EqualFold(path.Ext(f.path), ".py")
	}},
	{line: "a text file", is: isText},
}

// lineOf is what a kind is, by its name.
func lineOf(name string) string {
	for i := range kinds {
		if kinds[i].name == name {
			return kinds[i].line
		}
	}
	return name
}

// readable lists the kinds that can be read.
func readable() string {
	var lines []string
	for i := range kinds {
		if kinds[i].open != nil {
			lines = append(lines, kinds[i].line)
		}
	}
	return strings.Join(lines[:len(lines)-1], ", ") + " or " + lines[len(lines)-1]
}

// kind finds a file's row, and says what the file is; nil where it is none of them.
func (f *file) kind() (*kind, string) {
	for i := range kinds {
		k := &kinds[i]
		if !k.is(f) {
			continue
		}
		if k.say != nil {
			return k, k.say(f)
		}
		return k, k.line
	}
	return nil, "a file of no kind that is known"
}

func inArchive(is func(fs.FS) bool) func(*file) bool {
	return func(f *file) bool { return f.archive != nil && is(f.archive) }
}

func holds(name string) func(*file) bool { return func(f *file) bool { return f.has(name) } }

func begins(magic string) func(*file) bool {
	return func(f *file) bool { return bytes.HasPrefix(f.head, []byte(magic)) }
}

// legacyMagic begins what torch.save wrote before it wrote zip archives: the pickled MAGIC_NUMBER
// of torch/serialization.py.
const legacyMagic = "\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."

// isExported knows a program of torch.export: a package of compiled code (AOTInductor) has the same
// marks.
func isExported(f *file) bool {
	return f.archive != nil && !aotinductor.Sniff(f.archive) && torchexport.Sniff(f.archive)
}

// isRecording knows the two forms of a recording by their beginning: an object that reports its
// schema and its case, as it is or compressed.
func isRecording(f *file) bool {
	text := f.head
	if recording.IsRec(f.head) {
		text = f.unpacked()
	}
	return isObject(text) && bytes.Contains(text, []byte(`"schema"`)) && bytes.Contains(text, []byte(`"case"`))
}

// isRanks knows the list of the recordings of a case's ranks (engine/recording/FORMAT.md).
func isRanks(f *file) bool {
	return strings.HasSuffix(f.path, ranksSuffix) && isObject(f.head) && bytes.Contains(f.head, []byte(`"world_size"`))
}

// ranksSuffix ends the name of such a list, whose recordings lie beside it: NAME.rank0.rec.
const ranksSuffix = ".ranks.json"

// rankFiles names the recordings beside a list of ranks, the lowest and the highest rank of many.
func (f *file) rankFiles() string {
	dir, name := filepath.Split(strings.TrimSuffix(f.path, ranksSuffix))
	entries, _ := os.ReadDir(filepath.Clean(dir))
	numbered := map[int]string{}
	for _, e := range entries {
		rest, is := strings.CutPrefix(e.Name(), name+".rank")
		number, rec := strings.CutSuffix(rest, ".rec")
		if n, err := strconv.Atoi(number); is && rec && err == nil {
			numbered[n] = e.Name()
		}
	}
	ranks := slices.Sorted(maps.Keys(numbered))
	switch len(ranks) {
	case 0:
		return ", without a recording beside it"
	case 1:
		return ", " + numbered[ranks[0]]
	}
	return fmt.Sprintf(", %s to %s", numbered[ranks[0]], numbered[ranks[len(ranks)-1]])
}

// isWrapper knows what torch.compile writes for a graph: TORCH_COMPILE_DEBUG's output_code.py, and
// the file in inductor's cache.
func isWrapper(f *file) bool {
	return bytes.HasPrefix(bytes.TrimLeft(f.head, "\r\n\t "), []byte("# AOT ID: ["))
}

// isObject says whether a text begins like a JSON object.
func isObject(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, "\xef\xbb\xbf \t\r\n"), []byte("{"))
}

// isSnapshot knows a pickle: what is in it, its reader says.
func isSnapshot(f *file) bool {
	return f.archive == nil && len(f.head) > 1 && f.head[0] == 0x80 && f.head[1] <= 5 &&
		!bytes.HasPrefix(f.head, []byte(legacyMagic))
}

// isSafetensors: eight bytes of length, then a JSON object.
func isSafetensors(f *file) bool {
	if len(f.head) < 9 || f.head[8] != '{' {
		return false
	}
	n := binary.LittleEndian.Uint64(f.head)
	return n > 1 && n <= uint64(f.size-8)
}

func isHTML(f *file) bool {
	text := strings.ToLower(string(bytes.TrimLeft(f.head, "\xef\xbb\xbf \t\r\n")))
	return strings.HasPrefix(text, "<!doctype html") || strings.HasPrefix(text, "<html")
}

// isText says whether a file begins with text; a letter may be cut at the end of what is looked at.
func isText(f *file) bool {
	text := f.head
	for cut := 0; cut < utf8.UTFMax && len(text) > 0 && !utf8.Valid(text); cut++ {
		text = text[:len(text)-1]
	}
	return utf8.Valid(text) && !bytes.ContainsRune(text, 0)
}

// inner is an archive in the archive.
func (f *file) inner() string {
	if f.archive == nil {
		return ""
	}
	entries, _ := fs.ReadDir(f.archive, ".")
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

func openTorchScript(f *file) (*Artifact, error) {
	p, err := torchscript.Decode(f.archive)
	if err != nil {
		return nil, err
	}
	return &Artifact{Producer: p.Producer, Program: p, Runtimes: []string{"eager", "torchscript"},
		Modes: []string{"inference"}}, nil
}

func openTorchExport(f *file) (*Artifact, error) {
	p, err := torchexport.Decode(f.archive)
	if err != nil {
		return nil, err
	}
	return &Artifact{Producer: p.Producer, Program: p, Runtimes: []string{"eager", "export"},
		Modes: []string{"inference"}}, nil
}

func openAOTInductor(f *file) (*Artifact, error) {
	p, err := aotinductor.Decode(f.archive, f.model)
	if err != nil {
		return nil, err
	}
	return &Artifact{Producer: p.Producer, Program: p, Runtimes: []string{"compiled"}, Modes: []string{"inference"}}, nil
}
