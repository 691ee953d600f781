//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/units"
)

// Ten thousand cases of torchvision's models: under a minute on two cores, which is two minutes of
// processor time, and under 1 GiB. It takes half a minute: make scale
func TestTenThousandCases(t *testing.T) {
	if os.Getenv("MEMSPEC_SCALE") != "1" {
		t.Skip("MEMSPEC_SCALE=1 runs it")
	}
	artifacts, err := filepath.Glob("../../testdata/artifacts/torchvision/*.pt")
	require.NoError(t, err)
	require.NotEmpty(t, artifacts)
	var text strings.Builder
	text.WriteString("version: 1\ndefaults: {device: h100-sxm-80gb}\nmodels:\n")
	const cases = 10_000
	for i, path := range artifacts {
		var batches []string
		for b := range (cases + len(artifacts) - 1 - i) / len(artifacts) {
			batches = append(batches, fmt.Sprint(b+1))
		}
		path, err := filepath.Abs(path)
		require.NoError(t, err)
		fmt.Fprintf(&text, "  %s: {artifact: %q, inputs: [\"float32[B,3,224,224]\"], dims: {B: [%s]}, budget: {reserved: "+
			"70GiB}, allow: [workspace-estimate]}\n",
			strings.ReplaceAll(strings.TrimSuffix(filepath.Base(path), ".pt"), ".", "_"), path, strings.Join(batches, ", "))
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "memspec.yaml"), []byte(text.String()), 0o666))
	memspec := filepath.Join(dir, "memspec")
	out, err := exec.Command("go", "build", "-o", memspec, ".").CombinedOutput()
	require.NoError(t, err, string(out))

	check := func(what string, most time.Duration, args ...string) {
		cmd := exec.Command(memspec, append([]string{"check", "-q"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
		start := time.Now()
		out, err := cmd.CombinedOutput()
		wall := time.Since(start)
		require.NoError(t, err, string(out))
		require.Equal(t, fmt.Sprintf("%d cases: %d pass\n", cases, cases), string(out))
		used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		resident := units.Bytes(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
		if runtime.GOOS == "linux" {
			resident *= units.KiB
		}
		t.Logf("%s: %d cases in %s, %s of processor time, %s resident", what, cases, wall.Round(time.Millisecond),
			used.Round(time.Millisecond), resident)
		assert.Less(t, used, most)
		assert.Less(t, resident, units.GiB)
	}
	check("all", 2*time.Minute)
}
