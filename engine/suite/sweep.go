package suite

import (
	"context"
	"fmt"

	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
)

// Sweep runs a case at each of several values of a dim, in their order.
func (ms *Models) Sweep(ctx context.Context, at At, values []int64) ([]*Result, error) {
	cases := make([]spec.Case, len(values))
	for i, v := range values {
		var err error
		if cases[i], err = at(v); err != nil {
			return nil, err
		}
		cases[i].Fits = nil // values of a dim are what is shown here
	}
	var out []*Result
	ms.JudgeAll(ctx, cases, nil, func(r *Result) { out = append(out, r) })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, r := range out {
		if r.Err != nil {
			return nil, fmt.Errorf("at %d: %w", values[i], r.Err)
		}
	}
	return out, nil
}

// Affine is a + b·x where every one of the points lies on it to the byte; false where not, or with
// fewer than three points.
func Affine(xs []int64, ys []units.Bytes) (a, b units.Bytes, ok bool) {
	if len(xs) < 3 || len(xs) != len(ys) || xs[0] == xs[1] {
		return 0, 0, false
	}
	rise, run := ys[1]-ys[0], units.Bytes(xs[1]-xs[0])
	if rise%run != 0 {
		return 0, 0, false
	}
	b = rise / run
	a = ys[0] - b.Mul(xs[0])
	for i, x := range xs {
		if a+b.Mul(x) != ys[i] {
			return 0, 0, false
		}
	}
	return a, b, true
}
