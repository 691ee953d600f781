package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// status is what became of a mutant.
type status string

const (
	killed   status = "killed"
	hung     status = "timed out" // it came to no end, or took all memory: nobody would overlook that
	survived status = "survived"
	broken   status = "did not compile"
)

// An outcome is a mutant with what became of it.
type outcome struct {
	*mutation
	status status
	by     string // the first test that failed
	listed bool   // in equivalent.txt
}

// A runner compiles and tests mutants, one at a time.
type runner struct {
	root string
	dir  string // a folder of its own for overlays, binaries and what tests leave behind
	env  []string
	time map[string]time.Duration // processor time of a package's tests as they stand

	least time.Duration // of processor time for the tests of a mutant
}

func newRunner(root string) (*runner, error) {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	r := &runner{root: root, dir: dir, time: map[string]time.Duration{}, least: leastTime}
	for _, e := range os.Environ() { // a test must not rewrite golden files to suit a mutant
		if !strings.HasPrefix(e, "MEMSPEC_") && !strings.HasPrefix(e, "TMPDIR=") {
			r.env = append(r.env, e)
		}
	}
	tests := filepath.Join(dir, "tmp")
	r.env = append(r.env, "TMPDIR="+tests)
	return r, os.Mkdir(tests, 0o755)
}

func (r *runner) close() { os.RemoveAll(r.dir) }

// The limits of a mutant's tests: processor time is some times what they take without it, address space more than any of them needs.
const (
	leastTime   = 10 * time.Second
	timesAsLong = 4
	wallPerTime = 20 // seconds of wall time for a second of processor time: the machine may be busy
	addresses   = 6 << 20
)

// baseline runs a package's tests without a mutant.
func (r *runner) baseline(ctx context.Context, s *source) error {
	if _, done := r.time[s.path]; done || !s.tests {
		return nil
	}
	out := r.test(ctx, s, nil, time.Hour)
	if out.err != nil {
		return fmt.Errorf("%s: its tests fail without a mutant: %w\n%s", s.rel, out.err, out.text)
	}
	r.time[s.path] = out.time
	return nil
}

// run tests one mutant.
func (r *runner) run(ctx context.Context, m *mutation) (outcome, error) {
	o := outcome{mutation: m, status: survived}
	if !m.pkg.tests {
		return o, nil
	}
	if err := r.baseline(ctx, m.pkg); err != nil {
		return o, err
	}
	out := r.test(ctx, m.pkg, m, r.least+timesAsLong*r.time[m.pkg.path])
	switch {
	case ctx.Err() != nil:
		return o, ctx.Err()
	case out.unbuilt:
		o.status = broken
	case out.limit:
		o.status = hung
	case out.err != nil:
		o.status, o.by = killed, firstFailure(out.text)
	}
	return o, nil
}

// tested is how the tests of a package ended.
type tested struct {
	err     error
	unbuilt bool
	limit   bool
	text    string
	time    time.Duration
}

// test builds a package's tests, with a mutant unless it is nil, and runs them within a limit of processor time.
func (r *runner) test(ctx context.Context, s *source, m *mutation, limit time.Duration) tested {
	binary := filepath.Join(r.dir, "test.bin")
	defer os.Remove(binary)
	overlay, err := r.overlay(s, m)
	if err != nil {
		return tested{err: err}
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay", overlay, "-o", binary, s.path)
	build.Dir, build.Env = r.root, r.env
	if text, err := build.CombinedOutput(); err != nil {
		return tested{err: err, unbuilt: true, text: string(text)}
	}
	wall, cancel := context.WithTimeout(ctx, wallPerTime*limit)
	defer cancel()
	run := exec.CommandContext(wall, "/bin/sh", "-c", `ulimit -t "$1" && ulimit -v "$2" && shift 2 && exec "$@"`, "sh",
		strconv.Itoa(int(math.Ceil(limit.Seconds()))), strconv.Itoa(addresses), binary, "-test.failfast", "-test.timeout=0")
	run.Dir, run.Env, run.WaitDelay = s.dir, r.env, time.Second
	var text bytes.Buffer
	run.Stdout, run.Stderr = &text, &text
	err = run.Run()
	out := tested{err: err, text: text.String()}
	if p := run.ProcessState; p != nil {
		out.time = p.UserTime() + p.SystemTime()
		out.limit = out.time >= limit*9/10 && p.ExitCode() < 0 // a signal ended it
	}
	out.limit = out.limit || errors.Is(wall.Err(), context.DeadlineExceeded) || err != nil && outOfMemory(out.text)
	return out
}

// outOfMemory says whether a Go program ended because it had no more memory, in the words of Go's runtime.
func outOfMemory(text string) bool {
	for _, said := range []string{"fatal error: runtime: out of memory", "fatal error: runtime: cannot allocate memory", "runtime: goroutine stack exceeds"} {
		if strings.Contains(text, said) {
			return true
		}
	}
	return false
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// firstFailure is the test that failed, as deep as it is named; "panic" where the program ended.
func firstFailure(text string) string {
	all := failure.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return "panic"
	}
	return all[len(all)-1][1]
}

// overlay writes what the compiler is to see instead of the tree.
func (r *runner) overlay(s *source, m *mutation) (string, error) {
	replace := map[string]string{filepath.Join(s.dir, orderFile): filepath.Join(r.dir, "order.go")}
	if err := os.WriteFile(filepath.Join(r.dir, "order.go"), []byte(orderText(s.name)), 0o644); err != nil {
		return "", err
	}
	if m != nil {
		replace[s.files[m.file].path] = filepath.Join(r.dir, "mutant.go")
		if err := os.WriteFile(filepath.Join(r.dir, "mutant.go"), m.mutated(), 0o644); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(r.dir, "overlay.json")
	return path, os.WriteFile(path, data, 0o644)
}
