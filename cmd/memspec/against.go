package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
)

// A commit is another state of the repository, read from git's objects: nothing is checked out and nothing of it is run.
type commit struct {
	root string // of the repository
	ref  string // as it was given
	id   string
}

// openCommit finds a commit of the repository that the working directory is in.
func openCommit(ctx context.Context, flag, ref string) (*commit, error) {
	if strings.HasPrefix(ref, "-") || ref == "" {
		return nil, fmt.Errorf("%s: got %q, want a branch, a tag or a commit", flag, ref)
	}
	c := &commit{ref: ref}
	root, err := c.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	c.root = strings.TrimSpace(string(root))
	id, err := c.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err == nil {
		c.id = strings.TrimSpace(string(id))
		return c, nil
	}
	if shallow, serr := c.git(ctx, "rev-parse", "--is-shallow-repository"); serr == nil && strings.TrimSpace(string(shallow)) == "true" {
		return nil, fmt.Errorf("%s: got no commit %q in a shallow clone: fetch it (fetch-depth: 0 of actions/checkout; else %s)", flag, ref, unshallow)
	}
	return nil, fmt.Errorf("%s: got no commit %q in this repository", flag, ref)
}

// unshallow fetches every branch with all that came before it.
const unshallow = "git fetch --unshallow origin '+refs/heads/*:refs/remotes/origin/*'"

// git runs git for what it knows of its objects.
func (c *commit) git(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = c.root
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, errors.New("got no git, want it on PATH")
		}
		if text := strings.TrimSpace(errs.String()); text != "" {
			return nil, errors.New(oneLine(text))
		}
		return nil, err
	}
	return out.Bytes(), nil
}

// below is a path relative to the repository.
func (c *commit) below(file string) (string, error) {
	whole, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(whole)); err == nil {
		whole = filepath.Join(real, filepath.Base(whole))
	}
	root, err := filepath.EvalSymlinks(c.root)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(root, whole)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("%s: got a file outside the repository", file)
	}
	return filepath.ToSlash(rel), nil
}

// copyFile puts a file of the commit at the same place below a folder; false where the commit has none.
func (c *commit) copyFile(ctx context.Context, below, folder string) (bool, error) {
	if _, err := c.git(ctx, "cat-file", "-e", c.id+":"+below); err != nil {
		return false, ctx.Err()
	}
	data, err := c.git(ctx, "cat-file", "blob", c.id+":"+below)
	if err != nil {
		return false, fmt.Errorf("%s at %s: %w", below, c.ref, err)
	}
	to := filepath.Join(folder, filepath.FromSlash(below))
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return false, err
	}
	return true, os.WriteFile(to, data, 0o666)
}

// accounts are what the cases of some files took at that commit, by file and name: its artifacts, by its memspec.yaml.
func (c *commit) accounts(ctx context.Context, files []string) (map[string]*report.Report, error) {
	folder, err := os.MkdirTemp("", "memspec-against-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	out := map[string]*report.Report{}
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
			continue // its cases are new
		}
		cases, err := c.cases(ctx, below, folder)
		if err != nil {
			return nil, err
		}
		var models engine.Models
		models.JudgeAll(ctx, cases, nil, func(r *engine.Result) {
			if r.Report != nil {
				out[caseKey(file, r.Case.Name)] = repositoryPaths().Report(r.Report)
			}
		})
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// cases reads a memspec.yaml of the commit with the files that it names.
func (c *commit) cases(ctx context.Context, below, folder string) ([]spec.Case, error) {
	for _, name := range []string{spec.WorkspaceFile, "memspec.scratch.json"} {
		if _, err := c.copyFile(ctx, path.Join(path.Dir(below), name), folder); err != nil {
			return nil, err
		}
	}
	cases, err := spec.Load(filepath.Join(folder, filepath.FromSlash(below)))
	if err != nil {
		return nil, c.named(err, below)
	}
	copied := map[string]bool{}
	for i := range cases {
		cases[i].Baseline, cases[i].Regression, cases[i].Fits = "", nil, nil
		for _, file := range []string{cases[i].Artifact, fileOf(&cases[i]), cases[i].Workspace} {
			rel, err := filepath.Rel(folder, file)
			if file == "" || err != nil || copied[file] {
				continue
			}
			copied[file] = true
			for _, suffix := range []string{"", ".inputs.json"} {
				if _, err := c.copyFile(ctx, filepath.ToSlash(rel)+suffix, folder); err != nil {
					return nil, err
				}
			}
		}
	}
	return cases, nil
}

// named is an error of a file of the commit that names it as git does: main:models/memspec.yaml.
func (c *commit) named(err error, below string) error {
	var many spec.Errors
	if !errors.As(err, &many) {
		return fmt.Errorf("%s:%s: %w", c.ref, below, err)
	}
	out := make(spec.Errors, len(many))
	for i, e := range many {
		pos := e.Pos
		pos.File = c.ref + ":" + below
		out[i] = &spec.Error{Pos: pos, Msg: e.Msg}
	}
	return out
}

// caseKey tells cases of several files apart.
func caseKey(file, name string) string { return filepath.Clean(file) + "\x00" + name }
