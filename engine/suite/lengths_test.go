package suite_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/verdict"
)

// TestFixedLengths: where a dim is said to vary, equal sizes of it decide a budget of what is
// allocated, and of what is reserved only where they break it.
func TestFixedLengths(t *testing.T) {
	for _, c := range []struct {
		name    string
		lengths []int64
		own     string
		want    verdict.Outcome
	}{
		{"no lengths", nil, "varies: [T], budget: {reserved: 1GiB}", verdict.Inconclusive},
		{"equal lengths", []int64{4, 4}, "varies: [T], budget: {reserved: 1GiB}", verdict.Inconclusive},
		{"a total, too", []int64{4, 4}, "varies: [T], budget: {total: 1GiB}", verdict.Inconclusive},
		{"not what is allocated", []int64{4, 4}, "varies: [T], budget: {allocated: 1GiB}", verdict.Pass},
		{"a broken budget stays broken", []int64{4, 4}, "varies: [T], budget: {reserved: 1MiB}", verdict.Fail},
		{"lengths that differ", []int64{4, 5}, "varies: [T], budget: {reserved: 1GiB}", verdict.Pass},
		{"nobody says so", []int64{4, 4}, "budget: {reserved: 1GiB}", verdict.Pass},
		{"allowed", []int64{4, 4}, "varies: [T], allow: [fixed-lengths], budget: {reserved: 1GiB}", verdict.Pass},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := testcase.Trained()
			if c.lengths != nil {
				rec.Lengths = map[string][]int64{"T": c.lengths}
			}
			path := filepath.Join(t.TempDir(), "a.rec")
			testcase.Keep(t, rec, path)
			cases,
				err := spec.Parse("memspec.yaml", []byte("version: 1\nmodels:\n  m: {artifact: '"+path+"', device: t4, "+c.own+
				"}\n"))
			require.NoError(t, err)
			r := suite.Judge(context.Background(), cases[0])
			require.NoError(t, r.Err)
			assert.Equal(t, c.want, r.Verdict.Outcome, "%v", r.Report.Notes)
			if c.want == verdict.Inconclusive {
				assert.Contains(t, r.Message(suite.MessageOptions{}), "fixed-lengths")
			}
		})
	}
}
