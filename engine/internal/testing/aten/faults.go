package aten

import (
	"errors"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/faults"
	"github.com/memspec/memspec/engine/ops"
)

// The calls of each overload that Faults runs, and the parts of each that fail.
const (
	mostFaulty = 4
	mostParts  = 24
)

// Faults runs recorded calls of operators that are made of others, each with one of its parts
// failing: the call must fail with the same words. Where a part has no rule, the call must say so.
func Faults(t *testing.T, table *ops.Table, family [][]ops.Rule) {
	faulty, err := faults.New(table)
	require.NoError(t, err)
	none := On(t, "none", "2.15")
	tried, parts, most := map[string]int{}, 0, perOverload(mostFaulty)
	calls{family: keys(family), files: sampleFiles(t)}.each(t, func(c *call) {
		if c.Error || tried[c.key()] == most {
			return
		}
		tried[c.key()]++
		run := func(n int, err error) (*run, error) {
			defer func() {
				if bug := recover(); bug != nil {
					t.Errorf("%s (%s): call %d fails: panic: %v\n%s", c.name, c.place, n, bug, debug.Stack())
				}
			}()
			r := newRun(faulty.Table, none)
			args, kw := r.arguments(t, &c.sample)
			faulty.Fail(n, err)
			_, _, err = r.bench.Run(c.Op, args, kw)
			return r, err
		}
		if r, err := run(0, nil); err != nil || len(r.bench.Missing()) > 0 {
			return
		}
		for n := min(faulty.Calls(), mostParts); n > 1; n-- {
			parts++
			_, err := run(n, faults.Err)
			assert.ErrorIs(t, err, faults.Err, "%s (%s): call %d of a rule fails", c.name, c.place, n)
			missing := &ops.MissingError{Op: "test::none"}
			r, err := run(n, missing)
			assert.True(t, len(r.bench.Missing()) > 0 ||
				errors.Is(err, missing), "%s (%s): call %d has no rule", c.name, c.place, n)
		}
	})
	assert.NotZero(t, parts)
}
