package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
)

// A subject is what fit and sweep run again and again: a case of a memspec.yaml, or an artifact,
// with the dims that are open.
type Subject struct {
	Base  spec.Case
	Open  []string // dims to search
	flags *RunFlags
	own   []spec.Dim // given dims of an artifact
	again bool       // a case of memspec.yaml

	Recorder string // the command that records what is missing
}

// NewSubject reads the arguments: --dim B is open, --dim B=8 is given.
func NewSubject(cmd *cobra.Command, f *RunFlags, args []string, basis *Choice) (*Subject, error) {
	s := &Subject{flags: f, Recorder: Recorder(cmd, args)}
	var given []string
	for _, d := range f.Dims {
		if name := strings.TrimSpace(d); !strings.Contains(d, "=") && name != "" {
			if slices.Contains(s.Open, name) {
				return nil, fmt.Errorf("--dim: got %s twice, want it once", name)
			}
			s.Open = append(s.Open, name)
			continue
		}
		given = append(given, d)
	}
	f.Dims = given
	if isArtifact(args) {
		err := s.ofArtifact(args[0])
		s.Base.Judge = judgedBy(s.Base.Judge, basis)
		return s, err
	}
	if name := f.Given(cmd, "dim", "device"); name != "" {
		return nil, fmt.Errorf("%s: got --%s beside the case %s, want it without: a case says how it runs", cmd.Name(),
			name, args[0])
	}
	cases, err := CasesOf(args[1:], args[:1])
	if err != nil {
		return nil, err
	}
	if len(cases) != 1 {
		return nil, fmt.Errorf("got %d cases of the name %s, such as %s and %s, want one", len(cases), args[0],
			cases[0].Name, cases[1].Name)
	}
	if cases, err = OnDevice(cases, f.Device); err != nil {
		return nil, err
	}
	if err := UseProfile(cases, *f.Workspace); err != nil {
		return nil, err
	}
	JudgeBy(cases, basis)
	s.Base, s.again = cases[0], true
	dims, err := oneValueEach(given)
	if err != nil {
		return nil, err
	}
	if len(dims) > 0 {
		if s.Base, err = s.Base.With(dims...); err != nil {
			return nil, err
		}
	}
	_, err = s.At(s.Open...)(make([]int64, len(s.Open))...)
	return s, err
}

// isArtifact says whether the one argument is a file rather than the name of a case; one that is
// not there is known by its ending.
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

func (s *Subject) ofArtifact(path string) error {
	var err error
	if s.own, err = oneValueEach(s.flags.Dims); err != nil {
		return err
	}
	s.Base, err = s.flags.Build(path, s.bound())
	return err
}

// bound are the dims of an artifact: those given, and those that are open, at 1.
func (s *Subject) bound() []spec.Dim {
	bound := slices.Clone(s.own)
	for _, name := range s.Open {
		bound = append(bound, spec.Dim{Name: name, Value: 1})
	}
	return bound
}

func oneValueEach(texts []string) ([]spec.Dim, error) {
	dims, err := ParseDims(texts)
	if err != nil {
		return nil, err
	}
	var out []spec.Dim
	for _, d := range dims {
		if len(d.Values) != 1 {
			return nil, fmt.Errorf("--dim %s: got %d values, want one", d.Name, len(d.Values))
		}
		out = append(out, spec.Dim{Name: d.Name, Value: d.Values[0]})
	}
	return out, nil
}

// At makes the case with values for those dims.
func (s *Subject) At(names ...string) func(values ...int64) (spec.Case, error) {
	return func(values ...int64) (spec.Case, error) {
		dims := make([]spec.Dim, len(names))
		for i, name := range names {
			dims[i] = spec.Dim{Name: name, Value: values[i]}
		}
		if s.again {
			return s.Base.With(dims...)
		}
		bound := s.bound()
		for _, d := range dims {
			for i := range bound {
				if bound[i].Name == d.Name {
					bound[i].Value = d.Value
				}
			}
		}
		c, err := s.flags.Build(s.Base.Artifact, bound)
		c.Platform.Device, c.Judge = s.Base.Platform.Device, s.Base.Judge
		return c, err
	}
}

// One is at for a single dim.
func (s *Subject) One(name string) suite.At {
	at := s.At(name)
	return func(v int64) (spec.Case, error) { return at(v) }
}

// Unsearchable adds to an error of fit and sweep what makes the subject run at other values of its
// dims, where the subject cannot.
func (s *Subject) Unsearchable(err error) error {
	var missing *origin.Uncaptured
	var input *exec.InputError
	switch {
	case errors.As(err, &missing) && missing.Case != nil:
		return s.unrecorded(missing)
	case err != nil && s.Base.Artifact != "" && s.flags.recording(s.Base.Artifact) != nil:
		return fmt.Errorf("%w; a recording is of one run: record the model at each value (python -m memshim capture), or "+
			"export it with that dim open", err)
	case errors.As(err, &input) && filepath.Ext(s.Base.Artifact) == ".pt2":
		words := []string{"python", "-m", "memshim", "export", "FILE.py:NAME"}
		for _, in := range s.flags.Inputs {
			words = append(words, "--input", layout.ShellQuote(in))
		}
		for _, name := range s.Open {
			words = append(words, "--dim", name+"=SIZE")
		}
		return fmt.Errorf("%w; the program has the sizes of its export: %s -o %s leaves that dim open", err,
			strings.Join(words, " "), layout.ShellQuote(s.Base.Artifact))
	}
	return err
}

// unrecorded says which recording a search would need, and the command that makes all that it
// needs: nothing is run here.
func (s *Subject) unrecorded(missing *origin.Uncaptured) error {
	at := ""
	if on := missing.Case.Platform.Device.Name; on != s.Base.Platform.Device.Name {
		at = " on " + on
	}
	for i, d := range missing.Case.Dims {
		if d.Value != s.Base.Dims[i].Value {
			at += fmt.Sprintf(" at %s=%d", d.Name, d.Value)
		}
	}
	if at == "" {
		return missing
	}
	return &Exit{Code: ExitUnsure, Err: fmt.Errorf("got no recording of %s%s (%s): %s makes those that it needs",
		s.Base.Name, at, missing.Path, s.Recorder)}
}

// Recorder is the command of memshim that does what a command does and records what it lacks.
func Recorder(cmd *cobra.Command, args []string) string {
	words := []string{"python", "-m", "memshim", cmd.Name()}
	for _, a := range args {
		words = append(words, layout.ShellQuote(a))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if several, ok := f.Value.(interface{ GetSlice() []string }); ok {
			values = several.GetSlice()
		}
		for _, v := range values {
			switch {
			case f.Hidden:
			case f.NoOptDefVal != "":
				words = append(words, "--"+f.Name+"="+layout.ShellQuote(v))
			default:
				words = append(words, "--"+f.Name, layout.ShellQuote(v))
			}
		}
	})
	return strings.Join(words, " ")
}
