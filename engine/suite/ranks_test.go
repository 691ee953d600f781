package suite_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

const ranksSpec = `version: 1
models:
  pretrain:
    program: zoo.py
    ranks: {world_size: 128, nproc_per_node: 8}
    device: t4
    budget: {allocated: 64MiB}
`

// keepRanks keeps recordings of ranks, whose parameters take so many MiB, and their list.
func keepRanks(t *testing.T, c spec.Case, sizes map[int]units.Bytes, notRun ...origin.Unlike) {
	t.Helper()
	list := origin.Ranks{WorldSize: c.Program.Ranks.WorldSize, NotRun: notRun}
	for rank := range list.WorldSize {
		size, ran := sizes[rank]
		if !ran {
			continue
		}
		one := c.OfRank(rank)
		rec := recordedProgram("run()\n")
		rec.Events[0].Size = size * units.MiB
		testcase.Keep(t, rec, one.Captured())
		data, err := os.ReadFile(one.Captured())
		require.NoError(t, err)
		sum := sha256.Sum256(data)
		list.Ranks = append(list.Ranks, origin.Rank{Rank: rank, Place: "stage " + string(rune('0'+rank%10)),
			SHA256: hex.EncodeToString(sum[:])})
	}
	data, err := json.Marshal(list)
	require.NoError(t, err)
	testcase.Write(t, c.Captured(), data)
}

func rankCase(t *testing.T) (dir string, c spec.Case) {
	t.Helper()
	dir, cases := testcase.Project(t, ranksSpec, "run()\n")
	return dir, cases[0]
}

// A case of several ranks is judged by the rank that takes the most, which its line names.
func TestTheWorstRankIsJudged(t *testing.T) {
	_, c := rankCase(t)
	var missing *origin.Uncaptured
	require.ErrorAs(t, suite.Judge(context.Background(), c).Err, &missing)
	assert.Equal(t, verdict.Inconclusive, suite.Judge(context.Background(), c).Verdict.Outcome)

	keepRanks(t, c, map[int]units.Bytes{0: 4, 64: 24, 127: 12})
	r := suite.Judge(context.Background(), c)
	require.NoError(t, r.Err)
	assert.Equal(t, "PASS pretrain on t4, eager, rank 64 (stage 4; 3 of 128 ranks run): allocated 52.0 MiB of 64.0 MiB",
		r.Line())
	assert.Equal(t, &report.Rank{Rank: 64, WorldSize: 128, Place: "stage 4", Run: []int{0, 64, 127}}, r.Report.Rank)
	assert.Equal(t, report.Exact, r.Report.Quality)

	keepRanks(t, c, map[int]units.Bytes{0: 4, 64: 40, 127: 12})
	r = suite.Judge(context.Background(), c)
	assert.Equal(t, verdict.Fail, r.Verdict.Outcome, "one rank breaks the budget")
	assert.Equal(t, 64, r.Report.Rank.Rank)
	assert.Equal(t, c.Captured(), r.Case.Captured(), "the case remains that of all ranks")

	one := suite.Judge(context.Background(), c.OfRank(127))
	require.NoError(t, one.Err)
	assert.Equal(t, verdict.Pass, one.Verdict.Outcome)
	assert.Equal(t, 127, one.Report.Rank.Rank)
	assert.ErrorContains(t, suite.Judge(context.Background(), c.OfRank(1)).Err, "pretrain: got rank 1, want one that "+
		"ran: [0 64 127]")
	_, err := engine.Estimate(context.Background(), c)
	assert.ErrorContains(t, err, "got a case of several ranks, want suite.Judge for it")
}

// Of ranks that differ and did not run nothing is known: the figures are an estimate, and a budget
// that they keep is undecided.
func TestRanksThatDidNotRun(t *testing.T) {
	_, c := rankCase(t)
	keepRanks(t, c, map[int]units.Bytes{0: 4}, origin.Unlike{Why: "pipeline stage", Ranks: []int{32, 64}},
		origin.Unlike{Why: "experts", Ranks: []int{64}})
	r := suite.Judge(context.Background(), c)
	assert.Equal(t, report.Estimated, r.Report.Quality)
	assert.Contains(t, r.Line(), "rank 0 (stage 0; 1 of 128 ranks run; 2 that differ did not)")
	assert.Equal(t, verdict.Inconclusive, r.Verdict.Outcome)
	assert.Equal(t, "estimate by ranks-not-run", r.RestsOn())
	require.NotEmpty(t, r.Report.Notes)
	assert.Equal(t, "2 of 128 ranks that take otherwise (pipeline stage, experts) did not run",
		r.Report.Notes[len(r.Report.Notes)-1].Text)

	c.Allow = []string{"ranks-not-run"}
	assert.Equal(t, verdict.Pass, suite.Judge(context.Background(), c).Verdict.Outcome)
	keepRanks(t, c, map[int]units.Bytes{0: 64}, origin.Unlike{Why: "experts", Ranks: []int{64}})
	c.Allow = nil
	assert.Equal(t, verdict.Fail, suite.Judge(context.Background(), c).Verdict.Outcome, "what one rank takes is known")
}

// All recordings are of one run of the case: one that is missing, or of another run, leaves it
// undecided.
func TestRanksAreOfOneRun(t *testing.T) {
	dir, c := rankCase(t)
	keepRanks(t, c, map[int]units.Bytes{0: 4, 64: 24})
	rank := c.OfRank(64)
	rec := recordedProgram("run()\n")
	testcase.Keep(t, rec, rank.Captured())
	r := suite.Judge(context.Background(), c)
	assert.Equal(t, verdict.Inconclusive, r.Verdict.Outcome)
	assert.Contains(t, r.Line(), "got a recording of another run than its list of ranks")
	require.NoError(t, os.Remove(rank.Captured()))
	r = suite.Judge(context.Background(), c)
	assert.Equal(t, verdict.Inconclusive, r.Verdict.Outcome)
	assert.Contains(t, r.Line(), "got no recording of it ("+rank.Captured()+")")

	keepRanks(t, c, map[int]units.Bytes{0: 4, 64: 24})
	testcase.Write(t, filepath.Join(dir, "zoo.py"), []byte("run(2)\n"))
	assert.Equal(t, verdict.Inconclusive, suite.Judge(context.Background(), c).Verdict.Outcome, "stale by what they read")

	for text, want := range map[string]string{
		`{`:                                "unexpected end of JSON input",
		`{"world_size": 128, "ranks": []}`: "got 0 ranks",
		`{"world_size": 128, "ranks": [{"rank": 128, "sha256": ""}]}`:                          "got rank 128 of 128",
		`{"world_size": 128, "ranks": [{"rank": 1, "sha256": ""}, {"rank": 1, "sha256": ""}]}`: "got rank 1 after rank 1",
		`{"world_size": 64, "ranks": [{"rank": 1, "sha256": ""}]}`:                             "got world_size 64, want 128",
		`{"world_size": 128, "ranks": [{"rank": 1, "place": "\u001b", "sha256": ""}]}`:         "want it printable",
	} {
		testcase.Write(t, c.Captured(), []byte(text))
		r := suite.Judge(context.Background(), c)
		assert.Equal(t, verdict.Error, r.Verdict.Outcome, text)
		assert.ErrorContains(t, r.Err, want)
	}
}
