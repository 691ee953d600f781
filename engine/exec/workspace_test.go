package exec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// TestWorkspacesHeld: what an operator holds after each of its requests, oldest first: one that
// only drops takes no place, one of no bytes does.
func TestWorkspacesHeld(t *testing.T) {
	bytes := func(n units.Bytes) workspace.Request { return workspace.Request{Bytes: n} }
	for _, tt := range []struct {
		why  string
		asks []workspace.Request
		want string
	}{
		{"one after the other", []workspace.Request{bytes(1), bytes(2)}, "[1] [1 2]"},
		{"the latest one is dropped", []workspace.Request{bytes(1), bytes(2), workspace.Drop(1), workspace.Drop(1)},
			"[1] [1 2] [1] []"},
		{"two at once", []workspace.Request{bytes(1), bytes(2), bytes(3), workspace.Drop(2)}, "[1] [1 2] [1 2 3] [1]"},
		{"the one before the latest", []workspace.Request{bytes(1), bytes(2), bytes(3), workspace.DropPast(1),
			workspace.DropPast(0)}, "[1] [1 2] [1 2 3] [1 3] [1]"},
		{"one that takes another's place", []workspace.Request{bytes(1), {Bytes: 2, Drops: 1}}, "[1] [2]"},
		{"nothing has a place, for it may be dropped", []workspace.Request{bytes(1), bytes(0), workspace.Drop(1),
			workspace.Drop(1)}, "[1] [1 -] [1] []"},
		{"a handle's own has one too", []workspace.Request{{Bytes: 1, Keep: "k"}, {Bytes: 1, Keep: "k"}, bytes(2)},
			"[-] [- -] [- - 2]"},
		{"a trial's is gone at once", []workspace.Request{{Bytes: 1, Trial: "t"}, {Bytes: 1, Trial: "t"}}, "[-] [- -]"},
		{"an estimate from nothing up is taken", []workspace.Request{{Upper: 1}}, "[0]"},
		{"also in the place of another", []workspace.Request{bytes(1), {Upper: 1, Drops: 1}}, "[1] [0]"},
	} {
		w := workspaces{d: NewDispatch(nil, Options{Platform: &platform.Platform{}})}
		var states []string
		for i := range tt.asks {
			w.takeOne(&tt.asks[i])
			var held []string
			for _, st := range w.held {
				if st == nil {
					held = append(held, "-")
				} else {
					held = append(held, fmt.Sprint(int64(st.NBytes)))
				}
			}
			states = append(states, fmt.Sprint(held))
		}
		assert.Equal(t, tt.want, strings.Join(states, " "), tt.why)
	}
}

// TestWorkspacesSay: what is reported of a request beside its bytes: its note, which a library that
// nobody asked could settle, how much it may take at most, and which library answered.
func TestWorkspacesSay(t *testing.T) {
	answered := &workspace.Asked{By: profile.Answerer{Library: "cudnn 9"}}
	for _, tt := range []struct {
		why   string
		ask   workspace.Request
		notes []note.Note
		upper []units.Bytes
		texts []string
	}{
		{"nothing", workspace.Request{Bytes: 5, Source: "s"}, nil, nil, nil},
		{"a note of PyTorch's own code", workspace.Request{Bytes: 5, Source: "s", Note: "n"},
			[]note.Note{{ID: "n", Subject: "s"}}, nil, nil},
		{"of a library that nobody asked", workspace.Request{Bytes: 5, Source: "s", Note: "n", Asked: &workspace.Asked{}},
			[]note.Note{{ID: "n", Subject: "s", Askable: true}}, nil, nil},
		{"of one that answered", workspace.Request{Bytes: 5, Source: "s", Note: "n", Asked: answered},
			[]note.Note{{ID: "n", Subject: "s"}}, nil, []string{"s"}},
		{"an answer alone", workspace.Request{Bytes: 5, Source: "s", Asked: answered}, nil, nil, []string{"s"}},
		{"what nobody knows, of nothing", workspace.Request{Source: "s", Upper: 9, Note: note.WorkspaceUnknown},
			[]note.Note{{ID: note.WorkspaceUnknown, Subject: "s"}}, nil, nil},
		{"of nothing, known", workspace.Request{Source: "s", Note: "n"}, nil, nil, nil},
		{"a range", workspace.Request{Bytes: 5, Upper: 6}, nil, []units.Bytes{6}, nil},
		{"an estimate of one size", workspace.Request{Bytes: 5, Upper: 5}, nil, nil, nil},
	} {
		d := NewDispatch(nil, Options{Platform: &platform.Platform{}})
		w := workspaces{d: d}
		w.takeOne(&tt.ask)
		tr := d.Trace()
		var notes []note.Note
		for _, n := range tr.Notes {
			notes = append(notes, n.Note)
		}
		var upper []units.Bytes
		for _, u := range d.upper {
			upper = append(upper, u.Bytes)
		}
		var texts []string
		for _, s := range d.sources {
			texts = append(texts, s.Text)
		}
		assert.Equal(t, tt.notes, notes, tt.why)
		assert.Equal(t, tt.upper, upper, tt.why)
		assert.Equal(t, tt.texts, texts, tt.why)
	}
}

// TestSameMeta: two tensors are alike where all of dtype, offset, device, sizes and strides are.
func TestSameMeta(t *testing.T) {
	of := func(edit func(*tensor.Meta)) *tensor.Meta {
		m := &tensor.Meta{DType: tensor.Int32, Sizes: []int64{2, 3}, Strides: []int64{3, 1}, Device: Accelerator}
		edit(m)
		return m
	}
	plain := of(func(*tensor.Meta) {})
	assert.True(t, sameMeta(plain, of(func(*tensor.Meta) {})))
	for _, edit := range []func(*tensor.Meta){
		func(m *tensor.Meta) { m.DType = tensor.Float32 },
		func(m *tensor.Meta) { m.StorageOffset = 1 },
		func(m *tensor.Meta) { m.Device = "cpu" },
		func(m *tensor.Meta) { m.Sizes = []int64{3, 2} },
		func(m *tensor.Meta) { m.Strides = []int64{1, 2} },
	} {
		assert.False(t, sameMeta(plain, of(edit)))
	}
}
