package conformance

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/internal/testing/faults"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
)

// mostFaults is how many calls of rules, and how many steps, of a program are tried.
const mostFaults = 24

// Faults runs every program that ends well with one call of a rule failing, and with too few steps:
// the run must fail with the same words, or, where a size was taken at the upper bound, report them
// as what is missing. Where a rule is missing, the account must be incomplete or the run fail.
// Programs that are run in several ways are left out: a way that fails is none.
func (p Programs) Faults(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(p.File)
	require.NoError(t, err)
	table, err := faults.New(builtin.Table())
	require.NoError(t, err)
	tried := 0
	for _, c := range strings.Split(string(data), "## ")[1:] {
		why, body, _ := strings.Cut(c, "\n")
		before, _, _ := strings.Cut(body, "=>\n")
		for _, l := range []exec.Liveness{exec.PythonFrame, exec.LastUse} {
			s := p.read(t, before)
			s.table = table.Table
			run := func(n int, err error) (string, error) {
				table.Fail(n, err)
				text := s.run(t, l)
				return text, s.err
			}
			whole, err := run(0, nil)
			if err != nil || s.ways > 1 || strings.HasPrefix(whole, "refused") || strings.Contains(whole, "missing ") {
				continue
			}
			for n := min(table.Calls(), mostFaults); n > 0; n-- {
				tried++
				text, err := run(n, faults.Err)
				// it was to be computed ahead, and is left to the run
				if l == exec.LastUse && err == nil && gives(text) == gives(whole) {
					continue
				}
				if !strings.Contains(text, faults.Err.Error()) || err == nil && !strings.Contains(text, "missing ") {
					t.Errorf("%s: liveness %v: call %d of a rule fails, got\n%s", why, l, n, text)
				}
				missing := &ops.MissingError{Op: "test::none"}
				text, err = run(n, missing)
				assert.True(t, err != nil || strings.Contains(text, "test::none"),
					"%s: liveness %v: call %d of a rule has none, got\n%s", why, l, n, text)
			}
			tooFew(t, why, s, l)
		}
	}
	assert.NotZero(t, tried)
}

// gives is what a program returned, without what it allocated on the way.
func gives(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// tooFew runs a program with ever more steps, until it ends: before, it must say that it may not go
// on.
func tooFew(t *testing.T, why string, s *source, l exec.Liveness) {
	t.Helper()
	s.table = nil
	whole := s.run(t, l)
	for n := 1; n <= mostFaults; n++ {
		s.options.MaxSteps = n
		text := s.run(t, l)
		if text == whole {
			return
		}
		var limit *exec.LimitError
		assert.ErrorAs(t, s.err, &limit, "%s: liveness %v: %d steps, got\n%s", why, l, n, text)
	}
}
