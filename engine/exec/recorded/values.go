package recorded

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/recording"
)

// mostValueLines is how many source lines may decide: of more, the ends of what they decide
// together are not known.
const mostValueLines = 4

// valueNotes are what a recording says of values that no kernel computed: the recording's own notes
// of reads, and what runs with other values say.
func valueNotes(h *recording.Header) []recording.Note {
	v := h.Values
	if v == nil {
		return h.Notes
	}
	decides, failed := v.Differs(), v.Failed()
	if !decides && failed == nil {
		return h.Notes
	}
	said := recording.Note{ID: string(note.ValueDecides)}
	if len(v.Lines) > 0 {
		said.File, said.Line = v.Lines[0].File, v.Lines[0].Line
	}
	switch {
	case failed != nil:
		said.ID = string(note.ValueOpen)
		said.Text = fmt.Sprintf("%s: with the values %q the run fails (%s), and no end is known of what it takes",
			linesText(v.Lines, "may decide what is taken"), failed.Values, failed.Failed)
	case len(v.Lines) > mostValueLines:
		said.ID = string(note.ValueOpen)
		said.Text = fmt.Sprintf("%d lines read values that no kernel computed before what is taken differs, the first %s: "+
			"of more than %d no end is known",
			len(v.Lines), lineText(&v.Lines[0]), mostValueLines)
	case slices.ContainsFunc(v.Lines, isOpen):
		open := &v.Lines[slices.IndexFunc(v.Lines, isOpen)]
		said.ID, said.File, said.Line = string(note.ValueOpen), open.File, open.Line
		said.Text = fmt.Sprintf("%s reads a value that no kernel computed, which may decide what is taken: %s",
			lineText(open), open.Open)
	default:
		said.Text = linesText(v.Lines, "decides what is taken")
	}
	return append(slices.Clone(h.Notes), said)
}

func isOpen(l recording.ValueLine) bool { return l.Open != "" }

// linesText is "zoo.py:12 (route) reads a value that no kernel computed, which decides what is
// taken"; of several lines one does.
func linesText(lines []recording.ValueLine, decides string) string {
	const most = 4
	var names []string
	for i := range lines[:min(len(lines), most)] {
		names = append(names, lineText(&lines[i]))
	}
	if len(lines) > most {
		names = append(names, fmt.Sprintf("%d more", len(lines)-most))
	}
	switch len(lines) {
	case 0:
		return "a value that no kernel computed " + decides
	case 1:
		return names[0] + " reads a value that no kernel computed, which " + decides
	}
	return "one of these lines reads a value that no kernel computed, which " + decides + ": " +
		strings.Join(names, ", ")
}

func lineText(l *recording.ValueLine) string {
	if l.File == "" {
		return "a thread without Python"
	}
	s := fmt.Sprintf("%s:%d", l.File, l.Line)
	if l.Function != "" {
		s += " (" + l.Function + ")"
	}
	return s
}
