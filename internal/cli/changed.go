package cli

import (
	"context"
	"fmt"
	"hash/fnv"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
)

// ShardFlag adds --shard to a command that reads cases.
func ShardFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("shard", "",
		"only one `PART` of the cases, such as 2/8: the same ones whatever else the file holds")
}

// Shard keeps the cases of one of several parts, such as 2/8: which part a case is in depends on
// its name and its file alone, so that another case that comes or goes moves none. No text keeps
// all.
func Shard(cases []spec.Case, text string) ([]spec.Case, error) {
	if text == "" {
		return cases, nil
	}
	first, last, ok := strings.Cut(text, "/")
	part, err1 := strconv.ParseUint(first, 10, 32)
	parts, err2 := strconv.ParseUint(last, 10, 32)
	if !ok || err1 != nil || err2 != nil || part < 1 || part > parts {
		return nil, fmt.Errorf("--shard: got %q, want a part of several such as 2/8", Shorten(text))
	}
	var out []spec.Case
	for i := range cases {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s\x00%s", filepath.ToSlash(filepath.Clean(cases[i].Pos.File)), cases[i].Name)
		if h.Sum64()%parts == part-1 {
			out = append(out, cases[i])
		}
	}
	return out, nil
}

// ChangedSince keeps the cases that something changed for since a commit: their artifact with what
// lies beside it, their recording and the files it was made from, their profile or baseline, the
// file of their source (any Python file where a source or a program is all there is), or what
// memspec.yaml says of them.
func ChangedSince(ctx context.Context, cases []spec.Case, ref string) ([]spec.Case, error) {
	c, err := OpenCommit(ctx, "--changed-since", ref)
	if err != nil {
		return nil, err
	}
	changed, err := c.changed(ctx)
	if err != nil {
		return nil, err
	}
	followed, err := c.followed(ctx)
	if err != nil {
		return nil, err
	}
	before := map[string]map[string]string{} // by file, the cases as they were
	var out []spec.Case
	for i := range cases {
		k := &cases[i]
		file := k.Pos.File
		if _, ok := before[file]; !ok {
			if before[file], err = c.casesOf(ctx, file, changed); err != nil {
				return nil, err
			}
		}
		was := before[file]
		if was != nil && was[k.Name] != caseText(k) || c.touched(k, changed, followed) {
			out = append(out, *k)
		}
	}
	return out, nil
}

// changed are the files that differ from the commit, below the repository: of the working tree,
// also those that git does not know yet.
func (c *Commit) changed(ctx context.Context) (map[string]bool, error) {
	own, err := withoutPrograms(ctx, c.root)
	if err != nil {
		return nil, err
	}
	differ, err := c.git(ctx, append(own, "diff", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "-z",
		c.id, "--")...)
	if err != nil {
		return nil, err
	}
	untracked, err := c.git(ctx, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for name := range strings.SplitSeq(string(differ)+string(untracked), "\x00") {
		if name != "" {
			out[name] = true
		}
	}
	return out, nil
}

// followed are the files of the repository of which git would notice a change: those that it has,
// but for the files of submodules.
func (c *Commit) followed(ctx context.Context) (map[string]bool, error) {
	names, err := c.git(ctx, "ls-files", "-z")
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for name := range strings.SplitSeq(string(names), "\x00") {
		out[name] = true
	}
	return out, nil
}

// casesOf are the cases of a memspec.yaml as they were, each as text; nil where the file has not
// changed. One that was not there, or could not be read, had none.
func (c *Commit) casesOf(ctx context.Context, file string, changed map[string]bool) (map[string]string, error) {
	below, err := c.below(file)
	if err != nil || !changed[below] {
		return nil, err
	}
	out := map[string]string{}
	data, there, err := c.read(ctx, below)
	if err != nil || !there {
		return out, ctx.Err()
	}
	cases, err := spec.LoadAs(file, data)
	if err != nil {
		return out, nil
	}
	for i := range cases {
		out[cases[i].Name] = caseText(&cases[i])
	}
	return out, nil
}

// caseText is what memspec.yaml says of a case, without where it says it.
func caseText(c *spec.Case) string {
	var b strings.Builder
	c.WriteSaid(&b)
	return b.String()
}

// fileOf is the file of a case's artifact, without the model of it that is meant.
func fileOf(k *spec.Case) string {
	file, _ := artifact.Split(k.Artifact)
	return file
}

// touched says whether a file that a case depends on has changed, or may have: of files outside the
// repository, and of those that git ignores, nobody knows. A recording has its sources.
func (c *Commit) touched(k *spec.Case, changed, followed map[string]bool) bool {
	source, _ := k.SourceFile()
	own := []string{k.Artifact, fileOf(k), k.Artifact + ".inputs.json", k.Workspace, k.Baseline, source}
	recorded := append(origin.Files(k), madeOf(k)...)
	for i, file := range append(own, recorded...) {
		if file == "" || file == ".inputs.json" {
			continue
		}
		below, err := c.below(file)
		if err != nil || changed[below] || i < len(own) && !followed[below] && isFile(file) {
			return true
		}
	}
	if k.Source == "" && k.Program == nil {
		return false
	}
	return slices.ContainsFunc(keys(changed), func(name string) bool { return path.Ext(name) == ".py" })
}

// madeOf returns the files that a case's recording was made from; none where it has no recording,
// or one that cannot be read: the check says so.
func madeOf(k *spec.Case) []string {
	var out []string
	for _, recorded := range origin.Files(k) {
		r, err := recording.Read(recorded)
		if err != nil || r.Made == nil {
			continue
		}
		for _, f := range r.Made.Data() {
			out = append(out, filepath.Join(filepath.Dir(recorded), filepath.FromSlash(f.Path)))
		}
	}
	return out
}

func keys(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}
