package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/spec"
)

// A commit is another state of the repository, read from git's objects: nothing is checked out and
// nothing of it is run.
type Commit struct {
	root string // of the repository
	ref  string // as it was given
	id   string
}

// OpenCommit finds a commit of the repository that the working directory is in.
func OpenCommit(ctx context.Context, flag, ref string) (*Commit, error) {
	if strings.HasPrefix(ref, "-") || ref == "" {
		return nil, fmt.Errorf("%s: got %q, want a branch, a tag or a commit", flag, ref)
	}
	c := &Commit{ref: ref}
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
	if shallow, serr := c.git(ctx, "rev-parse", "--is-shallow-repository"); serr == nil &&
		strings.TrimSpace(string(shallow)) == "true" {
		return nil, fmt.Errorf("%s: got no commit %q in a shallow clone: fetch it (fetch-depth: 0 of actions/checkout; "+
			"else %s)", flag, ref, unshallow)
	}
	return nil, fmt.Errorf("%s: got no commit %q in this repository", flag, ref)
}

// unshallow fetches every branch with all that came before it.
const unshallow = "git fetch --unshallow origin '+refs/heads/*:refs/remotes/origin/*'"

// git runs git in the repository.
func (c *Commit) git(ctx context.Context, args ...string) ([]byte, error) {
	return git(ctx, c.root, args...)
}

// below is a path relative to the repository.
func (c *Commit) below(file string) (string, error) {
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

// maxBlob bounds a file of a commit, which is read whole.
const maxBlob = 1 << 30

// read returns a file of the commit; false where the commit has none.
func (c *Commit) read(ctx context.Context, below string) ([]byte, bool, error) {
	return c.readAtMost(ctx, below, maxBlob)
}

func (c *Commit) readAtMost(ctx context.Context, below string, most int64) ([]byte, bool, error) {
	text, err := c.git(ctx, "cat-file", "-s", c.id+":"+below)
	if err != nil {
		return nil, false, ctx.Err()
	}
	size, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err == nil && size > most {
		err = fmt.Errorf("got %d bytes, want at most %d", size, most)
	}
	if err != nil {
		return nil, false, fmt.Errorf("%s at %s: %w", below, c.ref, err)
	}
	data, err := c.git(ctx, "cat-file", "blob", c.id+":"+below)
	if err != nil {
		return nil, false, fmt.Errorf("%s at %s: %w", below, c.ref, err)
	}
	return data, true, nil
}

// copyFile puts a file of the commit at the same place below a folder; false where the commit has
// none.
func (c *Commit) copyFile(ctx context.Context, below, folder string) (bool, error) {
	data, there, err := c.read(ctx, below)
	if err != nil || !there {
		return false, err
	}
	to := filepath.Join(folder, filepath.FromSlash(below))
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return false, err
	}
	return true, os.WriteFile(to, data, 0o666)
}

// named is an error of a file of the commit that names it as git does: main:models/memspec.yaml.
func (c *Commit) named(err error, below string) error {
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

// CaseKey distinguishes cases of several files.
func CaseKey(file, name string) string { return filepath.Clean(file) + "\x00" + name }
