package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// workspaceJSON is the library calls of a memspec.yaml, by who has to answer for them.
type workspaceJSON struct {
	Schema int               `json:"schema"`
	Spec   string            `json:"spec"`
	Groups []*workspaceGroup `json:"groups"` // sorted by library, version and class
	Errors []workspaceError  `json:"errors"` // cases that cannot be run, in the order of the file
}

type workspaceGroup struct {
	profile.Answerer
	Torch   []string       `json:"torch"`   // releases of the cases, in the order of the file
	Devices []string       `json:"devices"` // likewise
	Wheel   string         `json:"wheel"`   // the package that brings the library
	Calls   []profile.Call `json:"calls"`   // sorted by key
	seen    map[string]bool
}

type workspaceError struct {
	Case  string `json:"case"`
	Error string `json:"error"`
}

func newWorkspace() *cobra.Command {
	f := &workspaceFlags{}
	cmd := &cobra.Command{
		Use:   "workspace [memspec.yaml]",
		Short: "List the library calls whose workspace only the library itself can tell",
		Long: `List the library calls of all cases of a memspec.yaml whose workspace only the library itself can tell: cuDNN's convolutions.
With --missing, those that no workspace profile has; ` + "`python -m memshim workspace`" + ` asks the library for them, without a GPU.
A profile that is not there yet has no entries.

Exit codes of --missing: 0 none is missing, 3 some are, 2 a case cannot be run.`,
		Example: `  memspec workspace --missing
  memspec workspace --torch 2.10 --device rtx-4090 --format json`,
		Args:              wantArgs(0, 1, "at most one memspec.yaml"),
		ValidArgsFunction: completeSpecs,
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.missing, "missing", false, "only those without an answer")
	fs.StringVar(&f.torch, "torch", "", "of this PyTorch `RELEASE`, whatever the cases say")
	repeatedFlag(fs, &f.devices, "device", "", "on the GPU of this `NAME`, whatever the cases say; repeats")
	f.profile = workspaceFlag(cmd)
	f.patterns = caseFlag(cmd)
	f.format = formatFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("device", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return device.Names(), cobra.ShellCompDirectiveNoFileComp
	})
	_ = cmd.RegisterFlagCompletionFunc("torch", cobra.NoFileCompletions)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := specFile(args)
		if err != nil {
			return err
		}
		return f.run(cmd, path)
	}
	return cmd
}

type workspaceFlags struct {
	missing  bool
	torch    string
	devices  []string
	profile  *string
	patterns *[]string
	format   *choice
}

func (f *workspaceFlags) run(cmd *cobra.Command, path string) error {
	cases, err := loadCases([]string{path}, *f.patterns)
	if err != nil {
		return err
	}
	if cases, err = f.elsewhere(cases); err != nil {
		return err
	}
	out, err := f.gather(cmd.Context(), path, cases)
	if err != nil {
		return err
	}
	if f.format.value == "json" {
		err = report.EncodeJSON(cmd.OutOrStdout(), out)
	} else {
		err = out.writeText(cmd.OutOrStdout(), f.missing)
	}
	if err != nil {
		return err
	}
	for _, e := range out.Errors {
		fmt.Fprintf(cmd.ErrOrStderr(), "memspec: %s: %s\n", e.Case, oneLine(e.Error))
	}
	switch {
	case len(out.Errors) > 0:
		return exitWith(exitUsage)
	case f.missing && len(out.Groups) > 0:
		return exitWith(exitUnsure)
	}
	return nil
}

