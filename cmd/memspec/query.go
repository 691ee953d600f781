package main

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

// A query is how another program has a library asked about the sizes that a command looks at: --missing lists the calls without an answer,
// --answers brings the answers. `python -m memshim` runs a command so until no call is missing.
type query struct {
	answers, missing string

	mu    sync.Mutex
	calls *workspaceJSON
}

// answersFlag adds --answers.
func (q *query) answersFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&q.answers, "answers", "", "a workspace profile of further answers: this `FILE` counts where a case's own profile has none")
	_ = cmd.MarkFlagFilename("answers", "json")
}

// newQuery adds --answers and --missing.
func newQuery(cmd *cobra.Command) *query {
	q := &query{calls: newWorkspaceJSON("")}
	q.answersFlag(cmd)
	cmd.Flags().StringVar(&q.missing, "missing", "", "where library calls have no answer: write them to this `FILE`, as memspec workspace --missing "+
		"--format json does, and nothing else (exit code 3)")
	_ = cmd.MarkFlagFilename("missing", "json")
	return q
}

// models are ready to run cases with the answers, and to list what is missing.
func (q *query) models() (*suite.Models, error) {
	ms := suite.New(os.Environ())
	if q.answers != "" {
		p, err := profile.Load(q.answers)
		if err != nil {
			return nil, fmt.Errorf("--answers: %w", regular.Plain(err))
		}
		ms.Answers = p
	}
	if q.missing != "" {
		ms.Called = func(c *spec.Case, calls []engine.LibraryCall) {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.calls.add(c, calls, true)
		}
	}
	return ms, nil
}

// unanswered writes what is missing, and is then the error that ends the command; nil where nothing is, or where nobody asked.
func (q *query) unanswered() error {
	if q.missing == "" || len(q.calls.Groups) == 0 {
		return nil
	}
	q.calls.sort()
	var b bytes.Buffer
	if err := report.EncodeJSON(&b, q.calls); err != nil {
		return err
	}
	if err := writeWhole(q.missing, b.Bytes()); err != nil {
		return err
	}
	return exitWith(exitUnsure)
}
