package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/spec"
)

// sidecarSuffix names the file beside an artifact that tells how it was made (engine/recording/FORMAT.md).
const sidecarSuffix = ".inputs.json"

// maxSidecar bounds it.
const maxSidecar = 16 << 20

// sidecarText is the least text of an object in it: a file with its hash.
const sidecarText = 64

// maxDepth bounds the modules in one another that a sidecar names.
const maxDepth = 1000

// sidecar is what an artifact was made with. Other keys may stand beside these.
type sidecar struct {
	Inputs []string        `json:"inputs"` // in the grammar of --input
	Made   *recording.Made `json:"made"`   // nil where it does not tell
	// Releases are the results that Python let go of while a program was exported, in order: each with the newest result that there was then.
	Releases [][2]string `json:"releases"`
	// Operators says whether the live model runs the program's operators; nil where it was not looked at.
	Operators *struct {
		Same  bool   `json:"same"`
		First string `json:"first"` // difference
	} `json:"operators"`
	// Contiguous says whether the live model calls contiguous() on what attention gives and it had nothing to copy; nil where it was not looked at.
	Contiguous *bool `json:"contiguous"`
	// Retyped says by how a run differs from the export, under autocast or with parameters and inputs of another dtype, where the live model runs other
	// operators than the program then; "" where it runs the same. nil where it was not looked at.
	Retyped *struct {
		Autocast *string `json:"autocast"`
		DType    *string `json:"dtype"`
	} `json:"retyped"`
	// Modules are those of the live model that hold tensors, parents first, in the order in which they are moved to a device; none where the program tells it.
	Modules []string `json:"modules"`
	// Eager is the program that the live model runs, where that is another one than the artifact's; nil where it is not told.
	Eager *struct {
		Program  []byte      `json:"program"` // an archive without weights
		Releases [][2]string `json:"releases"`
	} `json:"eager"`
}

// readSidecar reads the file beside an artifact; nil where there is none.
func readSidecar(artifact string) (*sidecar, error) {
	path := artifact + sidecarSuffix
	data, err := regular.Read(path, maxSidecar)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := regular.CheckJSON(data, sidecarText); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &sidecar{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i, m := range s.Modules {
		if depth := strings.Count(m, ".") + 1; depth > maxDepth {
			return nil, fmt.Errorf("%s: modules[%d]: got a path of %d names, want at most %d", path, i, depth, maxDepth)
		}
	}
	if s.Made != nil {
		if err := s.Made.Check(); err != nil {
			return nil, fmt.Errorf("%s: made: %w", path, err)
		}
	}
	return s, nil
}

// SidecarInputs reads the inputs that were written beside an artifact when it was exported; none where there is no such file.
func SidecarInputs(artifact string) ([]spec.Input, error) {
	s, err := readSidecar(artifact)
	if err != nil || s == nil {
		return nil, err
	}
	out := make([]spec.Input, len(s.Inputs))
	for i, text := range s.Inputs {
		if out[i], err = spec.ParseInput(text); err != nil {
			return nil, fmt.Errorf("%s: inputs[%d] %s: %w", artifact+sidecarSuffix, i, text, err)
		}
	}
	return out, nil
}

// readSeen reads what the sidecar of a program tells of the live model.
func (m *Model) readSeen(s *sidecar) error {
	if s == nil || m.Artifact.Program == nil {
		return nil
	}
	var err error
	if m.Artifact.Program.Tells == program.TellsModules && s.Releases != nil {
		if m.seen, err = seen(m.Artifact.Program, s.Releases); err != nil {
			return fmt.Errorf("%s: releases: %w", m.Path+sidecarSuffix, err)
		}
		s.of(m.seen)
		switch o := s.Operators; {
		case o == nil:
			m.seen.Differs = olderExport
		case !o.Same && o.First == "":
			return fmt.Errorf("%s: operators: got no first difference, want one where they are not the same", m.Path+sidecarSuffix)
		case !o.Same:
			m.seen.Differs = strings.Join(strings.Fields(o.First), " ") // one line
		}
	}
	if s.Eager != nil {
		m.eager = sync.OnceValues(func() (*Model, error) { return s.eager(m.Path + sidecarSuffix) })
	}
	return nil
}

// eager reads the program that the live model runs: other runs do without.
func (s *sidecar) eager(path string) (*Model, error) {
	a, err := artifact.Unpack(s.Eager.Program)
	if err == nil && (a.Program == nil || a.Program.Tells != program.TellsModules) {
		err = fmt.Errorf("got a %s artifact, want an exported program", a.Format)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: eager: %w", path, err)
	}
	m := &Model{Path: path, Artifact: a}
	if m.seen, err = seen(a.Program, s.Eager.Releases); err != nil {
		return nil, fmt.Errorf("%s: eager: releases: %w", path, err)
	}
	s.of(m.seen)
	return m, nil
}

// of adds what the sidecar tells of the live model whatever program is run for it.
func (s *sidecar) of(to *fx.Seen) {
	to.Contiguous, to.Modules = s.Contiguous == nil || *s.Contiguous, s.Modules
	to.Autocast, to.Converted = olderExport, olderExport
	if s.Retyped != nil {
		for first, told := range map[*string]*string{&to.Autocast: s.Retyped.Autocast, &to.Converted: s.Retyped.DType} {
			if told != nil {
				*first = strings.Join(strings.Fields(*told), " ") // one line
			}
		}
	}
}

const olderExport = "not compared: the program was exported by an older memshim"

// seen are the releases of a program's results.
func seen(p *program.Program, releases [][2]string) (*fx.Seen, error) {
	out := &fx.Seen{Releases: make([]lifetime.Release, len(releases))}
	for i, r := range releases {
		out.Releases[i] = lifetime.Release{Value: r[0], After: r[1]}
	}
	g, err := p.Entry.Graph()
	if err == nil {
		_, err = lifetime.Told(g, out.Releases)
	}
	return out, err
}
