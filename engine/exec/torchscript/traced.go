package torchscript

import (
	"slices"

	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/exec/lifetime/stacks"
	"github.com/memspec/memspec/engine/program"
)

// followStacks gives a traced function the live ranges that its stacks tell, or, where the account is to hold every local that Python might
// still hold, the longest ones.
func (m *interp) followStacks(c *code, self *Object) error {
	if m.stacks == nil {
		m.stacks = stacks.New(m.prog)
	}
	var of *program.Object
	if self != nil {
		of = self.lit
	}
	read := m.stacks.Ranges
	if m.Options().HoldLocals {
		read = m.stacks.Most
	}
	ranges, err := read(c.fn, of)
	if err != nil {
		return err
	}
	c.replace(ranges)
	return nil
}

// replace puts ranges in the place of those that the last uses gave their values.
func (c *code) replace(ranges []lifetime.Range) {
	told := make([]bool, c.graph.NumValues)
	for i := range ranges {
		told[ranges[i].Value.ID] = true
	}
	for i := range c.body.insts {
		in := &c.body.insts[i]
		for j := range in.node.Args {
			if v := in.node.Args[j].Value; v != nil && told[v.ID] {
				in.move[j] = false
			}
		}
		in.drop = slices.DeleteFunc(in.drop, func(id int) bool { return told[id] })
	}
	for i := range ranges {
		in := &c.body.insts[ranges[i].To]
		in.drop = append(in.drop, ranges[i].Value.ID)
	}
}
