package lifetime

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/memspec/memspec/engine/program"
)

// Release is a result that Python released while a program was exported: in order, each with the
// newest result that there was then. Both are named as the program names them.
type Release struct{ Value, After string }

// RecordedReleases is eager execution as it was seen while the program was exported: a value goes
// when Python released it, or with its last use, if that is later. One that is not among the
// releases was held to the end. The error names a release of something that the program does not
// make: it is of another program.
func RecordedReleases(g *program.Graph, releases []Release) ([]Range, error) {
	out := Generated(g)
	named, made := map[string]*program.Value{}, map[*program.Value]int{} // values of the body, and their nodes
	end := Param
	_, ends := Numbering(g)
	for at, i := 0, 0; i < len(g.Body.Nodes); i++ {
		for _, v := range g.Body.Nodes[i].Outs {
			named[v.Name], made[v] = v, at
		}
		if g.Body.Nodes[i].Op != "prim::Return" {
			end = at
		}
		at = ends[at] + 1
	}
	type death struct{ after, order int }
	when := make(map[*program.Value]death, len(releases))
	for i, r := range releases {
		value, after := named[r.Value], named[r.After]
		if value == nil || after == nil {
			return nil, fmt.Errorf("got a release of %s after %s, want two results of the program: it was written for another "+
				"one", r.Value, r.After)
		}
		when[value] = death{made[after], i}
	}
	order := make(map[*program.Value]int, len(out))
	for i := range out {
		r := &out[i]
		order[r.Value] = math.MinInt // by its last use: before what Python released behind that node
		if _, ours := made[r.Value]; !ours {
			continue
		}
		w, released := when[r.Value]
		switch {
		case !released:
			if end > r.To {
				r.To, r.Why = end, Recorded
			}
			order[r.Value] = math.MaxInt
		case w.after >= r.To:
			r.To, r.Why = w.after, Recorded
			order[r.Value] = w.order
		}
	}
	slices.SortStableFunc(out, func(a, b Range) int {
		return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(order[a.Value], order[b.Value]))
	})
	return out, nil
}

// Longest joins two sets of one graph's live ranges: each value has the range that ends later.
func Longest(a, b []Range) []Range {
	at := make(map[*program.Value]int, len(a))
	out := slices.Clone(a)
	for i := range out {
		at[out[i].Value] = i
	}
	for i := range b {
		if j, ok := at[b[i].Value]; ok && b[i].To > out[j].To {
			out[j] = b[i]
		}
	}
	slices.SortStableFunc(out, func(a, b Range) int { return cmp.Compare(a.To, b.To) })
	return out
}
