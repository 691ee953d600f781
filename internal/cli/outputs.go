package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/regular"
)

// Outputs are where a command's results go: in one format to standard output, and to any number of
// files, whose endings choose theirs.
type Outputs struct {
	cmd     *cobra.Command
	offered []format.Format
	Name    *Choice  // --format
	paths   []string // -o
	Quiet   bool

	sinks []*sink
}

// A sink is one document under way. A file is written beside its place and put there when it is
// whole.
type sink struct {
	format.Writer
	format format.Format
	file   *os.File // nil for standard output
	path   string   // where the file belongs; "" where it is written in place
}

// NewOutputs adds --format, -o and -q to a command that knows those facts of its cases.
func NewOutputs(cmd *cobra.Command, known format.Facts) *Outputs {
	o := &Outputs{cmd: cmd, offered: format.Offered(known)}
	names := format.Names(o.offered)
	o.Name = &Choice{Value: "text", allowed: names, kind: "FORMAT"}
	cmd.Flags().Var(o.Name, "format", "how results are written: "+strings.Join(names, ", "))
	Complete(cmd, "format", names...)
	RepeatedFlag(cmd.Flags(), &o.paths, "output", "o",
		"a `FILE` to write results to as well; its ending chooses the format ("+
			strings.Join(format.Endings(o.offered), " ")+"); repeats")
	cmd.Flags().BoolVarP(&o.Quiet, "quiet", "q", false, "a line a case, none for those that pass")
	return o
}

// Open readies every output for so many cases, so that one that cannot be written is reported
// before anything is run.
func (o *Outputs) Open(cases int) error {
	f, _ := format.ByName(o.offered, o.Name.Value)
	chosen := []format.Format{f}
	for _, path := range o.paths {
		f, ok := format.ByFile(o.offered, path)
		if !ok {
			return fmt.Errorf("-o %s: got no ending that %s writes, want one of %s", Shorten(path), o.cmd.Name(),
				strings.Join(format.Endings(o.offered), " "))
		}
		chosen = append(chosen, f)
	}
	for i, f := range chosen {
		if f.One && cases != 1 {
			return fmt.Errorf("%s: got %s, want one: a %s document holds one run (--case names a case)", o.given(i),
				Plural(cases, "case"), f.Name)
		}
	}
	if err := o.openStdout(chosen[0]); err != nil {
		return err
	}
	for i, path := range o.paths {
		if err := o.openFile(chosen[i+1], path); err != nil {
			o.Abandon()
			return err
		}
	}
	return nil
}

// Given is the flag that asked for the i-th output.
func (o *Outputs) given(i int) string {
	if i == 0 {
		return "--format " + o.Name.Value
	}
	return "-o " + Shorten(o.paths[i-1])
}

func (o *Outputs) openStdout(f format.Format) error {
	out := o.cmd.OutOrStdout()
	if f.Binary && Terminal(out) {
		return fmt.Errorf("--format %s: got a terminal, want a pipe, or -o FILE%s", f.Name, f.Endings[0])
	}
	s := &sink{format: f}
	switch f.Name {
	case "text":
		if s.Writer = f.New(out, o.options(0)); o.Quiet {
			s.Writer = &quietText{w: out}
		}
	case "json":
		s.Writer = f.New(out, o.options(0))
	case "github":
		s.Writer = f.New(Raw(out), o.options(0))
		if err := o.openSummary(); err != nil {
			return err
		}
	default: // it escapes what it has to, and may be binary
		w := Raw(out)
		if p, ok := out.(Printable); ok && p.actions && !f.Binary {
			w = withoutCommands{w}
		}
		s.Writer = f.New(w, o.options(0))
	}
	o.sinks = append(o.sinks, s)
	return nil
}

// mostSummary is how long a step's summary may be, with what other steps of a tool have written
// there.
const mostSummary = 1 << 20

