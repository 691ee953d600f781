package aotinductor

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

// Where inductor records what it makes kernels of
// (torch._inductor.config.trace.provenance_tracking_level), its wrapper has a handle above each
// kernel, and a file beside it names the lines of the user's code that the kernel was made of.

// handles begins the comment above a kernel that names it: [Provenance debug handles]
// triton_poi_fused_sin_1:3.
const handles = "[Provenance debug handles] "

// kernelsFile names the lines of a package's kernels (torch/_inductor/debug.py
// create_kernel_information_json).
const kernelsFile = "kernel_information.json"

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
		slices.SortFunc(l.all, func(a, b program.Pos) int {
			return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
		})
	}
	return l
}

// text names several lines; "" of one, which the place itself reports.
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
