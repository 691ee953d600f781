package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// equivalents are the mutants that change nothing one could see, by id.
type equivalents struct {
	path string
	line map[string]int
}

// reasonMark stands between a mutant's name and its reason.
const reasonMark = "  -- "

// readEquivalents reads a file of one mutant a line: its name as a run prints it, then two dashes
// and the reason. A line without a reason is an error.
func readEquivalents(path string) (*equivalents, error) {
	e := &equivalents{path: path, line: map[string]int{}}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	n := 0
	var errs []error
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndex(line, reasonMark)
		switch {
		case i < 0 || strings.TrimSpace(line[i+len(reasonMark):]) == "":
			errs = append(errs, fmt.Errorf("%s:%d: got no reason, want one after %q", path, n, strings.TrimSpace(reasonMark)))
		case e.line[strings.TrimSpace(line[:i])] > 0:
			errs = append(errs, fmt.Errorf("%s:%d: got a mutant a second time, first in line %d", path, n,
				e.line[strings.TrimSpace(line[:i])]))
		default:
			e.line[strings.TrimSpace(line[:i])] = n
		}
	}
	return e, errors.Join(errs...)
}

// stale says which lines name a mutant of the packages at hand that there is not.
func (e *equivalents) stale(sources []*source, all []*mutation) error {
	have := make(map[string]bool, len(all))
	for _, m := range all {
		have[m.id()] = true
	}
	var errs []error
	for id, line := range e.line {
		for _, s := range sources {
			file, _, _ := strings.Cut(id, " ")
			if i := strings.LastIndexByte(file, '/'); i >= 0 && file[:i] == s.rel && !have[id] {
				errs = append(errs, fmt.Errorf("%s:%d: got %s, want a mutant that there is", e.path, line, id))
			}
		}
	}
	return errors.Join(sorted(errs)...)
}
