package torchscript

import (
	"slices"

	"github.com/memspec/memspec/engine/program"
)

// eagerUses moves the last uses that compile put behind an If, as PyTorch's interpreter has them,
// into its branches: Python releases what the branch it takes does not need. What a name holds is
// held by the name; this is about values without one. It also ends x behind `1 / x`, and not at its
// reciprocal: eager PyTorch computes it in a Python function (torch/_tensor.py __rdiv__), whose
// argument holds x until it returns.
func eagerUses(c *code) { eagerBlock(c.body) }

func eagerBlock(b *block) {
	for i := range b.insts {
		in := &b.insts[i]
		if in.node.Op == "prim::If" {
			keep := in.drop[:0]
			for _, id := range in.drop {
				if in.defines(id) || !sinkAll(in, id) {
					keep = append(keep, id)
				}
			}
			in.drop = keep
		}
		if in.node.Op == "aten::reciprocal" && in.node.Flags&program.Builtin != 0 && i+1 < len(b.insts) &&
			len(in.move) > 0 && in.move[0] {
			in.move[0] = false
			b.insts[i+1].drop = append(b.insts[i+1].drop, in.node.Args[0].Value.ID)
		}
		for _, sub := range in.blocks {
			eagerBlock(sub)
		}
	}
}

func (in *inst) defines(id int) bool {
	for _, v := range in.node.Outs {
		if v.ID == id {
			return true
		}
	}
	return false
}

// sinkAll puts the last use of a value into each branch; false where one hands the value on.
func sinkAll(in *inst, id int) bool {
	all := true
	for _, b := range in.blocks {
		all = sink(b, id) && all
	}
	return all
}

// sink puts the last use of a value from outside into b.
func sink(b *block, id int) bool {
	for i := range b.src.Outs {
		if v := b.src.Outs[i].Value; v != nil && v.ID == id {
			return false
		}
	}
	for i := len(b.insts) - 1; i >= 0; i-- {
		in := &b.insts[i]
		if in.usesInside(id) {
			if in.node.Op != "prim::If" || !sinkAll(in, id) {
				in.drop = once(in.drop, id)
			}
			return true
		}
		for j := len(in.node.Args) - 1; j >= 0; j-- {
			if v := in.node.Args[j].Value; v != nil && v.ID == id {
				in.move[j] = true
				return true
			}
		}
	}
	b.dead = once(b.dead, id)
	return true
}

// once adds a value to a list. An If in a branch is gone through twice: for what the outer If
// releases, and for itself.
func once(list []int, id int) []int {
	if slices.Contains(list, id) {
		return list
	}
	return append(list, id)
}

// usesInside says whether the node's blocks use a value.
func (in *inst) usesInside(id int) bool {
	for _, b := range in.blocks {
		for i := range b.insts {
			for j := range b.insts[i].node.Args {
				if v := b.insts[i].node.Args[j].Value; v != nil && v.ID == id {
					return true
				}
			}
			if b.insts[i].usesInside(id) {
				return true
			}
		}
		for i := range b.src.Outs {
			if v := b.src.Outs[i].Value; v != nil && v.ID == id {
				return true
			}
		}
	}
	return false
}
