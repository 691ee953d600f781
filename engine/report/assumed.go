package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/note"
)

// WriteAssumed writes who answered for the libraries' workspace, and the notes: those of one text
// in a line, with the first place and how many there are.
func WriteAssumed(w io.Writer, r *Report) error {
	p := layout.To(w)
	name := "workspace"
	for i := range r.Workspace {
		p.Item(name, "%s", workspaceText(&r.Workspace[i]))
		name = ""
	}
	for i := range r.Holders {
		if h := &r.Holders[i]; h.Source != "" {
			p.Item(name, "%s held at the peak: %s", Both(h.Flat), h.Source)
		}
	}
	if len(r.Notes) > 0 {
		p.Line("  assumed:")
	}
	for _, line := range Assumed(r.Notes) {
		p.Line("    %s", line)
	}
	return p.Err
}

// Assumed are notes in words: those of one text in a line, with the first place and how many there
// are.
func Assumed(notes []Note) []string {
	var lines []string
	for _, g := range gatherNotes(notes) {
		lines = append(lines, g.String())
	}
	return lines
}

// noteGroup is the notes of one ID and text.
type noteGroup struct {
	Note
	places int
	assume []string // each once, in order
}

// gatherNotes puts notes that differ in their place alone together, in the order of their first.
func gatherNotes(notes []Note) []*noteGroup {
	type key struct {
		id   note.ID
		text string
	}
	var out []*noteGroup
	at := map[key]*noteGroup{}
	for _, n := range notes {
		k := key{n.ID, n.Text}
		g := at[k]
		if g == nil {
			g = &noteGroup{Note: n}
			at[k] = g
			out = append(out, g)
		}
		g.places++
		if n.Assume != "" && !slices.Contains(g.assume, n.Assume) {
			g.assume = append(g.assume, n.Assume)
		}
	}
	return out
}

// String is "workspace-estimate: a convolution's workspace is by formula; at 53 places, first at
// aten::conv2d  conv1  resnet.py:268".
func (g *noteGroup) String() string {
	k, _ := note.Of(g.ID)
	s := string(g.ID) + ": " + g.Text + k.AssumeHint(g.assume...)
	switch first := g.First.String(); {
	case first == "":
		return s
	case g.places > 1:
		return fmt.Sprintf("%s; at %d places, first at %s", s, g.places, first)
	default:
		return s + "; first at " + first
	}
}
