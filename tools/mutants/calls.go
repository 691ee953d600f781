package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// calls says which tests call the functions of a binary's mutants. What no test calls needs no run,
// and a mutant needs only the tests that call its function.
type calls struct {
	called map[int]bool     // by the mutant's number
	tests  map[int][]string // nil where tests were not run one by one
	whole  time.Duration    // how long all tests took, and each where they were run one by one
	each   map[string]time.Duration
}

// long is about how long the tests of a mutant take.
func (c *calls) long(m *mutation) time.Duration {
	if c.tests == nil {
		return c.whole
	}
	var sum time.Duration
	for _, name := range c.tests[m.number] {
		sum += c.each[name]
	}
	return sum
}

// pattern is what -test.run takes for the tests of a mutant; false where no test calls its
// function.
func (c *calls) pattern(m *mutation) (string, bool) {
	if c.tests == nil || !c.called[m.number] {
		return "", c.called[m.number]
	}
	return "^(" + strings.Join(c.tests[m.number], "|") + ")$", true
}

// Tests are run one by one where there are so many mutants, and all tests together take so long.
const (
	oneByOneMutants = 3
	oneByOneTime    = time.Second
)

// watch runs the tests without a mutant: it sets the limit of a mutant's tests and notes what they
// call.
func (r *runner) watch(ctx context.Context, b *bench) error {
	numbers, whole := r.callsIn(ctx, b, "")
	if whole.err != nil {
		return fmt.Errorf("%w\n%s", whole.err, whole.text)
	}
	b.limit = r.least + timesAsLong*whole.time
	b.calls = calls{called: map[int]bool{}, whole: whole.time, each: map[string]time.Duration{}}
	for _, n := range numbers {
		b.calls.called[n] = true
	}
	if len(b.calls.called) < oneByOneMutants || whole.time < r.oneByOne {
		return nil
	}
	names, err := r.names(ctx, b)
	if err != nil {
		return err
	}
	by := map[int][]string{}
	for _, name := range names {
		numbers, alone := r.callsIn(ctx, b, "^"+name+"$")
		if alone.err != nil { // it needs what another test left
			return ctx.Err()
		}
		b.calls.each[name] = alone.time
		for _, n := range numbers {
			by[n] = append(by[n], name)
		}
	}
	for n := range b.calls.called {
		if len(by[n]) == 0 { // called by a test after another alone
			return nil
		}
	}
	b.calls.tests = by
	return ctx.Err()
}

// callsIn runs tests without a mutant and returns the numbers of the mutants whose functions they
// called.
func (r *runner) callsIn(ctx context.Context, b *bench, tests string) ([]int, tested) {
	dir := filepath.Join(r.dir, "calls")
	err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755))
	result := r.test(ctx, b, b.many, trial{tests: tests, calls: dir}, time.Hour)
	files, unread := os.ReadDir(dir)
	result.err = errors.Join(err, result.err, unread)
	var numbers []int
	for _, f := range files {
		n, err := strconv.Atoi(f.Name())
		result.err = errors.Join(result.err, err)
		numbers = append(numbers, n)
	}
	return numbers, result
}

var testName = regexp.MustCompile(`(?m)^(Test|Fuzz|Example)\S*$`)

// names are the tests of a binary.
func (r *runner) names(ctx context.Context, b *bench) ([]string, error) {
	result := r.test(ctx, b, b.many, trial{list: true}, time.Hour)
	return testName.FindAllString(result.text, -1), result.err
}