// elsewhere are the cases on the devices and with the release of the flags.
func (f *workspaceFlags) elsewhere(cases []spec.Case) ([]spec.Case, error) {
	torch, err := platform.ParseVersion(cmp.Or(f.torch, platform.Newest().String()))
	if err != nil {
		return nil, fmt.Errorf("--torch: %w", err)
	}
	devices := []*device.Device{nil}
	if len(f.devices) > 0 {
		devices = nil
	}
	for _, name := range f.devices {
		d, err := deviceOf(name, cases)
		if err != nil {
			return nil, fmt.Errorf("--device: %w", err)
		}
		devices = append(devices, d)
	}
	var out []spec.Case
	for _, c := range cases {
		if f.torch != "" {
			c.Platform.Torch, c.Platform.CuDNN = torch, platform.DefaultCuDNN(torch)
		}
		for _, d := range devices {
			if d != nil {
				c.Platform.Device = *d
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// deviceOf finds a device that the file itself describes, else a row of the table.
func deviceOf(name string, cases []spec.Case) (*device.Device, error) {
	for i := range cases {
		if d := &cases[i].Platform.Device; d.Name == name {
			return d, nil
		}
	}
	d, err := device.Lookup(name)
	return &d, err
}

// gather runs the cases; one that cannot be run is told and leaves the others.
func (f *workspaceFlags) gather(ctx context.Context, path string, cases []spec.Case) (*workspaceJSON, error) {
	out := newWorkspaceJSON(path)
	models := suite.New(os.Environ())
	profiles := map[string]*profile.Profile{}
	for i := range cases {
		c := &cases[i]
		from := cmp.Or(*f.profile, c.Workspace)
		if _, ok := profiles[from]; !ok {
			p, err := loadProfile(from)
			if err != nil {
				return nil, err
			}
			profiles[from] = p
		}
		c.Platform.Workspace, c.Workspace = profiles[from], ""
		r, err := models.Run(ctx, *c)
		if ctx.Err() != nil {
			return nil, errors.New("interrupted")
		}
		if err != nil {
			out.Errors = append(out.Errors, workspaceError{c.Name, err.Error()})
			continue
		}
		out.add(c, r.Calls, f.missing)
	}
	out.sort()
	return out, nil
}

func newWorkspaceJSON(path string) *workspaceJSON {
	return &workspaceJSON{Schema: 1, Spec: path, Groups: []*workspaceGroup{}, Errors: []workspaceError{}}
}

// sort puts the groups and their calls in the order of the file.
func (s *workspaceJSON) sort() {
	for _, g := range s.Groups {
		slices.SortFunc(g.Calls, func(a, b profile.Call) int { return strings.Compare(a.Key(), b.Key()) })
	}
	slices.SortFunc(s.Groups, func(a, b *workspaceGroup) int {
		return cmp.Or(strings.Compare(a.Library, b.Library), strings.Compare(a.Version, b.Version), strings.Compare(a.Class, b.Class))
	})
}

// loadProfile reads a profile; one that is yet to be made is empty.
func loadProfile(path string) (*profile.Profile, error) {
	if path == "" {
		return &profile.Profile{}, nil
	}
	p, err := profile.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &profile.Profile{}, nil
	}
	return p, err
}

func (s *workspaceJSON) add(c *spec.Case, calls []engine.LibraryCall, missing bool) {
	for i := range calls {
		call := &calls[i]
		if missing && call.Known() {
			continue
		}
		at := slices.IndexFunc(s.Groups, func(g *workspaceGroup) bool { return g.Answerer == call.By })
		if at < 0 {
			at = len(s.Groups)
			s.Groups = append(s.Groups, &workspaceGroup{Answerer: call.By, Wheel: wheel(&c.Platform), seen: map[string]bool{}})
		}
		g := s.Groups[at]
		if torch := c.Platform.Torch.String(); !slices.Contains(g.Torch, torch) {
			g.Torch = append(g.Torch, torch)
		}
		if name := c.Platform.Device.Name; !slices.Contains(g.Devices, name) {
			g.Devices = append(g.Devices, name)
		}
		if key := call.Call.Key(); !g.seen[key] {
			g.seen[key] = true
			g.Calls = append(g.Calls, call.Call)
		}
	}
}

// wheel is the package of a platform's cuDNN, as pip names it.
func wheel(p *platform.Platform) string {
	cuda, _, _ := strings.Cut(p.Release().CUDA, ".")
	version := p.CuDNN.String()
	if p.CuDNN.Build == 0 {
		version = p.Answerer().Version + ".*"
	}
	return fmt.Sprintf("nvidia-cudnn-cu%s==%s", cuda, version)
}

func (s *workspaceJSON) writeText(w io.Writer, missing bool) error {
	var b strings.Builder
	for _, g := range s.Groups {
		word := "calls"
		if len(g.Calls) == 1 {
			word = "call"
		}
		fmt.Fprintf(&b, "%s %s for %s (torch %s; %s): %d %s\n", g.Library, g.Version, g.Class, strings.Join(g.Torch, ", "), strings.Join(g.Devices, ", "),
			len(g.Calls), word)
		for i := range g.Calls {
			fmt.Fprintf(&b, "  %s\n", g.Calls[i].Key())
		}
	}
	switch {
	case missing && len(s.Groups) > 0:
		fmt.Fprintf(&b, "to ask for them: python -m memshim workspace %s\n", s.Spec)
	case missing && len(s.Errors) == 0:
		fmt.Fprintf(&b, "%s: no library call is without an answer\n", s.Spec)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
