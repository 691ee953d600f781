package suite

import (
	"context"
	"strings"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/internal/once"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
)

// Models are opened artifacts, each read once however many cases run it. The zero value is ready;
// several goroutines may use it.
type Models struct {
	engine.Opener

	// Called, if not nil, gets the library calls of each run, from any goroutine.
	Called func(*spec.Case, []engine.LibraryCall)

	// Unrecorded, if not nil, gets each case whose recording is missing, or stale with why it is, from
	// any goroutine. A stale one then counts as missing, as does one of a module that fits where more
	// has to be known than the recording has (CutShort).
	Unrecorded func(c *spec.Case, stale string)

	// Bracket, if not nil, gets before each run of a search what is known by then, such as "N=512
	// fits, N=640 does not".
	Bracket func(text string)

	byPath    once.Map[*engine.Model]
	baselines once.Map[*Baseline]
}

// New returns models whose recorded runs are compared with an environment, NAME=VALUE.
func New(environ []string) *Models { return &Models{Opener: engine.Opener{Environ: environ}} }

// Open reads an artifact, or returns what reading it gave before.
func (ms *Models) Open(path string) (*engine.Model, error) {
	return ms.byPath.Get(path, func() (*engine.Model, error) { return ms.Opener.Open(path) })
}

// Baseline reads a baseline, or returns what reading it gave before.
func (ms *Models) Baseline(path string) (*Baseline, error) {
	return ms.baselines.Get(path, func() (*Baseline, error) { return ReadBaseline(path) })
}

// Run runs a case. Of one of several ranks it is the run of the rank that takes the most.
func (ms *Models) Run(ctx context.Context, c spec.Case) (*engine.Run, error) {
	if !c.EveryRank() {
		return ms.run(ctx, c)
	}
	r := ms.judgeRanks(ctx, c)
	return r.Run, r.Err
}

func (ms *Models) run(ctx context.Context, c spec.Case) (*engine.Run, error) {
	path, err := origin.Find(&c)
	if err != nil {
		if ms.Unrecorded != nil && c.Captured() != "" {
			ms.Unrecorded(&c, "")
		}
		return nil, err
	}
	m, err := ms.Open(path)
	if err != nil {
		return nil, err
	}
	run, err := m.Run(ctx, c)
	if err != nil {
		return run, err
	}
	if stale := run.Report.Note(note.ArtifactStale); stale != nil && ms.Unrecorded != nil && c.Captured() != "" {
		all := c
		all.Rank = nil // all ranks are recorded together
		why, _, _ := strings.Cut(stale.Text, origin.Since)
		ms.Unrecorded(&all, why)
		return nil, &origin.Uncaptured{Case: &c, Path: path}
	}
	if ms.Unrecorded != nil && endsEarly(&c, run) {
		ms.Unrecorded(&c, CutShort)
		return nil, &origin.Uncaptured{Case: &c, Path: path}
	}
	if ms.Called != nil {
		ms.Called(&run.Case, run.Calls)
	}
	return run, nil
}

// CutShort is why a recording counts as missing that ends where less memory than the case's did.
const CutShort = "the recording ends where memory ran out"

// endsEarly says whether the recording of a module ends where memory ran out, and a replay of it on
// the case's device does not: what comes after is not known. A program's run is its device's own.
func endsEarly(c *spec.Case, run *engine.Run) bool {
	rec := run.Model.Artifact.Recorded
	return c.Captured() != "" && run.Report.OOM == nil && rec != nil && rec.Header != nil && rec.Header.OOM != nil &&
		rec.Header.Built == recording.OfModule
}
