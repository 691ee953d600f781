package origin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/spec"
)

// SidecarSuffix names the file beside an artifact that records how it was made
// (engine/recording/FORMAT.md).
const SidecarSuffix = ".inputs.json"

// maxSidecar bounds it.
const maxSidecar = 16 << 20

// sidecarText is the least text of an object in it: a file with its hash.
const sidecarText = 64

// maxDepth bounds the modules in one another that a sidecar names.
const maxDepth = 1000

// A Sidecar is what an artifact was made with. Other keys may stand beside these.
type Sidecar struct {
	Inputs []string        `json:"inputs"` // in the grammar of --input
	Made   *recording.Made `json:"made"`   // nil where it does not record
	// Releases are the results that Python released while a program was exported, in order: each
	// with the newest result that there was then.
	Releases [][2]string `json:"releases"`
	// Operators says whether the live model runs the program's operators; nil where it was not looked
	// at.
	Operators *struct {
		Same  bool   `json:"same"`
		First string `json:"first"` // difference
	} `json:"operators"`
	// Contiguous says whether the live model calls contiguous() on what attention gives and it had
	// nothing to copy; nil where it was not looked at.
	Contiguous *bool `json:"contiguous"`
	// Retyped says by how a run differs from the export, under autocast or with parameters and
	// inputs of another dtype, where the live model runs other operators than the program then; ""
	// where it runs the same. nil where it was not looked at.
	Retyped *struct {
		Autocast *string `json:"autocast"`
		DType    *string `json:"dtype"`
	} `json:"retyped"`
	// Modules are those of the live model that hold tensors, parents first, in the order in which
	// they are moved to a device; none where the program states it.
	Modules []string `json:"modules"`
	// Eager is the program that the live model runs, where that is another one than the artifact's;
	// nil where it is not known.
	Eager *struct {
		Program  []byte      `json:"program"` // an archive without weights
		Releases [][2]string `json:"releases"`
	} `json:"eager"`
}

// ReadSidecar reads the file beside an artifact; nil where there is none.
func ReadSidecar(artifact string) (*Sidecar, error) {
	path := artifact + SidecarSuffix
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
	s := &Sidecar{}
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

// Inputs reads the inputs that were written beside an artifact when it was exported; none where
// there is no such file.
func Inputs(artifact string) ([]spec.Input, error) {
	s, err := ReadSidecar(artifact)
	if err != nil || s == nil {
		return nil, err
	}
	out := make([]spec.Input, len(s.Inputs))
	for i, text := range s.Inputs {
		if out[i], err = spec.ParseInput(text); err != nil {
			return nil, fmt.Errorf("%s: inputs[%d] %s: %w", artifact+SidecarSuffix, i, text, err)
		}
	}
	return out, nil
}

// Seen is what the sidecar beside path records of the live model whose program it is; nil where it
// records nothing of it.
func (s *Sidecar) Seen(path string, p *program.Program) (*fx.Seen, error) {
	if s == nil || p == nil || p.Records != program.RecordsModules || s.Releases == nil {
		return nil, nil
	}
	out, err := seen(p, s.Releases)
	if err != nil {
		return nil, fmt.Errorf("%s: releases: %w", path+SidecarSuffix, err)
	}
	s.of(out)
	switch o := s.Operators; {
	case o == nil:
		out.Differs = olderExport
	case !o.Same && o.First == "":
		return nil, fmt.Errorf("%s: operators: got no first difference, want one where they are not the same",
			path+SidecarSuffix)
	case !o.Same:
		out.Differs = strings.Join(strings.Fields(o.First), " ") // one line
	}
	return out, nil
}

// EagerModel reads the program that the live model runs, which the sidecar beside path holds, and
// what is recorded of the live model. Runs of another program do without.
func (s *Sidecar) EagerModel(path string) (*artifact.Artifact, *fx.Seen, error) {
	a, err := artifact.Unpack(s.Eager.Program)
	if err == nil && (a.Program == nil || a.Program.Records != program.RecordsModules) {
		err = fmt.Errorf("got a %s artifact, want an exported program", a.Format)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: eager: %w", path+SidecarSuffix, err)
	}
	model, err := seen(a.Program, s.Eager.Releases)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: eager: releases: %w", path+SidecarSuffix, err)
	}
	s.of(model)
	return a, model, nil
}

// of adds what the sidecar says of the live model whatever program is run for it.
func (s *Sidecar) of(to *fx.Seen) {
	to.Contiguous, to.Modules = s.Contiguous == nil || *s.Contiguous, s.Modules
	to.Autocast, to.Converted = olderExport, olderExport
	if s.Retyped != nil {
		for first, stated := range map[*string]*string{&to.Autocast: s.Retyped.Autocast, &to.Converted: s.Retyped.DType} {
			if stated != nil {
				*first = strings.Join(strings.Fields(*stated), " ") // one line
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
		_, err = lifetime.RecordedReleases(g, out.Releases)
	}
	return out, err
}
