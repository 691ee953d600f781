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
	"slices"
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
	alone  bool   // it cannot be compiled with others
	where  string // the package whose tests noticed it, where that is another one than its own
	partly bool   // tests of other packages were left out, because the others had taken so long: see mostElsewhere
}

// A runner compiles and tests mutants, one at a time.
type runner struct {
	root string
	dir  string // a separate folder for overlays, binaries and what tests leave behind
	env  []string

	built    int           // test binaries so far
	least    time.Duration // of processor time for the tests of a mutant
	oneByOne time.Duration // see oneByOneTime
	most     time.Duration // see mostElsewhere
}

func newRunner(root string) (*runner, error) {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	r := &runner{root: root, dir: dir, least: leastTime, oneByOne: oneByOneTime, most: mostElsewhere}
	for _, e := range os.Environ() { // a test must not rewrite golden files to suit a mutant
		if !strings.HasPrefix(e, "MEMSPEC_") && !strings.HasPrefix(e, "TMPDIR=") {
			r.env = append(r.env, e)
		}
	}
	tests := filepath.Join(dir, "tmp")
	r.env = append(r.env, "TMPDIR="+tests, "MEMSPEC_WHOLE=1") // all cases, not the share of a plain go test
	return r, os.Mkdir(tests, 0o755)
}

func (r *runner) close() { os.RemoveAll(r.dir) }

// The limits of a mutant's tests: processor time is some times what they take without it, address
// space more than any of them needs.
const (
	leastTime   = 5 * time.Second
	timesAsLong = 4
	wallPerTime = 20 // seconds of wall time for a second of processor time: the machine may be busy
	addresses   = 6 << 20
)

// A bench is a package with tests that mutants are tried by.
type bench struct {
	path, dir string
	deps      map[string]bool // packages in its test binary
	many      string          // the binary with all mutants that can stand together
	limit     time.Duration   // of processor time, for a mutant
	calls     calls           // of the binary's mutants
}

// A change is a package with some files other than they are, and mutants in them up to that number.
type change struct {
	s     *source
	files map[int][]byte
	many  int
}

// run tests mutants of one package by its own tests, and says what became of each as it goes.
func (r *runner) run(ctx context.Context, s *source, ms []*mutation, report func(outcome)) error {
	files, in := together(s, ms, 1)
	b := &bench{path: s.path, dir: s.dir}
	if s.tests {
		var err error
		b.many, err = r.build(ctx, b, change{s, files, len(in)})
		if err != nil && ctx.Err() == nil { // what cannot stand together may stand alone
			in = nil
			b.many, err = r.build(ctx, b, change{s, nil, 0})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.rel, err)
		}
		defer os.Remove(b.many)
		if err := r.watch(ctx, b); err != nil {
			return fmt.Errorf("%s: its tests fail without a mutant: %w", s.rel, err)
		}
	}
	for _, m := range ms {
		o := outcome{mutation: m, status: survived, alone: !slices.Contains(in, m)}
		if s.tests {
			r.try(ctx, b, &o)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		report(o)
	}
	return nil
}

// try runs those tests of a package that call a mutant's function, and returns how long they took;
// of a mutant that is compiled alone, all of them, with what it takes to compile it.
func (r *runner) try(ctx context.Context, b *bench, o *outcome) time.Duration {
	binary, t := b.many, trial{mutant: o.name()}
	if o.alone {
		begin := time.Now()
		one, err := r.build(ctx, b, change{o.pkg, map[int][]byte{o.file: o.mutated()}, 0})
		if err != nil {
			o.status = broken
			return time.Since(begin)
		}
		defer os.Remove(one)
		o.judge(r.test(ctx, b, one, trial{}, b.limit))
		return time.Since(begin)
	}
	var some bool
	if t.tests, some = b.calls.pattern(o.mutation); !some {
		return 0
	}
	result := r.test(ctx, b, binary, t, b.limit)
	o.judge(result)
	return result.time
}

func (o *outcome) judge(t tested) {
	switch {
	case t.limit:
		o.status = hung
	case t.err != nil:
		o.status, o.by = killed, firstFailure(t.text)
	default:
		o.status = survived
	}
}

// build compiles the tests of a bench with changes, and returns the binary's path.
func (r *runner) build(ctx context.Context, b *bench, changes ...change) (string, error) {
	replace := map[string]string{}
	put := func(path string, text []byte) error {
		to := filepath.Join(r.dir, fmt.Sprintf("%d.go", len(replace)))
		replace[path] = to
		return os.WriteFile(to, text, 0o644)
	}
	var err error
	for _, c := range changes {
		err = errors.Join(err, put(filepath.Join(c.s.dir, helpFile), []byte(helpText(c.s.name))))
		if c.many > 0 {
			err = errors.Join(err, put(filepath.Join(c.s.dir, switchFile), []byte(switchText(c.s.name, c.many))))
		}
		for file, text := range c.files {
			err = errors.Join(err, put(c.s.files[file].path, text))
		}
	}
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(r.dir, "overlay.json")
	if err := os.WriteFile(overlay, data, 0o644); err != nil {
		return "", err
	}
	r.built++
	binary := filepath.Join(r.dir, fmt.Sprintf("%d.test", r.built))
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay", overlay, "-o", binary,
		b.path)
	cmd.Dir, cmd.Env = r.root, r.env
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go test -c: %w\n%s", err, text)
	}
	return binary, nil
}

// tested is how the tests of a package ended.
type tested struct {
	err   error
	limit bool // of time or memory
	text  string
	time  time.Duration // processor time
}

// A trial is a run of a test binary.
type trial struct {
	mutant string // the one that is on
	tests  string // a regular expression, "" for all tests
	calls  string // the folder for what is called
	list   bool   // print the names of the tests only
}

// test runs a test binary within a limit of processor time.
func (r *runner) test(ctx context.Context, b *bench, binary string, t trial, limit time.Duration) tested {
	wall, cancel := context.WithTimeout(ctx, wallPerTime*limit)
	defer cancel()
	args := []string{"-c", `ulimit -t "$1" && ulimit -v "$2" && shift 2 && exec "$@"`, "sh",
		strconv.Itoa(int(math.Ceil(limit.Seconds()))), strconv.Itoa(addresses),
		binary, "-test.failfast", "-test.timeout=0", "-test.run=" + t.tests}
	if t.list {
		args = append(args, "-test.list=.")
	}
	run := exec.CommandContext(wall, "/bin/sh", args...)
	run.Dir, run.Env, run.WaitDelay = b.dir, append(slices.Clone(r.env), mutantVariable+"="+t.mutant,
		callsVariable+"="+t.calls), time.Second
	var text bytes.Buffer
	run.Stdout, run.Stderr = &text, &text
	out := tested{err: run.Run()}
	out.text = text.String()
	if p := run.ProcessState; p != nil {
		out.time = p.UserTime() + p.SystemTime()
		out.limit = out.time >= limit*9/10 && p.ExitCode() < 0 // a signal ended it
	}
	out.limit = out.limit || errors.Is(wall.Err(), context.DeadlineExceeded) || out.err != nil && outOfMemory(out.text)
	return out
}

// outOfMemory says whether a Go program ended because it had no more memory, in the words of Go's
// runtime.
func outOfMemory(text string) bool {
	for _, said := range []string{"fatal error: runtime: out of memory", "fatal error: runtime: cannot allocate memory",
		"runtime: goroutine stack exceeds"} {
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
