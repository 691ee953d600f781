package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
)

// A subject is what fit and sweep run again and again: a case of a memspec.yaml, or an artifact, with the dims that are open.
type subject struct {
	base  spec.Case
	open  []string // dims to search
	flags *runFlags
	own   []spec.Dim // given dims of an artifact
	again bool       // a case of memspec.yaml
}

// newSubject reads the arguments: --dim B is open, --dim B=8 is given.
func newSubject(cmd *cobra.Command, f *runFlags, args []string, basis *choice) (*subject, error) {
	s := &subject{flags: f}
	var given []string
	for _, d := range f.dims {
		if name := strings.TrimSpace(d); !strings.Contains(d, "=") && name != "" {
			if slices.Contains(s.open, name) {
				return nil, fmt.Errorf("--dim: got %s twice, want it once", name)
			}
			s.open = append(s.open, name)
			continue
		}
		given = append(given, d)
	}
	f.dims = given
	if isArtifact(args) {
		err := s.ofArtifact(args[0])
		s.base.Judge = judgedBy(s.base.Judge, basis)
		return s, err
	}
	if name := f.given(cmd, "dim", "device"); name != "" {
		return nil, fmt.Errorf("%s: got --%s beside the case %s, want it without: a case says how it runs", cmd.Name(), name, args[0])
	}
	cases, err := casesOf(args[1:], args[:1])
	if err != nil {
		return nil, err
	}
	if len(cases) != 1 {
		return nil, fmt.Errorf("got %d cases of the name %s, such as %s and %s, want one", len(cases), args[0], cases[0].Name, cases[1].Name)
	}
	if cases, err = onDevice(cases, f.device); err != nil {
		return nil, err
	}
	if err := useProfile(cases, *f.workspace); err != nil {
		return nil, err
	}
	judgeBy(cases, basis)
	s.base, s.again = cases[0], true
	dims, err := oneValueEach(given)
	if err != nil {
		return nil, err
	}
	if len(dims) > 0 {
		if s.base, err = s.base.With(dims...); err != nil {
			return nil, err
		}
	}
	_, err = s.at(s.open...)(make([]int64, len(s.open))...)
	return s, err
}

// isArtifact says whether the one argument is a file rather than the name of a case; one that is not there is known by its ending.
func isArtifact(args []string) bool {
	if len(args) != 1 {
		return false
	}
	if slices.Contains([]string{".pt", ".pth", ".pt2", ".rec"}, filepath.Ext(args[0])) {
		return true
	}
	info, err := os.Stat(args[0])
	return err == nil && info.Mode().IsRegular()
}

func (s *subject) ofArtifact(path string) error {
	var err error
	if s.own, err = oneValueEach(s.flags.dims); err != nil {
		return err
	}
	bound := slices.Clone(s.own)
	for _, name := range s.open {
		bound = append(bound, spec.Dim{Name: name, Value: 1})
	}
	s.base, err = s.flags.build(path, bound)
	return err
}

func oneValueEach(texts []string) ([]spec.Dim, error) {
	dims, err := parseDims(texts)
	if err != nil {
		return nil, err
	}
	var out []spec.Dim
	for _, d := range dims {
		if len(d.values) != 1 {
			return nil, fmt.Errorf("--dim %s: got %d values, want one", d.name, len(d.values))
		}
		out = append(out, spec.Dim{Name: d.name, Value: d.values[0]})
	}
	return out, nil
}

// at makes the case with values for those dims.
func (s *subject) at(names ...string) func(values ...int64) (spec.Case, error) {
	return func(values ...int64) (spec.Case, error) {
		dims := make([]spec.Dim, len(names))
		for i, name := range names {
			dims[i] = spec.Dim{Name: name, Value: values[i]}
		}
		if s.again {
			return s.base.With(dims...)
		}
		bound := slices.Clone(s.own)
		for _, name := range s.open {
			bound = append(bound, spec.Dim{Name: name, Value: 1})
		}
		for _, d := range dims {
			for i := range bound {
				if bound[i].Name == d.Name {
					bound[i].Value = d.Value
				}
			}
		}
		c, err := s.flags.build(s.base.Artifact, bound)
		c.Platform.Device, c.Judge = s.base.Platform.Device, s.base.Judge
		return c, err
	}
}

// one is at for a single dim.
func (s *subject) one(name string) suite.At {
	at := s.at(name)
	return func(v int64) (spec.Case, error) { return at(v) }
}

// unsearchable adds to an error of fit and sweep what makes the subject run at other values of its dims, where the subject cannot.
func (s *subject) unsearchable(err error) error {
	var missing *origin.Uncaptured
	var input *exec.InputError
	switch {
	case errors.As(err, &missing) && missing.Case != nil:
		return s.unrecorded(missing)
	case err != nil && s.base.Artifact != "" && s.flags.recording(s.base.Artifact) != nil:
		return fmt.Errorf("%w; a recording is of one run: record the model at each value (python -m memshim capture), or export it with that dim open", err)
	case errors.As(err, &input) && filepath.Ext(s.base.Artifact) == ".pt2":
		words := []string{"python", "-m", "memshim", "export", "FILE.py:NAME"}
		for _, in := range s.flags.inputs {
			words = append(words, "--input", layout.ShellQuote(in))
		}
		for _, name := range s.open {
			words = append(words, "--dim", name+"=SIZE")
		}
		return fmt.Errorf("%w; the program has the sizes of its export: %s -o %s leaves that dim open", err, strings.Join(words, " "), layout.ShellQuote(s.base.Artifact))
	}
	return err
}

// unrecorded says which recording a search would need, and how it comes to be: a source is recorded at the values and on the devices that
// memspec.yaml lists, and is not run here.
func (s *subject) unrecorded(missing *origin.Uncaptured) error {
	file := s.base.Pos.File
	command := "python -m memshim capture " + layout.ShellQuote(file)
	if on := missing.Case.Platform.Device.Name; on != s.base.Platform.Device.Name {
		return &exit{code: exitUnsure, err: fmt.Errorf("got no recording of %s on %s (%s): a source is recorded on the devices of memspec.yaml; "+
			"give the case device: [%s, %s], then %s", s.base.Name, on, missing.Path, s.base.Platform.Device.Name, on, command)}
	}
	for i, d := range missing.Case.Dims {
		own := s.base.Dims[i].Value
		if d.Value == own {
			continue
		}
		list := []int64{own, d.Value}
		slices.Sort(list)
		return &exit{code: exitUnsure, err: fmt.Errorf("got no recording of %s at %s=%d (%s): a source is recorded at the values that memspec.yaml lists; "+
			"write dims: {%s: %s}, with every value that is asked for, then %s", s.base.Name, d.Name, d.Value, missing.Path, d.Name, listText(list), command)}
	}
	return missing
}

// listText is "[1, 4]".
func listText(values []int64) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = strconv.FormatInt(v, 10)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
