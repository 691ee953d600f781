package torchexport

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/internal/jsonscan"
	"github.com/memspec/memspec/engine/program"
)

// places reads where nodes come from. Nodes of one statement have equal texts, of which each is
// read once.
type places struct {
	stacks  map[string]*program.Stack
	frames  map[program.Frame]*program.Frame
	calls   map[string]*program.ModuleCall
	modules map[string]*program.Module
	list    []*program.Module
}

func newPlaces() *places {
	return &places{stacks: map[string]*program.Stack{}, frames: map[program.Frame]*program.Frame{},
		calls: map[string]*program.ModuleCall{}, modules: map[string]*program.Module{}}
}

func (p *places) where(n *node) program.Where {
	return program.Where{Stack: p.stack(n.stack), Call: p.call(n.modules)}
}

// stack reads what traceback.format_list writes, the outermost frame first:
//
//	File "net.py", line 13, in forward
//	  out = self.helper(x)
func (p *places) stack(raw []byte) *program.Stack {
	if len(raw) == 0 {
		return nil
	}
	if s, ok := p.stacks[string(raw)]; ok {
		return s
	}
	text, err := jsonscan.Unescape(raw)
	if err != nil {
		text = ""
	}
	s := &program.Stack{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if f, ok := frameLine(line); ok {
			s.Frames = append(s.Frames, p.frame(f))
			continue
		}
		if n := len(s.Frames); n > 0 && s.Frames[n-1].Text == "" { // the line under it
			f := *s.Frames[n-1]
			f.Text = strings.TrimSpace(line)
			s.Frames[n-1] = p.frame(f)
		}
	}
	for i, j := 0, len(s.Frames)-1; i < j; i, j = i+1, j-1 {
		s.Frames[i], s.Frames[j] = s.Frames[j], s.Frames[i]
	}
	if len(s.Frames) == 0 {
		s = nil
	}
	p.stacks[string(raw)] = s
	return s
}

func (p *places) frame(f program.Frame) *program.Frame {
	if have, ok := p.frames[f]; ok {
		return have
	}
	p.frames[f] = &f
	return &f
}

// frameLine reads: File "net.py", line 13, in forward.
func frameLine(line string) (program.Frame, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), `File "`)
	if !ok {
		return program.Frame{}, false
	}
	file, rest, ok := strings.Cut(rest, `", line `)
	if !ok {
		return program.Frame{}, false
	}
	number, function, _ := strings.Cut(rest, ", in ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return program.Frame{}, false
	}
	return program.Frame{File: file, Line: n, Function: function}, true
}

// call reads the calls of modules that a node is in:
// "L__self__,,net.Net;L__self___c,c,torch.nn.modules.conv.Conv2d", the outermost first. A module
// that is called again has a number behind its name, "c@1".
func (p *places) call(raw []byte) *program.ModuleCall {
	if len(raw) == 0 || bytes.Count(raw, []byte(";")) > maxCalls || string(raw) == noModules {
		return nil
	}
	if c, ok := p.calls[string(raw)]; ok {
		return c
	}
	var outer *program.ModuleCall
	entry := raw
	if i := bytes.LastIndexByte(raw, ';'); i >= 0 {
		outer, entry = p.call(raw[:i]), raw[i+1:]
	}
	text, err := jsonscan.Unescape(entry)
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(text, ",")
	fqn, class := rest, ""
	if i := strings.LastIndexByte(rest, ','); i >= 0 {
		fqn, class = rest[:i], rest[i+1:]
	}
	name, again, _ := strings.Cut(fqn, "@")
	number, _ := strconv.Atoi(again)
	c := &program.ModuleCall{Module: p.module(name, class), Number: number, Outer: outer}
	p.calls[string(raw)] = c
	return c
}

// maxCalls is how deep modules may call one another, and how deep they may lie in one another.
const maxCalls = 200

// noModules is what torch/fx/traceback.py writes where it lost the modules.
const noModules = "_empty_nn_module_stack_from_metadata_hook,_empty_nn_module_stack_from_metadata_hook,_empty_nn_module_stack_from_metadata_hook"

// module is the module of a name; parents that no node is in are there too.
func (p *places) module(fqn, class string) *program.Module {
	if m := p.modules[fqn]; m != nil {
		if m.Class == "" {
			m.Class = class
		}
		return m
	}
	m := &program.Module{FQN: fqn, Class: class}
	p.modules[fqn] = m
	if fqn != "" && strings.Count(fqn, ".") <= maxCalls {
		m.Parent = p.module(fqn[:max(strings.LastIndexByte(fqn, '.'), 0)], "")
	}
	p.list = append(p.list, m)
	return m
}
