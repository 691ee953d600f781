package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
)

type options struct {
	root       string
	n          int
	seed       int64
	packages   []string
	match      *regexp.Regexp
	equivalent string
	least      float64
	list       bool
	verbose    bool
	own        bool
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		var enough bool
		if enough, err = o.run(ctx, os.Stdout, os.Stderr); err == nil && !enough {
			os.Exit(1)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("mutants", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.n, "n", 300, "how many mutants; 0 for all")
	f.Int64Var(&o.seed, "seed", 1, "of the sample")
	packages := f.String("pkg", "./engine/...,./cudameasure/...,./cmd/...,./internal/...,./assert/...",
		"packages whose code is changed, as go list takes them, by commas")
	match := f.String("match", "", "only mutants whose name matches this regular expression")
	f.StringVar(&o.equivalent, "equivalent", "tools/mutants/equivalent.txt", "the file of survivors that change nothing")
	f.Float64Var(&o.least, "min", 0, "percent that must die")
	f.BoolVar(&o.list, "list", false, "print the sample and test nothing")
	f.BoolVar(&o.verbose, "v", false, "print what became of each mutant, as it goes")
	f.BoolVar(&o.own, "own", false, "try mutants by the tests of the mutated package only")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("got %q, want flags only", f.Args())
	}
	o.packages = strings.Split(*packages, ",")
	var err error
	if *match != "" {
		if o.match, err = regexp.Compile(*match); err != nil {
			return nil, err
		}
	}
	o.root, err = os.Getwd()
	return o, err
}

// run says whether enough mutants died.
func (o *options) run(ctx context.Context, stdout, stderr io.Writer) (bool, error) {
	sources, err := load(o.root, o.packages)
	if err != nil {
		return false, err
	}
	var all []*mutation
	for _, s := range sources {
		all = append(all, s.mutations()...)
	}
	known, err := readEquivalents(filepath.Join(o.root, o.equivalent))
	if err != nil {
		return false, err
	}
	if err := known.stale(sources, all); err != nil {
		return false, err
	}
	sample, uncompiled := draw(all, o.n, o.seed, o.match)
	fmt.Fprintf(stdout, "%d of %d mutants of %d packages, seed %d; %d drawn that do not compile\n", len(sample), len(all),
		len(sources), o.seed, uncompiled)
	if o.list {
		for _, m := range sample {
			fmt.Fprintf(stdout, "%s:%d (%s)\n%s\t%s\n", m.path, m.line, m.operator, m.diff(), m.id())
		}
		return true, nil
	}
	results, err := o.test(ctx, sources, sample, known, stderr)
	if err != nil {
		return false, err
	}
	total := write(stdout, results)
	return total.share() >= o.least, known.refuted(results)
}

// test runs the sample, package by package, and then what lives by the tests of other packages.
func (o *options) test(ctx context.Context, sources []*source, sample []*mutation, known *equivalents,
	stderr io.Writer) ([]outcome, error) {
	r, err := newRunner(o.root)
	if err != nil {
		return nil, err
	}
	defer r.close()
	out := make([]outcome, 0, len(sample)) // elements do not move
	var living []*outcome
	byPackage := map[*source][]*mutation{}
	for _, m := range sample {
		byPackage[m.pkg] = append(byPackage[m.pkg], m)
	}
	say := func(n int, res *outcome) {
		if o.verbose || res.status == survived && !res.listed {
			fmt.Fprintf(stderr, "%d/%d %s %s %s  %s\n", n, len(sample), res.status, res.where, res.by, res.id())
		}
	}
	for _, s := range sources {
		if len(byPackage[s]) == 0 {
			continue
		}
		err := r.run(ctx, s, byPackage[s], func(res outcome) {
			res.listed = known.line[res.id()] > 0
			out = append(out, res)
			if res.status == survived {
				living = append(living, &out[len(out)-1])
			}
			say(len(out), &res)
		})
		if err != nil {
			return nil, err
		}
	}
	if o.own || len(living) == 0 {
		return out, nil
	}
	fmt.Fprintf(stderr, "%d live after their own package's tests; those of the packages that import it are next\n",
		len(living))
	n := 0
	return out, r.elsewhere(ctx, living, func(res *outcome) { n++; say(n, res) }, func(err error) {
		fmt.Fprintln(stderr, "left out:", err)
	})
}

// refuted says which lines name a mutant that a test notices.
func (e *equivalents) refuted(results []outcome) error {
	var errs []error
	for _, o := range results {
		if o.listed && o.status != survived {
			errs = append(errs, fmt.Errorf("%s:%d: got a mutant that is %s (%s): %s", e.path, e.line[o.id()], o.status, o.by,
				o.id()))
		}
	}
	return errors.Join(sorted(errs)...)
}
