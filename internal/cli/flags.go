package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/exec/recorded"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/engine/workspace/profile"
)

// RunFlags say what to run and on what: estimate, explain, diff, dump and init share them.
type RunFlags struct {
	Inputs, Dims             []string
	Device, torch, AllocConf string
	torchGiven               func() bool // whether --torch was
	recorded                 map[string]*recording.Header
	Workspace                *string
	runtime, mode            *Choice
}

func NewRunFlags(cmd *cobra.Command) *RunFlags {
	f := &RunFlags{}
	fs := cmd.Flags()
	RepeatedFlag(fs, &f.Inputs, "input", "",
		"an `INPUT`, such as 'x=float32[B,3,224,224]'; repeats, without a name the inputs are taken in order")
	RepeatedFlag(fs, &f.Dims, "dim", "", "a dimension's value, `NAME=SIZE`, such as B=8; repeats")
	fs.StringVar(&f.Device, "device", "", "the GPU's `NAME`, see memspec devices; by default a recording's own")
	fs.StringVar(&f.torch, "torch", platform.Newest().String(),
		"the PyTorch `RELEASE` whose rules apply; without --device a recording's own")
	f.torchGiven = func() bool { return fs.Changed("torch") }
	fs.StringVar(&f.AllocConf, "alloc-conf", "", "`PYTORCH_CUDA_ALLOC_CONF` of the run")
	f.runtime = ChoiceFlag(cmd, "runtime", "how it is run, which decides when tensors die (default: eager, of compiled "+
		"code compiled, and of a recorded run the recorded one)", "", "eager", "torchscript", "export", "compiled")
	f.Workspace = WorkspaceFlag(cmd)
	f.mode = ChoiceFlag(cmd, "mode", "what the run does; by default what the artifact is made for", "", "inference",
		"training")
	_ = cmd.RegisterFlagCompletionFunc("device",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return device.Names(), cobra.ShellCompDirectiveNoFileComp
		})
	for _, name := range []string{"input", "dim", "torch", "alloc-conf"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	return f
}

// repeated is a flag that may be given several times, each time with one value.
type repeated []string

func (r *repeated) String() string { return strings.Join(*r, ",") }

func (r *repeated) Set(value string) error {
	*r = append(*r, value)
	return nil
}

// GetSlice returns the values, each as it was given.
func (r *repeated) GetSlice() []string { return *r }

// Type is by name that of pflag's own: completion knows by it that the flag may come again.
func (r *repeated) Type() string { return "stringArray" }

// RepeatedFlag adds a flag whose values come to list. pflag's own writes each default as CSV, with
// a buffer of 4 KiB, whenever the command starts.
func RepeatedFlag(fs *pflag.FlagSet, list *[]string, name, shorthand, usage string) {
	fs.VarP((*repeated)(list), name, shorthand, usage)
}

// WorkspaceFlag adds --workspace, which names a workspace profile.
func WorkspaceFlag(cmd *cobra.Command) *string {
	path := cmd.Flags().String("workspace", "",
		"a workspace profile: `FILE` of what libraries themselves answered about their workspace")
	_ = cmd.MarkFlagFilename("workspace", "json")
	return path
}

// JudgeFlag adds --judge, which overrides judge: of memspec.yaml.
func JudgeFlag(cmd *cobra.Command) *Choice {
	return ChoiceFlag(cmd, "judge", "which figure of an estimate decides, whatever judge: of memspec.yaml says", "",
		string(verdict.ByUpper), string(verdict.ByLikely))
}

// judgedBy is the basis of a case: that of --judge, else its own.
func judgedBy(own verdict.Basis, basis *Choice) verdict.Basis {
	return cmp.Or(verdict.Basis(basis.Value), own)
}

// JudgeBy gives every case the basis of --judge in its own place.
func JudgeBy(cases []spec.Case, basis *Choice) {
	for i := range cases {
		cases[i].Judge = judgedBy(cases[i].Judge, basis)
	}
}

