package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/workspace/profile"
	"github.com/memspec/memspec/internal/cli"
)

func newWorkspace() *cobra.Command {
	f := &workspaceFlags{}
	cmd := &cobra.Command{
		Use:   "workspace [memspec.yaml]",
		Short: "List the library calls whose workspace only the library knows",
		Long: `List the library calls of all cases of a memspec.yaml whose workspace only the library knows:
cuDNN's convolutions. With --missing, those that no workspace profile has;
` + "`python -m memshim workspace`" + ` queries the library for them, without a GPU. A profile that
does not exist yet has no entries.

With --formula, calls are read from standard input, one line of JSON each: an entry of a workspace
profile without its answer, with compute_capability and sms of the card. Each is answered with a
line, the bytes that the formula of its class has and its upper figure.

Exit codes of --missing: 0 none is missing, 3 some are, 2 a case cannot be run.`,
		Example: `  memspec workspace --missing
  memspec workspace --torch 2.10 --device rtx-4090 --format json`,
		Args:              cli.WantArgs(0, 1, "at most one memspec.yaml"),
		ValidArgsFunction: cli.CompleteSpecs,
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.missing, "missing", false, "only those without an answer")
	fs.BoolVar(&f.formula, "formula", false, "answer the calls on standard input by formula")
	fs.StringVar(&f.torch, "torch", "", "of this PyTorch `RELEASE`, whatever the cases say")
	cli.RepeatedFlag(fs, &f.devices, "device", "", "on the GPU of this `NAME`, whatever the cases say; repeats")
	f.profile = cli.WorkspaceFlag(cmd)
	f.patterns = cli.CaseFlag(cmd)
	f.format = cli.FormatFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("device",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return device.Names(), cobra.ShellCompDirectiveNoFileComp
		})
	_ = cmd.RegisterFlagCompletionFunc("torch", cobra.NoFileCompletions)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f.formula {
			return answerByFormula(cmd.InOrStdin(), cmd.OutOrStdout())
		}
		path, err := cli.SpecFile(args)
		if err != nil {
			return err
		}
		return f.run(cmd, path)
	}
	return cmd
}

type workspaceFlags struct {
	missing  bool
	formula  bool
	torch    string
	devices  []string
	profile  *string
	patterns *[]string
	format   *cli.Choice
}

func (f *workspaceFlags) run(cmd *cobra.Command, path string) error {
	cases, err := cli.LoadCases([]string{path}, *f.patterns)
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
	if f.format.Value == "json" {
		err = report.EncodeJSON(cmd.OutOrStdout(), out)
	} else {
		err = out.WriteText(cmd.OutOrStdout(), f.missing)
	}
	if err != nil {
		return err
	}
	for _, e := range out.Errors {
		fmt.Fprintf(cmd.ErrOrStderr(), "memspec: %s: %s\n", e.Case, cli.OneLine(e.Error))
	}
	switch {
	case len(out.Errors) > 0:
		return cli.ExitWith(cli.ExitUsage)
	case f.missing && len(out.Groups) > 0:
		return cli.ExitWith(cli.ExitUnsure)
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

// gather runs the cases; one that cannot be run is reported and leaves the others.
func (f *workspaceFlags) gather(ctx context.Context, path string, cases []spec.Case) (*cli.WorkspaceJSON, error) {
	out := cli.NewWorkspaceJSON(path)
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
			out.Errors = append(out.Errors, cli.WorkspaceError{Case: c.Name, Error: err.Error()})
			continue
		}
		out.Add(c, r.Calls, f.missing)
	}
	out.Sort()
	return out, nil
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
