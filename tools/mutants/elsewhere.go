package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A mutant that its own package's tests do not notice is tried by the tests of the packages that
// have it in their binaries. Their binaries hold the mutants of all packages at once, so each is
// built once.

// mostElsewhere is the processor time after which no further package's tests try a mutant.
const mostElsewhere = 90 * time.Second

// elsewhere tries living mutants by the tests of other packages, quick ones first. A bench that
// fails without a mutant is named by failed, and left out.
func (r *runner) elsewhere(ctx context.Context, living []*outcome, report func(*outcome), failed func(error)) error {
	benches, err := r.importers(ctx)
	if err != nil {
		return err
	}
	changes := changesOf(living)
	benches = slices.DeleteFunc(benches, func(b *bench) bool {
		return !slices.ContainsFunc(living, func(o *outcome) bool { return b.tries(o) })
	})
	benches = slices.DeleteFunc(benches, func(b *bench) bool {
		within := slices.DeleteFunc(slices.Clone(changes), func(c change) bool { return !b.deps[c.s.path] })
		var err error
		if b.many, err = r.build(ctx, b, within...); err == nil {
			err = r.watch(ctx, b)
		}
		if err != nil {
			failed(fmt.Errorf("%s: %w", b.path, err))
		}
		return err != nil
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, o := range living {
		r.byOthers(ctx, benches, o)
		if err := ctx.Err(); err != nil {
			return err
		}
		report(o)
	}
	return nil
}

// changesOf are the packages with those of the mutants in them that stand together, numbered
// through.
func changesOf(living []*outcome) []change {
	var changes []change
	next := 1
	for i := 0; i < len(living); {
		s, end := living[i].pkg, i
		var ms []*mutation
		for ; end < len(living) && living[end].pkg == s; end++ {
			if !living[end].alone {
				ms = append(ms, living[end].mutation)
			}
		}
		i = end
		if len(ms) > 0 {
			files, in := together(s, ms, next)
			next += len(in)
			changes = append(changes, change{s, files, next - 1})
		}
	}
	return changes
}

// tries says whether a bench's tests may try a mutant that its own package's tests have tried.
func (b *bench) tries(o *outcome) bool { return b.path != o.pkg.path && b.deps[o.pkg.path] }

// byOthers tries a mutant by benches until one notices it or the time is over.
func (r *runner) byOthers(ctx context.Context, benches []*bench, o *outcome) {
	var some []*bench
	for _, b := range benches {
		if b.tries(o) && (o.alone || b.calls.called[o.number]) {
			some = append(some, b)
		}
	}
	slices.SortStableFunc(some, func(x, y *bench) int {
		return cmp.Compare(x.calls.long(o.mutation), y.calls.long(o.mutation))
	})
	var spent time.Duration
	for _, b := range some {
		if spent > r.most {
			o.partly = true
			return
		}
		spent += r.try(ctx, b, o)
		switch {
		case o.status == killed && !r.sure(ctx, b, o), o.status == broken:
			o.status, o.by = survived, ""
		case o.status != survived:
			o.where = b.path
			return
		}
	}
}

// sure says whether the test that failed with a mutant fails with it again, and passes without: a
// busy machine must kill none.
func (r *runner) sure(ctx context.Context, b *bench, o *outcome) bool {
	with := trial{mutant: o.name()}
	if !o.alone {
		with.tests, _ = b.calls.pattern(o.mutation)
	}
	if test, _, _ := strings.Cut(o.by, "/"); test != "panic" && (o.alone || b.calls.tests != nil) {
		with.tests = "^" + test + "$"
	}
	binary := b.many
	if o.alone {
		with.mutant = ""
		one, err := r.build(ctx, b, change{o.pkg, map[int][]byte{o.file: o.mutated()}, 0})
		if err != nil {
			return false
		}
		defer os.Remove(one)
		binary = one
	}
	without := trial{tests: with.tests}
	return r.test(ctx, b, binary, with, b.limit).err != nil && r.test(ctx, b, b.many, without, time.Hour).err == nil &&
		ctx.Err() == nil
}

// importers are the repository's packages with tests, each with the packages that its test binary
// has.
func (r *runner) importers(ctx context.Context) ([]*bench, error) {
	cmd := exec.CommandContext(ctx, "go", "list",
		"-json=ImportPath,Dir,Deps,TestGoFiles,XTestGoFiles,TestImports,XTestImports", "./...")
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = r.root, &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	type imports struct {
		ImportPath, Dir                 string
		Deps, TestGoFiles, XTestGoFiles []string
		TestImports, XTestImports       []string
	}
	var all []imports
	deps := map[string][]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p imports
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all, deps[p.ImportPath] = append(all, p), p.Deps
	}
	var benches []*bench
	for _, p := range all {
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		b := &bench{path: p.ImportPath, dir: p.Dir, deps: map[string]bool{}}
		for _, path := range slices.Concat(p.Deps, p.TestImports, p.XTestImports) {
			b.deps[path] = true
			for _, further := range deps[path] {
				b.deps[further] = true
			}
		}
		benches = append(benches, b)
	}
	return benches, nil
}
