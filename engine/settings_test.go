package engine_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/internal/testing/conformance"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/tensor"
)

// settingsFolder holds recordings of models under settings of a case: python -m truth settings.
const settingsFolder = "../testdata/conformance/2.15-settings"

// applySettings gives a case the settings of a recording.
func applySettings(r *recording, c *spec.Case, m *engine.Model) {
	c.DType = r.Settings["dtype"]
	c.Platform.Autocast = r.Settings["autocast"]
	if r.Settings["cached"] == "true" {
		for _, s := range m.Artifact.Program.States {
			s.Meta.RequiresGrad = s.Class == tensor.Parameter
		}
	}
}

// formatInput gives an input the memory format of a recording.
func formatInput(r *recording, in spec.Input) spec.Input {
	if t, ok := in.Value.(spec.Tensor); ok && r.Settings["memory_format"] == "channels_last" {
		t.Format = tensor.ChannelsLast
		in.Value = t
	}
	return in
}

// settingsAccounts compares every recording made under settings.
func settingsAccounts(t testing.TB) []account {
	t.Helper()
	var jobs []func() account
	files, err := filepath.Glob(filepath.Join(settingsFolder, "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	slices.Sort(files)
	opened := map[string]func() (*engine.Model, error){} // by archive
	for _, f := range files {
		r := conformance.ReadFile(t, f)
		for _, s := range r.Streams {
			require.Empty(t, s.Failed, f)
			kind, runtime, _ := strings.Cut(s.Name, ".")
			if kind == "live" {
				kind = "script"
			}
			open := opened[s.Artifact]
			switch {
			case r.Settings["cached"] == "true": // changes what the archive says of its parameters
				open = opener(s.Artifact)
			case open == nil:
				open = opener(s.Artifact)
				opened[s.Artifact] = open
			}
			jobs = append(jobs, func() account {
				a := compare(r, s, open, s.Artifact, kind, runtime)
				a.model, a.group = strings.TrimSuffix(filepath.Base(f), ".txt"), "settings"
				return a
			})
		}
	}
	return inParallel(jobs)
}

// TestSettings holds predictions under dtype, autocast, memory format and other shapes against real
// PyTorch, event for event.
func TestSettings(t *testing.T) {
	for _, a := range settingsAccounts(t) {
		t.Run(a.name(), func(t *testing.T) {
			require.NoError(t, a.err)
			require.True(t, a.exact, "%d of %d events agree, peak %d, want %d (%+.2f %%)\n%s\nreproduce: go test ./engine "+
				"-run '%s'", a.agree, a.events,
				a.peak, a.want, a.peakError(), a.parted, "TestSettings/"+a.name())
		})
	}
}
