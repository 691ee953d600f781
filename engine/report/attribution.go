package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/units"
)

// By says what holders are gathered by.
type By string

// What holders can be gathered by.
const (
	ByModule   By = "module"
	ByOp       By = "op"
	ByLine     By = "line"
	ByCategory By = "category"
	BySaver    By = "saver" // of what autograd saved, the operator that it saved it for, with its line
)

// Bys are all of them, in the order help names them.
func Bys() []By { return []By{ByModule, ByOp, ByLine, ByCategory, BySaver} }

// Row is some holders gathered.
type Row struct {
	Where     string // module, operator, file:line or category; "" where the artifact does not record
	What      string // "activations ×7"; several kinds are joined by ", "
	Flat, Cum units.Bytes
	Count     int
}

// sortHolders orders holders as Report.Holders promises and fills in Cum.
func sortHolders(hs []Holder) {
	under := map[string]units.Bytes{} // of a module and everything beneath it
	sum := units.Bytes(0)             // of a module's holders: they mostly stand side by side
	for i := range hs {
		sum += hs[i].Flat
		if i+1 < len(hs) && hs[i+1].Module == hs[i].Module {
			continue
		}
		for m := hs[i].Module; ; m = parentModule(m) {
			under[m] += sum
			if m == "" {
				break
			}
		}
		sum = 0
	}
	for i := range hs {
		if i > 0 && hs[i-1].Module == hs[i].Module {
			hs[i].Cum = hs[i-1].Cum
			continue
		}
		hs[i].Cum = under[hs[i].Module]
	}
	order := make([]int, len(hs)) // a holder is a lot to move about: each is moved once
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return compareHolders(&hs[i], &hs[j]) })
	for i := range order {
		first := hs[i]
		at := i
		for order[at] != at { // a cycle of places, each given what stands at the next; done where it points to itself
			next := order[at]
			order[at] = at
			if next == i {
				hs[at] = first
				break
			}
			hs[at] = hs[next]
			at = next
		}
	}
}

// compareHolders compares no further than it must: many holders are of one size, few of one module
// too.
func compareHolders(a, b *Holder) int {
	if c := cmp.Compare(b.Flat, a.Flat); c != 0 {
		return c
	}
	if c := strings.Compare(a.Module, b.Module); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(a.Category, b.Category), strings.Compare(a.Op, b.Op), strings.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line), strings.Compare(where(a, BySaver), where(b, BySaver)))
}

func parentModule(m string) string {
	if i := strings.LastIndexByte(m, '.'); i >= 0 {
		return m[:i]
	}
	return ""
}

// Gather sums holders by what by says: rows by Flat, largest first, then by name. Cum counts, for
// modules, what lies beneath them; other rows have nothing beneath them, and there Cum is Flat. A
// module that holds nothing itself has a row where a module beneath it does.
func Gather(hs []Holder, by By) []Row {
	g := newGatherer()
	for i := range hs {
		h := &hs[i]
		g.add(where(h, by), h)
	}
	if by == ByModule {
		g.addParents()
	}
	return g.rows()
}

func where(h *Holder, by By) string {
	switch by {
	case ByOp:
		if stateCategory(h.Category) { // no operator made it, and its name says no more than its module
			return "(" + h.Category + ")"
		}
		return h.Op
	case ByLine:
		if h.File == "" {
			return "(" + h.Category + ")"
		}
		return h.File + ":" + strconv.Itoa(h.Line)
	case ByCategory:
		return h.Category
	case BySaver:
		if h.SavedBy == nil {
			return "(" + h.Category + ")"
		}
		return strings.TrimSpace(h.SavedBy.Op + " " + h.SavedBy.Source())
	}
	return h.Module
}

// Fold is the short account of a failing budget: parameters, buffers, constants and inputs are one
// row each; whatever else is held is gathered by module one level below the deepest module that has
// all of it, as `layer1.*` where modules beneath that hold some.
func Fold(hs []Holder) []Row {
	depth := foldDepth(hs)
	g := newGatherer()
	deeper := map[string]bool{} // folded modules that stand for more than themselves
	for i := range hs {
		h := &hs[i]
		if stateCategory(h.Category) {
			g.add("\x00"+h.Category, h)
			continue
		}
		m := cutModule(h.Module, depth)
		if m != h.Module {
			deeper[m] = true
		}
		g.add(m+"\x00"+h.Category, h)
	}
	rows := g.rows()
	for i := range rows {
		m, _, _ := strings.Cut(rows[i].Where, "\x00")
		if deeper[m] {
			m += ".*"
		}
		rows[i].Where = m
	}
	return rows
}

