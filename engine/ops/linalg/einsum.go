package linalg

import (
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// einsum as native/Linear.cpp does it: operands are permuted to common dimensions, the output's
// first, and multiplied pair by pair.

const ellipsis = 52 // the label of "...", after 26 capitals and 26 small letters

// einsumLabels reads one side of the equation.
func einsumLabels(c *ops.Call, s string) ([]int, error) {
	var out []int
	for i := 0; i < len(s); i++ {
		ch := s[i]
		switch {
		case ch == ' ':
		case ch >= 'A' && ch <= 'Z':
			out = append(out, int(ch-'A'))
		case ch >= 'a' && ch <= 'z':
			out = append(out, int(ch-'a')+26)
		case strings.HasPrefix(s[i:], "...") && !slices.Contains(out, ellipsis):
			out = append(out, ellipsis)
			i += 2
		default:
			return nil, c.Errorf("got %q in an equation, want letters and one ...", ch)
		}
	}
	return out, nil
}

// contraction is an equation with its operands laid out.
type contraction struct {
	operands []*tensor.Tensor
	outDims  int // dimensions of the result; those after are summed
	dims     int
}

func einsum(c *ops.Call) (any, error) {
	e, err := layOut(c, c.Str("equation"), c.Tensors("tensors"))
	if err != nil || !c.OK() {
		return nil, err
	}
	counts := make([]int, e.dims)
	for _, t := range e.operands {
		for d := range e.dims {
			if t.Sizes[d] != 1 {
				counts[d]++
			}
		}
	}
	path := c.Ints("path")
	operands := e.operands
	given := len(operands)
	for step := 0; len(operands) > 1; step++ {
		i, j := 0, 1
		if 2*step+1 < len(path) {
			i, j = int(path[2*step]), int(path[2*step+1])
			i, j = min(i, j), max(i, j)
		}
		if i < 0 || i == j || j >= len(operands) {
			return nil, c.Errorf("got path %v, want pairs of operands", path)
		}
		a, b := operands[i], operands[j]
		operands = slices.Delete(operands, j, j+1)
		operands = slices.Delete(operands, i, i+1)
		out := contract(c, a, b, counts, e.outDims)
		if len(path) == 0 { // from left to right
			operands = slices.Insert(operands, 0, out)
		} else {
			operands = append(operands, out)
		}
		if !c.OK() {
			return nil, nil
		}
	}
	out := operands[0]
	if e.dims == e.outDims {
		return out, nil
	}
	if given > 1 {
		return c.Do("aten::view", out, ops.IntList(out.Sizes[:e.outDims]...)), nil
	}
	sum := make([]int, e.dims-e.outDims)
	for i := range sum {
		sum[i] = e.outDims + i
	}
	return c.Do("aten::sum.dim_IntList", out, ops.DimList(sum)), nil
}

// contract multiplies two operands and sums what no later one needs.
func contract(c *ops.Call, a, b *tensor.Tensor, counts []int, outDims int) *tensor.Tensor {
	var both, onlyA, onlyB []int
	for d := outDims; d < len(counts); d++ {
		switch {
		case a.Sizes[d] != 1 && b.Sizes[d] != 1:
			if counts[d]--; counts[d] == 1 {
				both = append(both, d)
				counts[d] = 0
			}
		case counts[d] == 1 && a.Sizes[d] != 1:
			onlyA = append(onlyA, d)
			counts[d] = 0
		case counts[d] == 1 && b.Sizes[d] != 1:
			onlyB = append(onlyB, d)
			counts[d] = 0
		}
	}
	ga, gb := a, b
	if len(onlyA) > 0 {
		a = c.Do("aten::sum.dim_IntList", a, ops.DimList(onlyA), true)
		c.Free(ga)
	}
	if len(onlyB) > 0 {
		b = c.Do("aten::sum.dim_IntList", b, ops.DimList(onlyB), true)
		c.Free(gb)
	}
	if !c.OK() {
		return ops.NoResult()
	}
	var out *tensor.Tensor
	if len(both) == 0 {
		out = c.Do("aten::mul.Tensor", a, b)
	} else {
		out = sumProduct(c, a, b, both)
	}
	c.Free(b, a)
	return out
}

// sumProduct is sumproduct_pair: one bmm over the dimensions in both (lro), in the left (lo) and in
// the right (ro).
func sumProduct(c *ops.Call, a, b *tensor.Tensor, sum []int) *tensor.Tensor {
	var lro, lo, ro []int
	nLRO, nLO, nRO, nSum := int64(1), int64(1), int64(1), int64(1)
	for d := range a.Sizes {
		sa, sb := a.Sizes[d], b.Sizes[d]
		switch {
		case slices.Contains(sum, d):
			nSum *= sa
		case sa != 1 && sb != 1:
			lro = append(lro, d)
			nLRO *= sa
		case sa != 1:
			lo = append(lo, d)
			nLO *= sa
		default:
			ro = append(ro, d)
			nRO *= sb
		}
	}
	var shape []int64
	for _, d := range lro {
		shape = append(shape, a.Sizes[d])
	}
	for _, d := range lo {
		shape = append(shape, a.Sizes[d])
	}
	for range sum {
		shape = append(shape, 1)
	}
	for _, d := range ro {
		shape = append(shape, b.Sizes[d])
	}
	order := slices.Concat(lro, lo, sum, ro)
	back := make([]int, len(order))
	for i, d := range order {
		back[d] = i
	}
	left := c.Do("aten::reshape", c.Do("aten::permute", a, ops.DimList(order)), ops.IntList(nLRO, nLO, nSum))
	right := c.Do("aten::reshape", c.Do("aten::permute", b, ops.DimList(slices.Concat(lro, sum, ro, lo))),
		ops.IntList(nLRO, nSum, nRO))
	out := c.Do("aten::permute", c.Do("aten::view", c.Do("aten::bmm", left, right), ops.IntList(shape...)),
		ops.DimList(back))
	c.Free(right, left)
	return out
}

// layOut permutes every operand to the common dimensions: the output's, an ellipsis that is summed,
// then the other labels.
func layOut(c *ops.Call, equation string, operands []*tensor.Tensor) (*contraction, error) {
	left, right, explicit := strings.Cut(equation, "->")
	sides := strings.Split(left, ",")
	if len(sides) != len(operands) || len(operands) == 0 {
		return nil, c.Errorf("got %d operands for %q, want one a term", len(operands), equation)
	}
	labels := make([][]int, len(sides))
	var count [ellipsis]int
	ellDims := 0
	for i, s := range sides {
		l, err := einsumLabels(c, s)
		if err != nil {
			return nil, err
		}
		labels[i] = l
		missing := len(operands[i].Sizes) - len(l)
		if slices.Contains(l, ellipsis) {
			missing++
			ellDims = max(ellDims, missing)
		} else if missing != 0 {
			return nil, c.Errorf("got %d labels for %d dimensions, want as many", len(l), len(operands[i].Sizes))
		}
		if missing < 0 {
			return nil, c.Errorf("got %d labels for %d dimensions, want as many", len(l)-1, len(operands[i].Sizes))
		}
		for _, x := range l {
			if x != ellipsis {
				count[x]++
			}
		}
	}
	var out []int
	if explicit {
		l, err := einsumLabels(c, right)
		if err != nil {
			return nil, err
		}
		out = l
	} else {
		out = append(out, ellipsis)
		for x, n := range count {
			if n == 1 {
				out = append(out, x)
			}
		}
	}
	place := slices.Repeat([]int{-1}, ellipsis+1)
	dims := 0
	for _, x := range out {
		if x != ellipsis && (count[x] == 0 || place[x] >= 0) {
			return nil, c.Errorf("got output labels of %q, want each once and in an operand", equation)
		}
		place[x] = dims
		if x == ellipsis {
			dims += ellDims
		} else {
			dims++
		}
	}
	e := &contraction{outDims: dims}
	if place[ellipsis] < 0 {
		place[ellipsis] = dims
		dims += ellDims
	}
	for x, n := range count {
		if n > 0 && place[x] < 0 {
			place[x] = dims
			dims++
		}
	}
	e.dims = dims
	for i, t := range operands {
		e.operands = append(e.operands, align(c, t, labels[i], place, [2]int{dims, ellDims}))
	}
	return e, nil
}

// align permutes one operand; n holds the number of common dimensions and of those an ellipsis
// covers.
func align(c *ops.Call, t *tensor.Tensor, labels, place []int, n [2]int) *tensor.Tensor {
	shape := slices.Repeat([]int{-1}, n[0])
	seen := slices.Repeat([]int{-1}, ellipsis)
	given := len(t.Sizes)
	j := 0
	for _, x := range labels {
		switch {
		case x == ellipsis:
			for range n[1] - (given - len(labels) + 1) {
				t = c.Do("aten::unsqueeze", t, int64(j))
			}
			for k := range n[1] {
				shape[place[ellipsis]+k] = j
				j++
			}
		case seen[x] >= 0:
			d := seen[x]
			if t.Sizes[d] != t.Sizes[j] {
				c.Fail(c.Errorf("got sizes %d and %d of one label, want equal ones", t.Sizes[d], t.Sizes[j]))
				return t
			}
			t = c.Do("aten::movedim.int", c.Do("aten::diagonal", t, int64(0), int64(d), int64(j)), int64(-1), int64(d))
		default:
			seen[x] = j
			shape[place[x]] = j
			j++
		}
	}
	for i := range shape {
		if shape[i] < 0 {
			t = c.Do("aten::unsqueeze", t, int64(-1))
			shape[i] = j
			j++
		}
	}
	return c.Do("aten::permute", t, ops.DimList(shape))
}
