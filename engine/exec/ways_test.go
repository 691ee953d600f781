package exec

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Of several ways through branches on tensor data the heaviest is kept, and at the lower end the
// lightest, whichever comes first.
func TestHeaviestAndLightestWay(t *testing.T) {
	for _, c := range []struct {
		lower bool
		peaks []units.Bytes
		want  units.Bytes
	}{
		{false, []units.Bytes{5, 3, 8, 4}, 8}, {false, []units.Bytes{8, 3}, 8}, {false, []units.Bytes{3, 8}, 8},
		{true, []units.Bytes{5, 3, 8, 4}, 3}, {true, []units.Bytes{8, 3}, 3}, {true, []units.Bytes{3, 8}, 3},
	} {
		s := &search{asked: map[string]bool{}}
		for _, peak := range c.peaks {
			m := newMachine(context.Background(), nil, Options{Platform: &platform.Platform{}, Lower: c.lower})
			m.peak = peak
			s.add(m, nil)
		}
		assert.Equal(t, c.want, s.best.peak, "%v, at the lower end: %v", c.peaks, c.lower)
		first := s.best
		m := newMachine(context.Background(), nil, Options{Platform: &platform.Platform{}, Lower: c.lower})
		m.peak = first.peak
		s.add(m, nil)
		assert.Same(t, first, s.best, "of two that take the same the first")
	}
}

// placeless is a loop at no place.
type placeless struct {
	Loop
	m *Machine
}

func (l placeless) Enter() { l.m.Sites.Enter("prim::Loop", "", program.Pos{}) }

// A loop that nothing ends and whose model refuses a round is open where any round came before;
// where the first is refused, the model is refused.
func TestRefusedRoundOfAnOpenLoop(t *testing.T) {
	for _, c := range []struct {
		done int
		open bool
		want bool
	}{{0, true, false}, {1, true, true}, {2, true, true}, {1, false, false}, {2, false, false}} {
		m := newMachine(context.Background(), nil, Options{Platform: &platform.Platform{}})
		m.Sites.Begin(trace.Forward)
		r := &Rounds{m: m, loop: placeless{m: m}, trips: endless, open: c.open}
		for range c.done {
			r.Done()
		}
		r.Failed()
		assert.Equal(t, c.want, m.openEnded, "%d rounds before it, open: %v", c.done, c.open)
		assert.Equal(t, c.want, len(m.Trace().Coverage.Unsupported) == 1)
	}
}
