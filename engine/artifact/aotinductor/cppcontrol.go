package aotinductor

import (
	"maps"

	"github.com/memspec/memspec/engine/program"
)

// numberTypes are those of numbers that are declared before they are read.
var numberTypes = map[string]bool{"int64_t": true, "int32_t": true, "double": true, "float": true, "bool": true,
	"auto": true, "int16_t": true, "int8_t": true, "uint8_t": true}

// control reads if (buf1_scalar == 0) {…} else {…}, if (!(u0 <= 8L)) { throw …; } and while (1) {…
// if (!buf1_scalar) break; …}.
func (r *cppReader) control(s *statement) error {
	switch {
	case s.again:
		if s.test == nil || s.test.kind != intTerm || s.test.n != 1 {
			return fail(s.where, "got a loop while %s, want while (1)", s.cond)
		}
		return r.again(s)
	case throws(s.block) && s.other == nil:
		if x := s.test; x != nil && x.kind == signTerm && x.text == "!" && len(x.args) == 1 {
			r.bounded(x.args[0])
		}
		return nil
	}
	value, is, err := r.tested(s)
	if err != nil {
		return err
	}
	run := func(list []statement) func() error { return func() error { return r.run(list) } }
	return r.choice(value, is, s.where, run(s.block), run(s.other))
}

// throws says whether a block does nothing but to throw.
func throws(list []statement) bool {
	return len(list) == 1 && len(list[0].left) == 1 && list[0].left[0].text == "throw"
}

// tested is the value that decides an if, and the number that it is compared with.
func (r *cppReader) tested(s *statement) (*program.Value, int64, error) {
	x := s.test
	if x != nil && x.kind == signTerm && x.text == "==" && x.args[0].kind == nameTerm && x.args[1].kind == intTerm {
		if n := r.reads[x.args[0].text]; n != nil && len(n.Outs) == 1 {
			return n.Outs[0], x.args[1].n, nil
		}
	}
	return nil, 0, fail(s.where,
		"got a block that runs if %s, want a comparison of a value that was read with a number", s.cond)
}

// again reads a loop.
func (r *cppReader) again(s *statement) error {
	before := maps.Clone(r.names)
	return r.loop(s.where, func() error {
		for i := range s.block {
			inner := &s.block[i]
			if !breaks(inner) {
				if err := r.statement(inner); err != nil {
					return err
				}
				continue
			}
			x := inner.test
			if x == nil || x.kind != signTerm || x.text != "!" || len(x.args) != 1 || r.reads[x.args[0].text] == nil ||
				len(r.reads[x.args[0].text].Outs) != 1 {
				return fail(inner.where, "got a loop that is left if %s, want a value that was read to be nought",
					inner.cond)
			}
			if err := r.leaves(r.reads[x.args[0].text].Outs[0], before, inner.where); err != nil {
				return err
			}
		}
		return nil
	})
}

// breaks says whether a statement leaves a loop.
func breaks(s *statement) bool {
	return s.cond != nil && len(s.block) == 1 && s.block[0].right != nil && s.block[0].right.kind == nameTerm &&
		s.block[0].right.text == "break" && s.other == nil
}
