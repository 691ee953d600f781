package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// A tally counts what became of mutants. Those that other packages' tests noticed, and equivalent
// ones, are in no other count.
type tally struct{ killed, hung, elsewhere, survived, equivalent, broken, partly int }

func (t *tally) add(o *outcome) {
	if o.partly {
		t.partly++
	}
	switch {
	case o.status == broken:
		t.broken++
	case o.status == survived && o.listed:
		t.equivalent++
	case o.status == survived:
		t.survived++
	case o.where != "":
		t.elsewhere++
	case o.status == hung:
		t.hung++
	default:
		t.killed++
	}
}

// tried are those that compiled, live those that no test noticed: a reason in equivalent.txt kills
// none.
func (t *tally) tried() int { return t.killed + t.hung + t.elsewhere + t.live() }
func (t *tally) live() int  { return t.survived + t.equivalent }

// share is the part of the mutants that died, in percent; 100 of none.
func (t *tally) share() float64 {
	n := t.tried()
	if n == 0 {
		return 100
	}
	return 100 * float64(n-t.live()) / float64(n)
}

// write prints the table by package and every survivor with what it changes.
func write(w io.Writer, results []outcome) tally {
	byPackage, total := map[string]*tally{}, tally{}
	for i := range results {
		o := &results[i]
		if byPackage[o.pkg.rel] == nil {
			byPackage[o.pkg.rel] = &tally{}
		}
		byPackage[o.pkg.rel].add(o)
		total.add(o)
	}
	names := make([]string, 0, len(byPackage))
	for name := range byPackage {
		names = append(names, name)
	}
	slices.Sort(names)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "killed\ttimed out\telsewhere\tsurvived\tequivalent\tdid not compile\tdied\t  package\t")
	row := func(name string, n *tally) {
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t%d\t%.1f %%\t  %s\t\n", n.killed, n.hung, n.elsewhere, n.survived, n.equivalent,
			n.broken, n.share(), name)
	}
	for _, name := range names {
		row(name, byPackage[name])
	}
	row("all", &total)
	t.Flush()
	own := total.elsewhere + total.live()
	fmt.Fprintf(w, "%d of %d live after their own package's tests, %d after all", own, total.tried(), total.live())
	if total.partly > 0 {
		fmt.Fprintf(w, "; %d of them would have taken more time", total.partly)
	}
	fmt.Fprintln(w)
	for _, o := range survivors(results) {
		fmt.Fprintf(w, "\nsurvived %s:%d (%s)\n%s\t%s\n", o.path, o.line, o.operator, o.diff(), o.id())
	}
	return total
}

// survivors are those that no test noticed and no list excuses, by place.
func survivors(results []outcome) []outcome {
	var out []outcome
	for _, o := range results {
		if o.status == survived && !o.listed {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b outcome) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line), cmp.Compare(a.id(), b.id()))
	})
	return out
}

func sorted(errs []error) []error {
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errs
}
