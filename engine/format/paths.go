package format

import (
	"path"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/report"
)

// Paths says where files lie below a repository, so that a report names them as everyone else does.
// The zero value leaves paths as they are, with forward slashes.
type Paths struct {
	Root   string                  // of the repository, else the working directory: absolute
	Dir    string                  // the working directory below Root, "." at its top
	Exists func(below string) bool // whether Root has such a file
}

// Named is a file that somebody named on the command line or in memspec.yaml, relative to the
// working directory: its path below Root, or as it was where it lies elsewhere.
func (p Paths) Named(file string) string {
	file = slashes(file)
	switch {
	case file == "":
		return ""
	case absolute(file):
		if below, ok := p.below(file); ok {
			return below
		}
		return file
	case p.Root == "":
		return path.Clean(file)
	}
	if joined := path.Join(p.Dir, file); joined != ".." && !strings.HasPrefix(joined, "../") {
		return joined
	}
	return path.Clean(file)
}

// Source is a file as an artifact names it: often the absolute path of the machine that exported
// it. InTree says that it is one of Root's; then file is its path there. A file of an installed
// package is named from the package on. Any other is left as it is.
//
// A file counts as Root's where it lies below it; where a folder of its path has Root's own name
// and Root has the rest (a checkout of the same repository elsewhere); or where Root has the end of
// its path, at least the file with its folder. A bare name that Root happens to have is not enough.
func (p Paths) Source(file string) (below string, inTree bool) {
	file = slashes(file)
	if file == "" {
		return "", false
	}
	if below, ok := report.Installed(file); ok {
		return below, false
	}
	if p.Root == "" || p.Exists == nil {
		return file, false
	}
	if below, ok := p.below(file); ok {
		return below, p.Exists(below)
	}
	if !absolute(file) {
		for _, candidate := range []string{path.Clean(file), path.Join(p.Dir, file)} {
			if p.has(candidate) {
				return candidate, true
			}
		}
		return file, false
	}
	parts := strings.Split(strings.TrimPrefix(file, "/"), "/")
	for i := len(parts) - 2; i >= 0; i-- {
		if rest := strings.Join(parts[i+1:], "/"); parts[i] == path.Base(slashes(p.Root)) && p.has(rest) {
			return rest, true
		}
	}
	for i := range len(parts) - 1 {
		if rest := strings.Join(parts[i:], "/"); p.has(rest) {
			return rest, true
		}
	}
	return file, false
}

// Report is a report that names files as Source does; r itself is left as it is. The names that
// assume: in memspec.yaml takes are the artifact's own.
func (p Paths) Report(r *report.Report) *report.Report {
	out := *r
	out.PeakAt, out.ReservedAt = p.moment(r.PeakAt), p.moment(r.ReservedAt)
	if r.OOM != nil {
		oom := *r.OOM
		oom.File, _ = p.Source(oom.File)
		oom.Holders = p.holders(oom.Holders)
		out.OOM = &oom
	}
	out.Holders = p.holders(r.Holders)
	out.Notes = slices.Clone(r.Notes)
	for i := range out.Notes {
		out.Notes[i].First.File, _ = p.Source(out.Notes[i].First.File)
	}
	out.Coverage.Unsupported = slices.Clone(r.Coverage.Unsupported)
	for i := range out.Coverage.Unsupported {
		out.Coverage.Unsupported[i].First.File, _ = p.Source(out.Coverage.Unsupported[i].First.File)
	}
	return &out
}

func (p Paths) moment(m *report.Moment) *report.Moment {
	if m == nil {
		return nil
	}
	out := *m
	out.File, _ = p.Source(m.File)
	return &out
}

// below is an absolute path as seen from Root.
func (p Paths) below(file string) (string, bool) {
	if p.Root == "" {
		return "", false
	}
	return strings.CutPrefix(path.Clean(file), strings.TrimSuffix(slashes(p.Root), "/")+"/")
}

func (p Paths) has(below string) bool {
	return below != "." && !strings.HasPrefix(below, "../") && below != ".." && p.Exists(below)
}

// slashes writes a path with forward slashes, that of another system too.
func slashes(file string) string { return strings.ReplaceAll(file, `\`, "/") }

// absolute says whether a path with forward slashes is one from the root of a file system, also of
// one with drives.
func absolute(file string) bool {
	return strings.HasPrefix(file, "/") || len(file) > 2 && file[1] == ':' && file[2] == '/'
}

func (p Paths) holders(hs []report.Holder) []report.Holder {
	out := slices.Clone(hs)
	for i := range out {
		out[i].File, _ = p.Source(out[i].File)
		if by := out[i].SavedBy; by != nil {
			saver := *by
			saver.File, _ = p.Source(by.File)
			out[i].SavedBy = &saver
		}
	}
	return out
}
