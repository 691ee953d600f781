package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// WorkspaceJSON is the library calls of a memspec.yaml, by who has to answer for them.
type WorkspaceJSON struct {
	Schema int               `json:"schema"`
	Spec   string            `json:"spec"`
	Groups []*workspaceGroup `json:"groups"` // sorted by library, version and class
	Errors []WorkspaceError  `json:"errors"` // cases that cannot be run, in the order of the file
}

type workspaceGroup struct {
	profile.Answerer
	Torch   []string       `json:"torch"`   // releases of the cases, in the order of the file
	Devices []string       `json:"devices"` // likewise
	Wheel   string         `json:"wheel"`   // the package that brings the library
	Calls   []profile.Call `json:"calls"`   // sorted by key
	seen    map[string]bool
}

type WorkspaceError struct {
	Case  string `json:"case"`
	Error string `json:"error"`
}

func NewWorkspaceJSON(path string) *WorkspaceJSON {
	return &WorkspaceJSON{Schema: 1, Spec: path, Groups: []*workspaceGroup{}, Errors: []WorkspaceError{}}
}

func (s *WorkspaceJSON) Add(c *spec.Case, calls []engine.LibraryCall, missing bool) {
	for i := range calls {
		call := &calls[i]
		if missing && call.Known() {
			continue
		}
		at := slices.IndexFunc(s.Groups, func(g *workspaceGroup) bool { return g.Answerer == call.By })
		if at < 0 {
			at = len(s.Groups)
			s.Groups = append(s.Groups, &workspaceGroup{Answerer: call.By, Wheel: wheel(&c.Platform),
				seen: map[string]bool{}})
		}
		g := s.Groups[at]
		if torch := c.Platform.Torch.String(); !slices.Contains(g.Torch, torch) {
			g.Torch = append(g.Torch, torch)
		}
		if name := c.Platform.Device.Name; !slices.Contains(g.Devices, name) {
			g.Devices = append(g.Devices, name)
		}
		if key := call.Call.Key(); !g.seen[key] {
			g.seen[key] = true
			g.Calls = append(g.Calls, call.Call)
		}
	}
}

// Sort puts the groups and their calls in the order of the file.
func (s *WorkspaceJSON) Sort() {
	for _, g := range s.Groups {
		slices.SortFunc(g.Calls, func(a, b profile.Call) int { return strings.Compare(a.Key(), b.Key()) })
	}
	slices.SortFunc(s.Groups, func(a, b *workspaceGroup) int {
		return cmp.Or(strings.Compare(a.Library, b.Library), strings.Compare(a.Version, b.Version),
			strings.Compare(a.Class, b.Class))
	})
}

func (s *WorkspaceJSON) WriteText(w io.Writer, missing bool) error {
	var b strings.Builder
	for _, g := range s.Groups {
		word := "calls"
		if len(g.Calls) == 1 {
			word = "call"
		}
		fmt.Fprintf(&b, "%s %s for %s (torch %s; %s): %d %s\n", g.Library, g.Version, g.Class,
			strings.Join(g.Torch, ", "), strings.Join(g.Devices, ", "), len(g.Calls), word)
		for i := range g.Calls {
			fmt.Fprintf(&b, "  %s\n", g.Calls[i].Key())
		}
	}
	switch {
	case missing && len(s.Groups) > 0:
		fmt.Fprintf(&b, "to ask for them: python -m memshim workspace %s\n", s.Spec)
	case missing && len(s.Errors) == 0:
		fmt.Fprintf(&b, "%s: no library call is without an answer\n", s.Spec)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wheel is the package of a platform's cuDNN, as pip names it.
func wheel(p *platform.Platform) string {
	cuda, _, _ := strings.Cut(p.Release().CUDA, ".")
	version := p.CuDNN.String()
	if p.CuDNN.Build == 0 {
		version = p.Answerer().Version + ".*"
	}
	return fmt.Sprintf("nvidia-cudnn-cu%s==%s", cuda, version)
}
