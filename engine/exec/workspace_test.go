package exec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace"
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