// Given names a flag that was used, of those that say how an artifact runs: a case of memspec.yaml
// has them all.
func (f *RunFlags) Given(cmd *cobra.Command, but ...string) string {
	for _, name := range []string{"input", "dim", "device", "torch", "alloc-conf", "runtime", "mode"} {
		if cmd.Flags().Changed(name) && !slices.Contains(but, name) {
			return name
		}
	}
	return ""
}

// OneCase is the case that the flags describe, with one value a dimension.
func (f *RunFlags) OneCase(artifact string) (spec.Case, error) {
	dims, err := oneValueEach(f.Dims)
	if err != nil {
		return spec.Case{}, err
	}
	return f.Build(artifact, dims)
}

func (f *RunFlags) Build(artifact string, dims []spec.Dim) (spec.Case, error) {
	if ext := filepath.Ext(artifact); ext == ".yaml" || ext == ".yml" {
		return spec.Case{}, fmt.Errorf("%s: got a file of cases, want an artifact: memspec check %s, or memspec explain "+
			"--case NAME %s (both take --device)", artifact, layout.ShellQuote(artifact), layout.ShellQuote(artifact))
	}
	c := spec.Case{Name: artifact, Artifact: artifact, Workspace: *f.Workspace, Runtime: spec.Runtime(f.runtime.Value),
		Mode: spec.Mode(f.mode.Value), Dims: dims}
	var err error
	if c.Platform, err = f.Platform(artifact); err != nil {
		return c, err
	}
	inputs, err := f.ParseInputs(artifact)
	if err != nil {
		return c, err
	}
	c.Inputs, err = bindInputs(inputs, c.Symbols())
	if err != nil {
		return c, err
	}
	for _, d := range dims {
		rest := c.Symbols()
		delete(rest, d.Name)
		if _, err := bindInputs(inputs, rest); err == nil {
			return c, fmt.Errorf("--dim %s: got a dim that no input has", d.Name)
		}
	}
	return c, nil
}

func bindInputs(inputs []spec.Input, dims map[string]int64) ([]spec.Input, error) {
	out := make([]spec.Input, len(inputs))
	for i, in := range inputs {
		var err error
		out[i], err = in.Bind(dims)
		var unbound *spec.UnboundError
		if errors.As(err, &unbound) {
			return nil, withoutValue(inputs, dims)
		}
		if err != nil {
			return nil, fmt.Errorf("--input %s: %w", in.String(), err)
		}
	}
	return out, nil
}

// withoutValue names every dim of inputs that has no value, and the dim given that may have been
// meant for it.
func withoutValue(inputs []spec.Input, dims map[string]int64) error {
	bound := maps.Clone(dims)
	if bound == nil {
		bound = map[string]int64{}
	}
	var names, flags []string
	for _, in := range inputs {
		for {
			var unbound *spec.UnboundError
			if _, err := in.Bind(bound); !errors.As(err, &unbound) {
				break
			}
			name := unbound.Dim
			bound[name] = 1
			names = append(names, name)
			flag := "--dim " + name + "=SIZE"
			for given := range dims {
				if strings.EqualFold(given, name) {
					flag += " (not " + given + ")"
				}
			}
			flags = append(flags, flag)
		}
	}
	return fmt.Errorf("got dim %s without a value, want %s", strings.Join(names, ", "), strings.Join(flags, " "))
}

var errNoDevice = errors.New("got no --device, want one such as a10g " +
	"(all: memspec devices; none counts what the model itself takes on any card)")

