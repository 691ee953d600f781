package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
)

// Estimates are what the cases of another commit take, from its artifacts and recordings.
type Estimates struct {
	ref    string
	byCase map[string]estimateThere // by caseKey
	specs  map[string]string        // by file, why it has no cases there; "" where it has
}

// estimateThere is the estimate of one case in another commit, or why there is none.
type estimateThere struct {
	report *report.Report
	why    string
}

// Compare compares a result with its case in the commit, or records why it cannot.
func (e *Estimates) Compare(key string, r *suite.Result) {
	before, there := e.byCase[key]
	switch file := filepath.Clean(r.Case.Pos.File); {
	case before.report != nil:
		r.Compare(before.report, e.ref)
	case there:
		r.Incomparable(before.why)
	case e.specs[file] != "":
		r.Incomparable(e.specs[file])
	default:
		r.Incomparable(fmt.Sprintf("%s has no case of this name in its %s", e.ref, filepath.Base(file)))
	}
}

// Estimates runs the cases of some files as they are in the commit: its artifacts and recordings,
// by its memspec.yaml.
func (c *Commit) Estimates(ctx context.Context, files []string) (*Estimates, error) {
	folder, err := os.MkdirTemp("", "memspec-against-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	out := &Estimates{ref: c.ref, byCase: map[string]estimateThere{}, specs: map[string]string{}}
	for _, file := range files {
		below, err := c.below(file)
		if err != nil {
			return nil, err
		}
		there, err := c.copyFile(ctx, below, folder)
		if err != nil {
			return nil, err
		}
		if !there {
			out.specs[filepath.Clean(file)] = c.ref + " has no " + below
			continue
		}
		cases, err := c.cases(ctx, below, folder)
		if err != nil {
			return nil, err
		}
		var models suite.Models // without an environment: today's is not that of the commit's recordings
		models.JudgeAll(ctx, cases, nil, func(r *suite.Result) {
			var e estimateThere
			if e, err = c.estimate(ctx, r, folder); err == nil {
				out.byCase[CaseKey(file, r.Case.Name)] = e
			}
		})
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// estimate is the estimate of one case of the commit, or why there is none. folder holds the
// commit's files.
func (c *Commit) estimate(ctx context.Context, r *suite.Result, folder string) (estimateThere, error) {
	recorded := r.Case.Captured()
	file := recorded
	if file == "" {
		file = fileOf(&r.Case)
	}
	below, err := filepath.Rel(folder, file)
	if err != nil {
		return estimateThere{}, err
	}
	below = filepath.ToSlash(below)
	const orBaseline = ", or compare with a baseline (memspec baseline writes one)"
	if !Exists(file) {
		what := "the file"
		if recorded != "" {
			what = "the recordings in " + spec.CaptureFolder
		}
		return estimateThere{why: fmt.Sprintf("%s has no %s: commit %s%s", c.ref, below, what, orBaseline)}, nil
	}
	if r.Err != nil {
		said := strings.ReplaceAll(r.Err.Error(), folder+string(filepath.Separator), c.ref+":")
		return estimateThere{why: "no estimate of the case in " + c.ref + ": " + said}, nil
	}
	if recorded != "" {
		changed, err := c.stale(ctx, r.Run.Model.Origin.Made, path.Dir(below))
		if err != nil {
			return estimateThere{}, err
		}
		if changed != "" {
			command := origin.CaptureCommand(
				&spec.Case{Name: r.Case.Name, Pos: spec.Pos{File: path.Base(r.Case.Pos.File)}})
			why := fmt.Sprintf("the recording in %s is not of its sources: %s; record the case in that commit (%s)%s",
				c.ref, changed, command, orBaseline)
			return estimateThere{why: why}, nil
		}
	}
	return estimateThere{report: RepositoryPaths().Report(r.Report)}, nil
}

// stale returns which file of the commit differs from the one that a recording in folder was made
// from; "" where none does. A file that the commit does not have, as git does not know it, is the
// one of the working tree.
func (c *Commit) stale(ctx context.Context, made *recording.Made, folder string) (string, error) {
	if made == nil {
		return "it does not say what it was made from", nil
	}
	for _, f := range made.Data() {
		below := path.Join(folder, f.Path)
		if below == ".." || strings.HasPrefix(below, "../") {
			continue // outside the repository: in no commit
		}
		data, there, err := c.read(ctx, below)
		if err != nil {
			return "", err
		}
		if !there {
			data, err = regular.Read(filepath.Join(c.root, filepath.FromSlash(below)), recording.MaxSourceFile)
			if err != nil {
				if f.Ignored {
					continue
				}
				return below + " is not in it", nil
			}
		}
		if !f.Holds(data) {
			return below + " differs", nil
		}
	}
	return "", nil
}

// cases reads a memspec.yaml of the commit with the files that it names.
func (c *Commit) cases(ctx context.Context, below, folder string) ([]spec.Case, error) {
	if _, err := c.copyFile(ctx, path.Join(path.Dir(below), spec.WorkspaceFile), folder); err != nil {
		return nil, err
	}
	cases, err := spec.Load(filepath.Join(folder, filepath.FromSlash(below)))
	if err != nil {
		return nil, c.named(err, below)
	}
	copied := map[string]bool{}
	for i := range cases {
		cases[i].Baseline, cases[i].Regression, cases[i].Fits = "", nil, nil
		copyAll := func(files ...string) error {
			for _, file := range files {
				rel, err := filepath.Rel(folder, file)
				if file == "" || err != nil || copied[file] {
					continue
				}
				copied[file] = true
				for _, suffix := range []string{"", ".inputs.json"} {
					if _, err := c.copyFile(ctx, filepath.ToSlash(rel)+suffix, folder); err != nil {
						return err
					}
				}
			}
			return nil
		}
		if err := copyAll(cases[i].Artifact, fileOf(&cases[i]), cases[i].Captured(), cases[i].Workspace); err != nil {
			return nil, err
		}
		if err := copyAll(origin.Files(&cases[i])...); err != nil { // of ranks: the list names them
			return nil, err
		}
	}
	return cases, nil
}