// openSummary adds the summary of a GitHub step, where the environment names its file.
func (o *Outputs) openSummary() error {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("GITHUB_STEP_SUMMARY: %w", regular.Plain(err))
	}
	size := int64(0)
	if info, err := file.Stat(); err == nil {
		size = info.Size()
	}
	f, _ := format.ByName(format.Formats(), "markdown")
	o.sinks = append(o.sinks,
		&sink{format: f, file: file, Writer: f.New(file, o.options(max(1000, mostSummary-int(size))))})
	return nil
}

func (o *Outputs) openFile(f format.Format, path string) error {
	for _, s := range o.sinks {
		if s.path != "" && filepath.Clean(s.path) == filepath.Clean(path) {
			return fmt.Errorf("-o %s: got it twice", Shorten(path))
		}
	}
	mode := os.FileMode(0o666)
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("-o %s: got no regular file", Shorten(path))
		}
		mode = info.Mode().Perm()
		// it would be replaced although it must not be written
		if kept, err := os.OpenFile(path, os.O_WRONLY, 0); err != nil {
			return fmt.Errorf("-o %w", regular.Plain(err))
		} else if err := kept.Close(); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(fmt.Sprintf("%s.%d.tmp", path, os.Getpid()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return fmt.Errorf("-o %s: %w", Shorten(path), err)
	}
	s := &sink{format: f, file: file, path: path}
	var w io.Writer = file
	if f.Name == "text" {
		w = NewPrintable(file)
	}
	s.Writer = f.New(w, o.options(0))
	o.sinks = append(o.sinks, s)
	return nil
}

func (o *Outputs) options(most int) format.Options {
	return format.Options{Version: Version(), Paths: RepositoryPaths(), Most: most}
}

// Need says whether any of the formats asked for needs such facts of a case, or is better with
// them.
func (o *Outputs) Need(facts format.Facts) bool {
	for _, s := range o.sinks {
		if (s.format.Needs|s.format.Uses)&facts != 0 {
			return true
		}
	}
	return false
}

// Has says whether one of the outputs is of that format.
func (o *Outputs) Has(name string) bool {
	for _, s := range o.sinks {
		if s.format.Name == name {
			return true
		}
	}
	return false
}

// Other is the flag that asked for a format which is none of these; "" where none did.
func (o *Outputs) Other(names ...string) string {
	for i, s := range o.sinks {
		if !slices.Contains(names, s.format.Name) {
			return o.given(i)
		}
	}
	return ""
}

// Add writes one more case.
func (o *Outputs) Add(c *format.Case) error {
	for _, s := range o.sinks {
		if err := s.Case(c); err != nil {
			return s.reportError(err)
		}
	}
	return nil
}

// End writes the end of every document and puts the files in their places. Standard output comes
// last, so that what it says is there.
func (o *Outputs) End(sum *format.Summary) error {
	for i := len(o.sinks) - 1; i >= 0; i-- {
		s := o.sinks[i]
		err := s.End(sum)
		if s.file != nil && err == nil {
			err = s.file.Close()
		}
		if s.path != "" && err == nil {
			if err = os.Rename(s.file.Name(), s.path); err == nil {
				s.path = "" // nothing is left to abandon
			}
		}
		if err != nil {
			return s.reportError(err)
		}
	}
	return nil
}

// reportError is an error with the file it is about.
func (s *sink) reportError(err error) error {
	if s.path == "" {
		return err
	}
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("-o %s: %w", Shorten(s.path), err)
}

// Abandon removes what was not finished. After end it does nothing.
func (o *Outputs) Abandon() {
	for _, s := range o.sinks {
		if s.path != "" && s.file != nil {
			_ = s.file.Close()
			_ = os.Remove(s.file.Name())
		}
	}
}

// quietText is the text of -q: a line for each case that is not right, and the last lines.
type quietText struct{ w io.Writer }

func (q *quietText) Case(c *format.Case) error {
	if c.Judged && c.Right() {
		return nil
	}
	return WriteLine(q.w, c.Line)
}

func (q *quietText) End(s *format.Summary) error {
	if s.Text == nil {
		return nil
	}
	return s.Text(q.w)
}
