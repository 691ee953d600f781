package cudameasure

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The programs that measure come from variables, then from PATH: python3 before python.
func TestProgramsFromTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	put := func(name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755))
		return path
	}
	t.Setenv("PATH", dir)
	t.Setenv("MEMSPEC_CUDAPROBE", "")
	t.Setenv("MEMSPEC_PYTHON", "")
	assert.Equal(t, Tools{}, FromEnvironment(), "none is there")
	probe, python, smi := put("cudaprobe"), put("python"), put("nvidia-smi")
	assert.Equal(t, Tools{Probe: probe, Python: python, SMI: smi}, FromEnvironment())
	python3 := put("python3")
	assert.Equal(t, python3, FromEnvironment().Python)
	t.Setenv("MEMSPEC_CUDAPROBE", "/my/probe")
	t.Setenv("MEMSPEC_PYTHON", "/my/python")
	assert.Equal(t, Tools{Probe: "/my/probe", Python: "/my/python", SMI: smi}, FromEnvironment())
}
