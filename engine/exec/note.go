package exec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/trace"
)

// Notes are what a run has to report beside its events: what it assumed, what is missing, and how
// much of the program it understood.
type Notes struct {
	sites    *Sites
	list     []trace.Note
	noted    map[noted]bool
	coverage trace.Coverage
	missing  map[Lack]int // places in coverage.Unsupported

	assume map[string]int64 // what the case states of tensor data, by file:line: a size, or how often a loop runs
	asked  map[string]bool  // places where something of the kind was asked for
}

// noted is a note at a place.
type noted struct {
	note.Note
	place trace.Site
}

// Note records an assumption, once at a place.
func (n *Notes) Note(what note.Note) {
	key := noted{what, n.sites.current()}
	if n.noted[key] {
		return
	}
	if n.noted == nil {
		n.noted = make(map[noted]bool, 64) // a note is long, and filling the map anew costs its hash each time
	}
	n.noted[key] = true
	n.list = append(n.list, trace.Note{Note: what, Site: n.sites.now})
}

// Lack is what is missing from the account.
type Lack struct {
	Op     string
	Reason trace.Reason
	Detail string
}

// Unsupported records an operator whose results are missing, and why.
func (n *Notes) Unsupported(op string, why trace.Reason) { n.Lacks(Lack{Op: op, Reason: why}) }

// Lacks records what is missing, at the current place.
func (n *Notes) Lacks(l Lack) {
	i, ok := n.missing[l]
	if !ok {
		i = len(n.coverage.Unsupported)
		if n.missing == nil {
			n.missing = map[Lack]int{}
		}
		n.missing[l] = i
		n.coverage.Unsupported = append(n.coverage.Unsupported,
			trace.Unsupported{Op: l.Op, Reason: l.Reason, Detail: l.Detail, First: n.sites.current()})
	}
	n.coverage.Unsupported[i].Count++
}

// Missed records an operator without a rule, unless it is recorded already why its result is
// missing.
func (n *Notes) Missed(e *ops.MissingError) {
	switch {
	case !e.Reported:
		n.Unsupported(e.Op, trace.NoRule)
	case !n.Incomplete():
		n.Unsupported(e.Op, trace.ReadsData)
	}
}

// Incomplete says whether something is missing: what follows from it is not known.
func (n *Notes) Incomplete() bool { return len(n.coverage.Unsupported) > 0 }

// Node counts a node of the program that was executed.
func (n *Notes) Node() { n.coverage.Nodes++ }

// UnknownTensor counts a tensor of which neither dtype nor size is known.
func (n *Notes) UnknownTensor() { n.coverage.TensorOutputs++ }

// Assumed is what the case states of the current place.
func (n *Notes) Assumed() (int64, bool) {
	if n.sites.now < 0 {
		return 0, false
	}
	line := lineOf(n.sites.current())
	if n.asked == nil {
		n.asked = map[string]bool{}
	}
	n.asked[line] = true
	v, ok := n.assume[line]
	return v, ok
}

// checkAsked refuses an assumption about a line where nothing depends on tensor data: when the
// user's file changes, the line is another one, and the assumption would be dropped without a word.
func checkAsked(assume map[string]int64, asked map[string]bool) error {
	for _, line := range slices.Sorted(maps.Keys(assume)) {
		if asked[line] {
			continue
		}
		if len(asked) == 0 {
			return fmt.Errorf("assume: got the place %s, want none: no size and no loop depends on tensor data", line)
		}
		return fmt.Errorf("assume: got the place %s, want one where a size or a loop depends on tensor data: %s", line,
			strings.Join(slices.Sorted(maps.Keys(asked)), ", "))
	}
	return nil
}
