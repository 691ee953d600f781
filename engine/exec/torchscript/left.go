package torchscript

import "github.com/memspec/memspec/engine/program"

// leftStates says of which tensors of the archive the module itself has released.
type leftStates struct {
	uses   map[*program.State]int // how many attributes have each; counted when an attribute is first assigned
	states map[*program.State]bool
}

// leave ends the module's own hold of the tensors of an attribute that is assigned anew: the first
// time, and where no other attribute has them.
func (m *interp) leave(o *program.Object, index int) {
	l := &m.left
	if !mayHaveStates(o.Attrs[index]) {
		return
	}
	if l.uses == nil {
		*l = leftStates{uses: map[*program.State]int{}, states: map[*program.State]bool{}}
		eachState(m.prog.Root, func(s *program.State) { l.uses[s]++ })
	}
	eachState(o.Attrs[index], func(s *program.State) {
		if l.uses[s] == 1 && !l.states[s] {
			l.states[s] = true
			m.Drop(m.State(s))
		}
	})
}

// mayHaveStates is false for the plain values that most attributes are.
func mayHaveStates(v any) bool {
	switch v.(type) {
	case *program.State, *program.Object, *program.ListLit, *program.TupleLit, *program.DictLit, *program.Opaque:
		return true
	}
	return false
}

// eachState calls f with each tensor of an archived value, those of an object's attributes with
// them, each as often as it is there.
func eachState(v any, f func(*program.State)) {
	seen := map[*program.Object]bool{}
	var walk func(v any)
	each := func(vs []any) {
		for _, v := range vs {
			walk(v)
		}
	}
	walk = func(v any) {
		switch v := v.(type) {
		case *program.State:
			f(v)
		case *program.Object:
			if v != nil && !seen[v] {
				seen[v] = true
				each(v.Attrs)
				walk(v.State)
			}
		case *program.ListLit:
			each(v.Items)
		case *program.TupleLit:
			each(v.Items)
		case *program.DictLit:
			each(v.Keys)
			each(v.Values)
		case *program.Opaque:
			walk(v.State)
		}
	}
	walk(v)
}
