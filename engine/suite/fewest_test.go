package suite_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// The fewest GPUs are found by few runs, and its neighbours are run.
func TestFewestOfRecordedRanks(t *testing.T) {
	worlds := []int64{1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64}
	shard := func(n int64) units.Bytes { return units.Bytes(720 / n) } // MiB; 36 MiB fit beside the rest of the run
	for _, c := range []struct {
		name   string
		takes  func(n int64) units.Bytes
		fewest int64
		before int64 // 0: none
		holes  []int64
		tried  int
	}{
		{"a shard of each GPU", shard, 24, 16, nil, 7},
		{"the smallest fits", func(int64) units.Bytes { return 1 }, 1, 0, nil, 3},
		{"nothing fits", func(int64) units.Bytes { return 64 }, 0, 64, nil, 5},
		{"the last one fits", func(n int64) units.Bytes { return 100 - units.Bytes(n) }, 64, 56, nil, 7},
		{"a larger world does not fit", except(shard, 32, 40), 24, 16, []int64{32}, 7},
		{"a smaller world fits", except(shard, 8, 30), 8, 4, []int64{16}, 6},
		{"the next smaller but one fits, which leaping passes by", except(shard, 4, 30), 24, 16, nil, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, cases := testcase.Project(t, ranksSpec, "run()\n")
			models := suite.New(nil)
			var wanted []spec.Case
			models.Unrecorded = func(c *spec.Case, _ string) { wanted = append(wanted, *c) }
			at := func(n int64) (spec.Case, error) {
				return cases[0].WithLines(fmt.Sprintf("ranks: {world_size: %d, nproc_per_node: %d}", n, min(n, 8)))
			}
			for range 100 {
				wanted = nil
				found, err := models.Fewest(context.Background(), at, worlds)
				if err == nil {
					assert.Equal(t, c.fewest, found.Fewest)
					assert.Equal(t, c.holes, found.Holes)
					assert.Equal(t, c.tried, found.Tried)
					if c.before == 0 {
						assert.Nil(t, found.Before)
					} else {
						require.NotNil(t, found.Before)
						assert.Equal(t, c.before, found.Before.Value)
					}
					return
				}
				require.NotEmpty(t, wanted, "%v", err)
				for _, one := range wanted {
					keepRanks(t, one, map[int]units.Bytes{0: c.takes(int64(one.Program.Ranks.WorldSize))})
				}
			}
			t.Fatal("got no answer after 100 rounds")
		})
	}
}

// Ranks are recorded together: where the recording of one is stale, the case of all is asked for.
func TestAStaleRankIsUnrecordedAsTheCase(t *testing.T) {
	dir, c := rankCase(t)
	keepRanks(t, c, map[int]units.Bytes{0: 4, 64: 24})
	testcase.Write(t, dir+"/zoo.py", []byte("run(2)\n"))
	models := suite.New(nil)
	var wanted []string
	models.Unrecorded = func(c *spec.Case, _ string) { wanted = append(wanted, c.Captured()) }
	_, err := models.Run(context.Background(), c)
	require.Error(t, err)
	assert.Equal(t, []string{c.Captured()}, wanted)
}

// So is it where one rank is asked for and no rank ran.
func TestAMissingRankIsUnrecordedAsTheCase(t *testing.T) {
	_, c := rankCase(t)
	models := suite.New(nil)
	var wanted []string
	models.Unrecorded = func(c *spec.Case, _ string) { wanted = append(wanted, c.Captured()) }
	r := models.Judge(context.Background(), c.OfRank(1))
	assert.Equal(t, verdict.Inconclusive, r.Verdict.Outcome)
	assert.Equal(t, []string{c.Captured()}, wanted)
}
