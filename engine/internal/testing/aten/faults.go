package aten

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/faults"
	"github.com/memspec/memspec/engine/ops"
)

// The calls of each overload that Faults runs, on each platform, and the parts of each that fail.
const (
	mostFaulty = 8
	mostParts  = 40
)

// Faults runs recorded calls of operators that are made of others, each with one of its parts
// failing: the call must fail with the same words. Where a part has no rule, the call must say so.
// Of the calls of an overload those run that have different numbers of parts, on no device, where
// they do as on fake tensors, and on one.
func Faults(t *testing.T, table *ops.Table, family [][]ops.Rule) {
	faulty, err := faults.New(table)
	require.NoError(t, err)
	parts, most := 0, perOverload(mostFaulty)
	for _, on := range []string{"none", "t4"} {
		p := On(t, on, "2.15")
		tried, seen := map[string]int{}, map[string]bool{}
		visit := func(c *call) {
			if c.Error || tried[c.key()] == most {
				return
			}
			run := func(n int, err error) (*run, error) {
				defer func() {
					if bug := recover(); bug != nil {
						t.Errorf("%s (%s) on %s: call %d fails: panic: %v\n%s", c.name, c.place, on, n, bug, debug.Stack())
					}
				}()
				r := newRun(faulty.Table, p)
				args, kw := r.arguments(t, &c.sample)
				faulty.Fail(n, err)
				_, _, err = r.bench.Run(c.Op, args, kw)
				return r, err
			}
			if r, err := run(0, nil); err != nil || len(r.bench.Missing()) > 0 {
				return
			}
			way := fmt.Sprint(c.key(), faulty.Calls())
			if seen[way] {
				return
			}
			seen[way] = true
			tried[c.key()]++
			for n := min(faulty.Calls(), mostParts); n > 1; n-- {
				parts++
				_, err := run(n, faults.Err)
				assert.ErrorIs(t, err, faults.Err, "%s (%s) on %s: call %d of a rule fails", c.name, c.place, on, n)
				missing := &ops.MissingError{Op: "test::none"}
				r, err := run(n, missing)
				assert.True(t, len(r.bench.Missing()) > 0 ||
					errors.Is(err, missing), "%s (%s) on %s: call %d has no rule", c.name, c.place, on, n)
			}
		}
		calls{family: keys(family), files: sampleFiles(t)}.each(t, visit)
		if on != "none" {
			calls{family: keys(family), files: []string{filepath.Join(dumps(t), "devices", "calls.jsonl")},
				plus: true}.each(t, visit)
		}
	}
	assert.NotZero(t, parts)
}
