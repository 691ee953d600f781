package inductor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/memspec/memspec/engine/program"
)

// Where inductor keeps account of what it makes kernels of (torch._inductor.config.trace.provenance_tracking_level, which TORCH_COMPILE_DEBUG switches on), its
// wrapper has a handle above each kernel, and a file beside it tells of which lines of the user's code the handle's kernel was made.

// handles begins the comment above a kernel that names it: [Provenance debug handles] triton_poi_fused_sin_1:3.
const handles = "[Provenance debug handles] "

// The files that tell the lines of a kernel: in a package (torch/_inductor/debug.py create_kernel_information_json), and in the folder of a wrapper
// (dump_inductor_provenance_info, DebugFormatter.fx_graph_transformed).
const (
	kernelsFile = "kernel_information.json"
	nodesFile   = "inductor_provenance_tracking_node_mappings.json"
	graphFile   = "fx_graph_transformed.py"
	codeFile    = "output_code.py"
)

// Beside are the files of a wrapper's folder that are read with it; of a step those of its passes, in a folder each.
var Beside = []string{nodesFile, graphFile,
	"forward/" + codeFile, "forward/" + nodesFile, "forward/" + graphFile, "backward/" + codeFile, "backward/" + nodesFile, "backward/" + graphFile}

// lines are the places in the user's code that a kernel was made of.
type lines struct {
	stack *program.Stack // of its result
	all   []program.Pos  // of everything in it, in order
}

// newLines are those of stacks, the one of the kernel's result first; nil where there is none.
func newLines(stacks []*program.Stack) *lines {
	var l *lines
	for _, s := range stacks {
		w := program.Where{Stack: s}
		at := w.Pos()
		if at.Line == 0 {
			continue
		}
		if l == nil {
			l = &lines{stack: s}
		}
		if !slices.Contains(l.all, at) {
			l.all = append(l.all, at)
		}
	}
	if l != nil {
		slices.SortFunc(l.all, func(a, b program.Pos) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	}
	return l
}

// text names several lines; "" of one, which the place itself tells.
func (l *lines) text() string {
	if l == nil || len(l.all) < 2 {
		return ""
	}
	names := make([]string, 0, len(l.all))
	for _, p := range l.all {
		names = append(names, fmt.Sprintf("%s:%d", path.Base(p.File), p.Line))
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// kernelLines reads a package's file of them; nothing where it has none.
func kernelLines(f fs.FS, record string) (map[string]*lines, error) {
	name := path.Join(path.Dir(record), kernelsFile)
	data, err := readBeside(f, name)
	if data == nil || err != nil {
		return nil, err
	}
	var kernels map[string]struct {
		Stacks []string `json:"stack_traces"`
	}
	if err := json.Unmarshal(data, &kernels); err != nil {
		return nil, fmt.Errorf("%s: got %v, want the stacks of kernels", name, err)
	}
	out := make(map[string]*lines, len(kernels))
	for handle, k := range kernels {
		var stacks []*program.Stack
		for _, text := range k.Stacks {
			stacks = append(stacks, stackOf(text))
		}
		out[handle] = newLines(stacks)
	}
	return out, nil
}

// readBeside reads a file that may not be there.
func readBeside(f fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(f, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Size() > maxText:
		return nil, fmt.Errorf("%s: got %d bytes, want at most %d", name, info.Size(), maxText)
	}
	return fs.ReadFile(f, name)
}

var frame = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`File "([^"\n]+)", line (\d{1,9}), in ([^\n]+)(?:\n +([^\n]+))?`)
})

// stackOf reads a stack as Python prints it, the innermost frame last.
func stackOf(text string) *program.Stack {
	s := &program.Stack{}
	for _, m := range frame().FindAllStringSubmatch(text, 1000) {
		line, _ := strconv.Atoi(m[2])
		s.Frames = append(s.Frames, &program.Frame{File: m[1], Line: line, Function: m[3], Text: m[4]})
	}
	slices.Reverse(s.Frames)
	return s
}

// wrapperLines reads the files of a wrapper's folder; nothing where one of them is not there.
func wrapperLines(f fs.FS) (map[string]*lines, error) {
	if f == nil {
		return nil, nil
	}
	told, err := readBeside(f, nodesFile)
	if told == nil || err != nil {
		return nil, err
	}
	graph, err := readBeside(f, graphFile)
	if graph == nil || err != nil {
		return nil, err
	}
	var kernels struct {
		Nodes map[string][]string `json:"cppCodeToPost"`
	}
	if err := json.Unmarshal(told, &kernels); err != nil {
		return nil, fmt.Errorf("%s: got %v, want the graph's nodes by kernel", nodesFile, err)
	}
	of := nodeLines(string(graph))
	out := make(map[string]*lines, len(kernels.Nodes))
	for handle, nodes := range kernels.Nodes {
		var stacks []*program.Stack
		for _, n := range nodes {
			if s := of[n]; s != nil {
				stacks = append(stacks, s)
			}
		}
		out[handle] = newLines(stacks)
	}
	return out, nil
}

// passLines reads the files of a pass: of one alone from its own folder, of one of a step from the folder forward or backward, if the wrapper there is
// the one that was joined. Numbers of kernels begin anew in each graph: another graph's files would name wrong lines.
func passLines(folder fs.FS, p pass, alone bool) (map[string]*lines, error) {
	if folder == nil || alone {
		return wrapperLines(folder)
	}
	text, err := readBeside(folder, p.kind+"/"+codeFile)
	if err != nil {
		return nil, err
	}
	_, code, _ := strings.Cut(string(text), header)
	if _, joined, _ := strings.Cut(p.text, header); strings.TrimSpace(code) != strings.TrimSpace(joined) {
		return nil, nil
	}
	own, err := fs.Sub(folder, p.kind)
	if err != nil {
		return nil, err
	}
	return wrapperLines(own)
}

var (
	graphPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^# File: (.+):(\d{1,9}) in (\S+), code: (.*)$`) })
	graphNode  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z_]\w*)(?:: "[^"]*")? = `) })
)

// nodeLines reads the listing of a graph, in which a comment tells the place of the nodes beneath it.
func nodeLines(text string) map[string]*program.Stack {
	out := map[string]*program.Stack{}
	var now *program.Stack
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			now = nil
			if m := graphPlace().FindStringSubmatch(line); m != nil {
				n, _ := strconv.Atoi(m[2])
				now = &program.Stack{Frames: []*program.Frame{{File: m[1], Line: n, Function: m[3], Text: m[4]}}}
			}
		case now != nil:
			if m := graphNode().FindStringSubmatch(line); m != nil {
				out[m[1]] = now
			}
		}
	}
	return out
}
