package format

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// A Writer turns cases into one document. End is called once, after the last case, and not at all
// where the command fails before.
type Writer interface {
	Case(*Case) error
	End(*Summary) error
}

// Options say what a document reports besides its cases.
type Options struct {
	Version string // of memspec
	Paths   Paths
	Most    int // of bytes, for the formats that have a limit; 0 stands for the format's own
}

// A Format is one way to write results.
type Format struct {
	Name    string
	Endings []string // of file names that choose it; none where a file of it makes no sense
	Doc     string   // in one line
	Needs   Facts    // what it cannot do without
	Uses    Facts    // what it is better with
	One     bool     // a document holds one case
	Binary  bool     // nothing for a terminal
	New     func(io.Writer, Options) Writer
}

// Facts is what a command knows of its cases beside their reports.
type Facts uint8

// The facts.
const (
	Verdicts  Facts = 1 << iota // an outcome, and what led to it
	Timelines                   // every event, with what the allocator held after it
)

// Formats are all of them, the default first. It is a copy: callers may change it.
func Formats() []Format {
	return []Format{
		{Name: "text", Endings: []string{".txt"}, Doc: "for people", New: newText},
		{Name: "json", Endings: []string{".json"}, Doc: "for programs; see memspec schema", New: newJSON},
		{Name: "junit", Endings: []string{".xml"}, Doc: "test results, for any CI", Needs: Verdicts, New: newJUnit},
		{Name: "sarif", Endings: []string{".sarif", ".sarif.json"}, Doc: "code scanning, SARIF 2.1.0", Needs: Verdicts,
			New: newSARIF},
		{Name: "github", Doc: "the text, and annotations of a GitHub workflow", Needs: Verdicts, New: newGitHub},
		{Name: "markdown", Endings: []string{".md"}, Doc: "a comment on a pull request", New: newMarkdown},
		{Name: "html", Endings: []string{".html", ".htm"}, Doc: "one page: timeline, holders, segments", Uses: Timelines,
			New: newHTML},
		{Name: "snapshot", Endings: []string{".pickle"}, Doc: "for PyTorch's memory_viz, and memspec replay",
			Needs: Timelines, One: true, Binary: true, New: newSnapshot},
		{Name: "perfetto", Endings: []string{".perfetto.json", ".trace.json"}, Doc: "for Perfetto and chrome://tracing",
			Needs: Timelines, New: newPerfetto},
		{Name: "pprof", Endings: []string{".pb.gz", ".pprof"}, Doc: "who holds the peak, for go tool pprof", Needs: Timelines,
			One: true, Binary: true, New: newPprof},
		{Name: "csv", Endings: []string{".csv"}, Doc: "a row a case and metric", New: newCSV},
	}
}

// Offered are the formats that a command can write which knows those facts of its cases.
func Offered(known Facts) []Format {
	return slices.DeleteFunc(Formats(), func(f Format) bool { return f.Needs&^known != 0 })
}

// Names are the names of formats, in their order.
func Names(formats []Format) []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.Name
	}
	return names
}

// ByName finds a format; false where there is none of that name among them.
func ByName(formats []Format, name string) (Format, bool) {
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return formats[i], true
}

// ByFile finds the format that a file's name asks for: the one with the longest ending that fits,
// whatever its case.
func ByFile(formats []Format, path string) (Format, bool) {
	base := strings.ToLower(filepath.Base(path))
	best, length := Format{}, 0
	for _, f := range formats {
		for _, e := range f.Endings {
			if len(e) > length && len(base) > len(e) && strings.HasSuffix(base, e) {
				best, length = f, len(e)
			}
		}
	}
	return best, length > 0
}

// Endings are the endings of file names that formats go by, in their order.
func Endings(formats []Format) []string {
	var out []string
	for _, f := range formats {
		out = append(out, f.Endings...)
	}
	return out
}