// DefaultBy is what holders are gathered by unless something else is asked for: by line where lines
// are known and no module is.
func DefaultBy(hs []Holder) By {
	if !slices.ContainsFunc(hs, func(h Holder) bool { return h.Module != "" }) &&
		slices.ContainsFunc(hs, func(h Holder) bool { return h.File != "" }) {
		return ByLine
	}
	return ByModule
}

// foldLines is Fold of a program without modules, by line. Of what is untraced the line is all that
// is known.
func foldLines(hs []Holder) []Row {
	g := newGatherer()
	for i := range hs {
		h := &hs[i]
		switch {
		case stateCategory(h.Category) && (h.Category != Untraced || h.File == ""):
			g.add("", h)
		default:
			g.add(h.Site.Source(), h)
		}
	}
	return g.rows()
}

func stateCategory(c string) bool {
	return c == "parameter" || c == "buffer" || c == "constant" || c == "input" || c == Untraced
}

// foldDepth is one more than the number of leading path parts that every module of the run's own
// storages shares.
func foldDepth(hs []Holder) int {
	var common []string
	first := true
	for i := range hs {
		if stateCategory(hs[i].Category) || hs[i].Module == "" {
			continue
		}
		parts := strings.Split(hs[i].Module, ".")
		if first {
			common, first = parts[:len(parts)-1], false
			continue
		}
		n := 0
		for n < len(common) && n < len(parts)-1 && common[n] == parts[n] {
			n++
		}
		common = common[:n]
	}
	return len(common) + 1
}

func cutModule(m string, depth int) string {
	end := 0
	for range depth {
		i := strings.IndexByte(m[end:], '.')
		if i < 0 {
			return m
		}
		end += i + 1
	}
	return m[:end-1]
}

// A gatherer sums holders by a key and keeps how many storages of each category a key has.
type gatherer struct {
	index map[string]int
	keys  []string
	flat  []units.Bytes
	cum   []units.Bytes // only where keys have children
	count [][]categoryCount
}

type categoryCount struct {
	category string
	count    int
}

func newGatherer() *gatherer { return &gatherer{index: map[string]int{}} }

func (g *gatherer) at(key string) int {
	i, ok := g.index[key]
	if !ok {
		i = len(g.keys)
		g.index[key] = i
		g.keys = append(g.keys, key)
		g.flat = append(g.flat, 0)
		g.count = append(g.count, nil)
	}
	return i
}

func (g *gatherer) add(key string, h *Holder) {
	i := g.at(key)
	g.flat[i] += h.Flat
	for j := range g.count[i] {
		if c := &g.count[i][j]; c.category == h.Category {
			c.count += h.Count
			return
		}
	}
	g.count[i] = append(g.count[i], categoryCount{h.Category, h.Count})
}

// addParents gives every module above one that holds something a row too, and every row what lies
// beneath it.
func (g *gatherer) addParents() {
	for i := range len(g.keys) {
		for m := g.keys[i]; ; m = parentModule(m) {
			for len(g.cum) <= g.at(m) {
				g.cum = append(g.cum, 0)
			}
			g.cum[g.at(m)] += g.flat[i]
			if m == "" {
				break
			}
		}
	}
}

func (g *gatherer) rows() []Row {
	rows := make([]Row, len(g.keys))
	for i, key := range g.keys {
		rows[i] = Row{Where: key, What: what(g.count[i]), Flat: g.flat[i], Cum: g.flat[i]}
		if g.cum != nil {
			rows[i].Cum = g.cum[i]
		}
		for _, c := range g.count[i] {
			rows[i].Count += c.count
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Flat, a.Flat), cmp.Compare(b.Cum, a.Cum), cmp.Compare(a.Where, b.Where))
	})
	return rows
}

var plurals = map[string]string{
	"activation": "activations", "input": "inputs", "parameter": "parameters", "buffer": "buffers",
	"constant": "constants", "gradient": "gradients", "optimizer_state": "optimizer states",
	"temporary": "temporaries", "workspace": "workspaces",
}

// what names categories and how many storages there are of each: "parameters ×161, buffers ×106".
func what(counts []categoryCount) string {
	parts := make([]string, len(counts))
	for i, c := range counts {
		name, ok := plurals[c.category]
		if !ok {
			name = c.category
		}
		parts[i] = name + " ×" + strconv.Itoa(c.count)
	}
	return strings.Join(parts, ", ")
}