// Platform is what the flags say; without --device it is what a recording was made on. artifact ""
// is none.
func (f *RunFlags) Platform(artifact string) (platform.Platform, error) {
	torch, err := platform.ParseVersion(f.torch)
	if err != nil {
		return platform.Platform{}, fmt.Errorf("--torch: %w", err)
	}
	var d device.Device
	if f.Device != "" {
		if d, err = device.Lookup(f.Device); err != nil {
			return platform.Platform{}, fmt.Errorf("--device: %w", err)
		}
	} else if h := f.recording(artifact); h == nil {
		s, err := served(artifact)
		if err != nil {
			return platform.Platform{}, err
		}
		if s == nil {
			return platform.Platform{}, errNoDevice
		}
		if d, err = device.Lookup(s.Device.Name); err != nil {
			return platform.Platform{}, fmt.Errorf("got no --device: %s: %w", artifact, err)
		}
		d.Memory = s.Device.Memory
	} else {
		if h.Where == recording.OnCPU {
			return platform.Platform{}, errNoDevice
		}
		if d, err = recorded.On(h); err != nil {
			return platform.Platform{}, fmt.Errorf("got no --device: %s: %w", artifact, err)
		}
		if own, err := platform.ParseVersion(h.Torch); err == nil && !f.torchGiven() {
			torch = own
		}
	}
	p, err := platform.New(d, torch)
	if err != nil {
		return p, fmt.Errorf("--torch: %w", err)
	}
	p.AllocConf = f.AllocConf
	return p, nil
}

// served is the recording of an engine's start; nil of another artifact. A recording that cannot be
// read is an error: that it names no device is not what is wrong with it.
func served(path string) (*recording.Served, error) {
	if !mayBeRecording(path) {
		return nil, nil
	}
	a, err := artifact.Open(path)
	if err != nil {
		return nil, err
	}
	return a.Served, nil
}

// mayBeRecording says whether a file's name ends as those of recordings do.
func mayBeRecording(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".rec" || ext == ".json"
}

// recording is the header of an artifact that is a recording with one; nil where it is none, or
// cannot be read: opening it says why.
func (f *RunFlags) recording(artifact string) *recording.Header {
	if !mayBeRecording(artifact) {
		return nil
	}
	h, read := f.recorded[artifact]
	if !read {
		if r, err := recording.Read(artifact); err == nil {
			h = &r.Header
		}
		if f.recorded == nil {
			f.recorded = map[string]*recording.Header{}
		}
		f.recorded[artifact] = h
	}
	return h
}

// ParseInputs reads --input; where there is none, the inputs that were written beside the artifact
// when it was exported.
func (f *RunFlags) ParseInputs(artifact string) ([]spec.Input, error) {
	if len(f.Inputs) == 0 {
		return origin.Inputs(artifact)
	}
	out := make([]spec.Input, len(f.Inputs))
	for i, s := range f.Inputs {
		in, err := spec.ParseInput(s)
		if err != nil {
			return nil, fmt.Errorf("--input %s: %w", Shorten(s), err)
		}
		out[i] = in
	}
	return out, nil
}

// DimValues is one --dim: B=1,8.
type DimValues struct {
	Name   string
	Values []int64
}

func ParseDims(texts []string) ([]DimValues, error) {
	var out []DimValues
	seen := map[string]bool{}
	for _, t := range texts {
		name, list, ok := strings.Cut(t, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" || list == "" {
			return nil, fmt.Errorf("--dim: got %q, want NAME=VALUE such as B=8", t)
		}
		if seen[name] {
			return nil, fmt.Errorf("--dim: got %s twice, want it once", name)
		}
		seen[name] = true
		d := DimValues{Name: name}
		for part := range strings.SplitSeq(list, ",") {
			n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("--dim %s: got %q, want a whole number of 0 or more", name, part)
			}
			d.Values = append(d.Values, n)
		}
		out = append(out, d)
	}
	return out, nil
}

// WantValues refuses flags that are given nothing, as by a variable of the shell that is not set:
// it would be as if they were not given at all.
func WantValues(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			what, _ := pflag.UnquoteUsage(f)
			return fmt.Errorf("--%s: got nothing, want a %s", name, what)
		}
	}
	return nil
}

// UseProfile gives every case the workspace profile of --workspace in its own place.
func UseProfile(cases []spec.Case, path string) error {
	if path == "" {
		return nil
	}
	p, err := profile.Load(path)
	if err != nil {
		return err
	}
	for i := range cases {
		cases[i].Platform.Workspace = p
	}
	return nil
}

// ParseShare reads a percentage.
func ParseShare(text string) (float64, error) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(share >= 0) {
		return 0, fmt.Errorf("got %q, want a percentage such as 1%%", text)
	}
	return share / 100, nil
}
