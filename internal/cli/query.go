package cli

import (
	"bytes"
	"fmt"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// A query is how another program has a library asked about the sizes that a command looks at:
// --missing lists the calls without an answer, --answers brings the answers. `python -m memshim`
// runs a command so until no call is missing.
type Query struct {
	answers, Missing string

	mu    sync.Mutex
	calls *WorkspaceJSON
}

// AnswersFlag adds --answers.
func (q *Query) AnswersFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&q.answers, "answers", "", "a workspace profile of further answers: this `FILE` counts where a case's own profile has none")
	_ = cmd.MarkFlagFilename("answers", "json")
}

// NewQuery adds --answers and --missing.
func NewQuery(cmd *cobra.Command) *Query {
	q := &Query{calls: NewWorkspaceJSON("")}
	q.AnswersFlag(cmd)
	cmd.Flags().StringVar(&q.Missing, "missing", "", "where library calls have no answer: write only them to this `FILE`, as memspec workspace "+
		"--missing --format json does (exit code 3)")
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
	}
	return ms, nil
}

// Unanswered writes what is missing, and is then the error that ends the command; nil where nothing
// is, or where nobody asked.
func (q *Query) Unanswered() error {
	if q.Missing == "" || len(q.calls.Groups) == 0 {
		return nil
	}
	q.calls.Sort()
	var b bytes.Buffer
	if err := report.EncodeJSON(&b, q.calls); err != nil {
		return err
	}
	if err := WriteWhole(q.Missing, b.Bytes()); err != nil {
		return err
	}
	return ExitWith(ExitUnsure)
}
