package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/report"
)

// A Ground is something that a verdict rests on beside its figures: a note that makes them less
// than exact, what the case states or allows, sources that nothing can check.
type Ground struct {
	Kind   GroundKind `json:"kind"`
	ID     note.ID    `json:"id,omitempty"`     // of a note, and of what allow: names
	Text   string     `json:"text"`             // in words
	Places int        `json:"places,omitempty"` // of a note: at how many places of the program it was written
	Settle string     `json:"settle,omitempty"` // the command that makes the figure exact, where there is one
}

// Stated says whether the case itself says it.
func (g *Ground) Stated() bool {
	return g.Kind == GroundAssume || g.Kind == GroundAllow || g.Kind == GroundJudge
}

// GroundKind is a kind of ground.
type GroundKind string

// The kinds, in the order in which grounds stand.
const (
	GroundNote   GroundKind = "note"
	GroundAssume GroundKind = "assume"
	GroundAllow  GroundKind = "allow"
	GroundJudge  GroundKind = "judge"  // the likely figure decides where the upper one breaks a budget
	GroundOrigin GroundKind = "origin" // nothing records what the artifact was made from
)

// OriginUnknown is the text of a GroundOrigin.
const OriginUnknown = "nothing records what the artifact was made from: a change of its sources goes unnoticed"

// grounds are what a verdict on a report rests on, each once.
func grounds(r *report.Report, budgets []Budget, o Options) []Ground {
	var out []Ground
	for i := range r.Notes {
		n := &r.Notes[i]
		if n.ID == note.ValueStated {
			out = append(out, Ground{Kind: GroundAssume, ID: n.ID, Text: cmp.Or(n.Assume, n.Text)})
		}
		if !lowers(n, budgets) {
			continue
		}
		at := slices.IndexFunc(out, func(g Ground) bool { return g.ID == n.ID })
		if at < 0 {
			at = len(out)
			out = append(out, Ground{Kind: GroundNote, ID: n.ID, Text: n.Text, Settle: n.Settle})
		}
		out[at].Places++
		if out[at].Settle == "" {
			out[at].Settle = n.Settle
		}
	}
	for _, text := range o.Assume {
		out = append(out, Ground{Kind: GroundAssume, Text: text})
	}
	for _, id := range o.Allow {
		k, _ := note.Of(note.ID(id))
		out = append(out, Ground{Kind: GroundAllow, ID: note.ID(id), Text: k.Meaning})
	}
	if o.Basis == ByLikely && (r.Upper != nil || tooLow(r, o, report.Total) != nil) {
		out = append(out, Ground{Kind: GroundJudge, Text: "the likely figure decides, not the upper one"})
	}
	if r.Origin == report.OriginUnknown {
		out = append(out, Ground{Kind: GroundOrigin, Text: OriginUnknown})
	}
	return out
}

// lowers says whether a note makes a figure that budgets are on less than exact. Without budgets
// that is any figure.
func lowers(n *report.Note, budgets []Budget) bool {
	switch e := n.ID.Effect(); {
	case len(budgets) == 0:
		return n.Lowers()
	case e != note.OpenTotal && e != note.OpenReserved && e != note.OpenTokens && e != note.UpperTokens:
		return n.Lowers()
	}
	return slices.ContainsFunc(budgets, func(b Budget) bool { return opens(n.ID.Effect(), b.Metric) })
}

// judgedQuality is the quality of the figures that budgets are on: a report's own, or exact where
// no note that makes it an estimate concerns them.
func judgedQuality(r *report.Report, budgets []Budget) report.Quality {
	noted := false
	for i := range r.Notes {
		if n := &r.Notes[i]; n.Lowers() {
			if noted = true; lowers(n, budgets) {
				return r.Quality
			}
		}
	}
	if noted && r.Quality == report.Estimated && r.Upper == nil {
		return report.Exact
	}
	return r.Quality
}

// RestsOn is what a verdict rests on in a line, with the quality of its figures: "estimate by
// workspace-estimate (53 places); assume net.py:3 = 40; allow op-missing; origin unknown". It is
// empty where the figures are exact and nothing is stated.
func (v *Verdict) RestsOn() string {
	q, gs := v.Quality, v.Grounds
	var notes, assumed, allowed, parts []string
	for _, g := range gs {
		switch g.Kind {
		case GroundNote:
			text := string(g.ID)
			if g.Places > 1 {
				text += fmt.Sprintf(" (%d places)", g.Places)
			}
			notes = append(notes, text)
		case GroundAssume:
			assumed = append(assumed, g.Text)
		case GroundAllow:
			allowed = append(allowed, string(g.ID))
		}
	}
	join := func(what string, list []string) {
		if len(list) > 0 {
			parts = append(parts, what+strings.Join(list, ", "))
		}
	}
	switch {
	case q != report.Exact && len(notes) == 0:
		parts = append(parts, string(q))
	case q != report.Exact:
		join(string(q)+" by ", notes)
	default:
		join("", notes)
	}
	join("assume ", assumed)
	join("allow ", allowed)
	for _, g := range gs {
		switch g.Kind {
		case GroundJudge:
			parts = append(parts, "judge likely")
		case GroundOrigin:
			parts = append(parts, "origin unknown")
		}
	}
	return strings.Join(parts, "; ")
}
