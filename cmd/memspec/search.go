package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/origin"
)

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
