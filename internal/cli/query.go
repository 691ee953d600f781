package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// A Query is how another program answers what a command lacks: --missing lists the library calls
// without an answer, and the cases whose recording is missing or stale; --answers brings the
// answers. `python -m memshim` runs a command so until nothing is missing.
type Query struct {
	answers, Missing string

	mu         sync.Mutex
	calls      *WorkspaceJSON
	unrecorded []unrecordedJSON
	bracket    string // of a search
}

// missingJSON is what --missing writes.
type missingJSON struct {
	*WorkspaceJSON
	Cases []unrecordedJSON `json:"cases,omitempty"` // to be recorded
}

type unrecordedJSON struct {
	spec.CaseJSON
	Stale string `json:"stale,omitempty"` // why the recording that is there does not count
	Whole bool   `json:"whole,omitempty"` // it ends where memory ran out: more of the run is wanted

	Bracket string `json:"bracket,omitempty"` // of a search: what fits and what does not, as far as is known
}

// AnswersFlag adds --answers.
func (q *Query) AnswersFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&q.answers, "answers", "",
		"a workspace profile of further answers: this `FILE` counts where a case's own profile has none")
	_ = cmd.MarkFlagFilename("answers", "json")
}

// NewQuery adds --answers and --missing.
func NewQuery(cmd *cobra.Command) *Query {
	q := &Query{calls: NewWorkspaceJSON("")}
	q.AnswersFlag(cmd)
	cmd.Flags().StringVar(&q.Missing, "missing", "",
		"where library calls have no answer, or cases no fresh recording: write only them to this "+
			"`FILE`, as memspec workspace --missing and memspec cases do (exit code 3)")
	_ = cmd.MarkFlagFilename("missing", "json")
	return q
}

// Models are ready to run cases with the answers, and to list what is missing.
func (q *Query) Models() (*suite.Models, error) {
	ms := suite.New(os.Environ())
	if q.answers != "" {
		p, err := profile.Load(q.answers)
		if err != nil {
			return nil, fmt.Errorf("--answers: %w", regular.Plain(err))
		}
		ms.Answers = p
	}
	if q.Missing != "" {
		ms.Called = func(c *spec.Case, calls []engine.LibraryCall) {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.calls.Add(c, calls, true)
		}
		ms.Unrecorded = func(c *spec.Case, stale string) {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.unrecorded = append(q.unrecorded, unrecordedJSON{c.JSON(), stale, stale == suite.CutShort, q.bracket})
		}
		ms.Bracket = func(text string) {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.bracket = text
		}
	}
	return ms, nil
}

// Unanswered writes what is missing, and is then the error that ends the command; nil where nothing
// is, or where nobody asked.
func (q *Query) Unanswered() error {
	if q.Missing == "" || len(q.calls.Groups) == 0 && len(q.unrecorded) == 0 {
		return nil
	}
	q.calls.Sort()
	slices.SortFunc(q.unrecorded, func(a, b unrecordedJSON) int { return cmp.Compare(a.Recording, b.Recording) })
	var b bytes.Buffer
	if err := report.EncodeJSON(&b, missingJSON{q.calls, q.unrecorded}); err != nil {
		return err
	}
	if err := WriteWhole(q.Missing, b.Bytes()); err != nil {
		return err
	}
	return ExitWith(ExitUnsure)
}
