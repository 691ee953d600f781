package note_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/note"
)

func TestKinds(t *testing.T) {
	assert.True(t, slices.IsSorted(note.IDs()), "the list in engine/doc.go is in this order")
	for _, k := range note.Kinds() {
		t.Run(string(k.ID), func(t *testing.T) {
			assert.NotEmpty(t, k.Meaning)
			assert.NotZero(t, k.Effect)
			assert.Equal(t, k.Subject != "", strings.Contains(k.Text, "{subject}"), "a subject is stated if and only if the "+
				"text has a place for it")
			assert.Equal(t, k.Assume.What != "", strings.Contains(k.Assume.Hint, "{assume}"))
			got, ok := note.Of(k.ID)
			assert.True(t, ok)
			assert.Equal(t, k, got)
		})
	}
	_, ok := note.Of("no-such-note")
	assert.False(t, ok)
}

func TestText(t *testing.T) {
	for _, tt := range []struct {
		n    note.Note
		want string
	}{
		{note.Note{ID: note.DeviceRemapped, Subject: "cuda:1"}, "the archive names the device cuda:1 in its code: read as " +
			"the case's device"},
		{note.Note{ID: note.ValueAssumed}, "a number depends on tensor data and is only computed with; it does not matter " +
			"to memory"},
		{note.Note{ID: note.WorkspaceEstimate, Subject: "by rule"}, "by rule"},
		{note.Note{ID: "of a newer version", Subject: "whatever it says"}, "whatever it says"},
	} {
		assert.Equal(t, tt.want, tt.n.Text())
	}
}

func TestAssumeHint(t *testing.T) {
	shape, _ := note.Of(note.ShapeBound)
	assert.Equal(t, " (give assume: {net.py:3: SIZE} to state a tighter one)", shape.AssumeHint("net.py:3"))
	assert.Equal(t, " (give assume: {net.py:3: SIZE, net.py:9: SIZE} to state a tighter one)",
		shape.AssumeHint("net.py:3", "net.py:9"))
	assert.Empty(t, shape.AssumeHint(), "no place is known")
	branch, _ := note.Of(note.BranchBoth)
	assert.Empty(t, branch.AssumeHint("net.py:3"), "nothing can be stated of a branch")
}

// What a note means for the figures is said, and differs by effect; of an ID without a row they may
// be too low.
func TestEffects(t *testing.T) {
	said := map[string]note.Effect{}
	for _, k := range note.Kinds() {
		text := k.Effect.String()
		assert.NotEmpty(t, text, k.ID)
		if other, ok := said[text]; ok {
			assert.Equal(t, other, k.Effect, k.ID)
		}
		said[text] = k.Effect
		assert.Equal(t, k.Effect, k.ID.Effect())
	}
	assert.Equal(t, note.Open, note.ID("no-such-note").Effect())
}
