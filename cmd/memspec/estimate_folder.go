package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/artifact/modelfolder"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/serving"
	"github.com/memspec/memspec/internal/cli"
)

// servingFlags say how a model's folder is served.
type servingFlags struct {
	options       serving.Options
	dtype, kvType *cli.Choice
	given         func() string // the first of these flags that was used, "" for none
}

// Defaults of vLLM: the share of the memory that it may use, and the tokens of one forward pass
// that it takes on cards with at least 70 GiB.
const (
	defaultShare         = 0.9
	defaultBatchedTokens = 8192
)

// The most that flags may ask for: figures beyond stay far from what 63 bits hold.
const (
	mostContext  = 1 << 30
	mostRequests = 1 << 20
)

func newServingFlags(cmd *cobra.Command) *servingFlags {
	s := &servingFlags{}
	fs := cmd.Flags()
	fs.Int64Var(&s.options.Context, "context", 0,
		"of a model's folder: `TOKENS` of each request (default the model's own)")
	fs.Int64Var(&s.options.Batch, "batch", 1, "of a model's folder: `REQUESTS` at once")
	fs.Int64Var(&s.options.BatchedTokens, "batched-tokens", defaultBatchedTokens,
		"of a model's folder: `TOKENS` of one forward pass")
	fs.Float64Var(&s.options.Share, "gpu-memory-utilization", defaultShare,
		"of a model's folder: the `SHARE` of the device's memory that the engine may use")
	s.dtype = cli.ChoiceFlag(cmd, "dtype",
		"of a model's folder: what it runs in; auto is the config's, 16 bits where that is float32", "auto", "auto",
		"bfloat16", "float16", "float32")
	s.kvType = cli.ChoiceFlag(cmd, "kv-cache-dtype", "of a model's folder: what the KV cache is in", "auto", "auto",
		"bfloat16", "float16", "float32", "fp8")
	s.given = func() string {
		for _, name := range []string{
			"context", "batch", "batched-tokens", "gpu-memory-utilization", "dtype", "kv-cache-dtype",
		} {
			if fs.Changed(name) {
				return name
			}
		}
		return ""
	}
	return s
}

// run estimates a model's folder.
func (s *servingFlags) run(cmd *cobra.Command, path string, run *cli.RunFlags, out *cli.Outputs) error {
	if name := run.Given(cmd, "device"); name != "" || *run.Workspace != "" {
		if name == "" {
			name = "workspace"
		}
		return fmt.Errorf("--%s: got it with a model's folder, want it with an artifact that runs", name)
	}
	if err := s.check(run.Device); err != nil {
		return err
	}
	if err := out.Open(1); err != nil {
		return err
	}
	defer out.Abandon()
	if other := out.Other("text", "json"); other != "" {
		return fmt.Errorf("%s: got a model's folder, of which there is text and json alone", other)
	}
	m, err := modelfolder.Open(path)
	if err != nil {
		return err
	}
	e := serving.New(path, m, s.options)
	if err := out.Add(&format.Case{Name: path, Line: e.Line(), Text: e.WriteText}); err != nil {
		return err
	}
	code := cli.ExitUnsure
	switch e.Outcome {
	case serving.Fits, serving.Unlimited:
		code = cli.ExitOK
	case serving.Exceeds:
		code = cli.ExitBroken
	}
	if err := out.End(&format.Summary{Exit: code, JSON: e}); err != nil {
		return err
	}
	return cli.ExitWith(code)
}

// check takes the flags' values.
func (s *servingFlags) check(name string) (err error) {
	if name == "" {
		name = "none"
	}
	if s.options.Device, err = device.Lookup(name); err != nil {
		return fmt.Errorf("--device: %w", err)
	}
	for _, flag := range []struct {
		name        string
		value       int64
		least, most int64
	}{
		{"context", s.options.Context, 0, mostContext},
		{"batch", s.options.Batch, 1, mostRequests},
		{"batched-tokens", s.options.BatchedTokens, 1, mostContext},
	} {
		if flag.value < flag.least || flag.value > flag.most {
			return fmt.Errorf("--%s: got %d, want %d to %d", flag.name, flag.value, flag.least, flag.most)
		}
	}
	if share := s.options.Share; !(share > 0 && share <= 1) {
		return fmt.Errorf("--gpu-memory-utilization: got %v, want a share above 0 and up to 1", share)
	}
	s.options.DType, s.options.CacheDType = s.dtype.Value, s.kvType.Value
	if s.options.CacheDType == "fp8" {
		s.options.CacheDType = "float8_e4m3fn"
	}
	return nil
}
