package cudameasure

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/recording"
)

// TestProbeEnds: each way in which cudaprobe ends without an answer, as the dynamic linker and
// gorgonia.org/cu word it.
func TestProbeEnds(t *testing.T) {
	for _, tt := range []struct {
		why, said string
		status    int
		want      error
	}{
		{"no driver", "cudaprobe: error while loading shared libraries: libcuda.so.1: cannot open shared object file", 127,
			ErrNoDriver},
		{"the linker's words, but another status", "cudaprobe: error while loading shared libraries: libcuda.so.1: cannot " +
			"open shared object file", 1, ErrDriver},
		{"another library is missing", "libc.so.6: cannot open shared object file", 127, ErrOldDriver},
		{"the driver lacks a function", "symbol lookup error: libcuda.so.1: undefined symbol: cuGraphAddNode", 127,
			ErrOldDriver},
		{"no device", "panic: cuInit: NoDevice", 2, ErrNoDevice},
		{"another driver is loaded than is installed", "panic: cuInit: SystemDriverMismatch", 2, ErrOldDriver},
		{"the card takes no newer CUDA than its driver's", "panic: cuInit: CompatNotSupportedOnDevice", 2, ErrOldDriver},
		{"the same without a name", "panic: cuInit: UnknownErrorCode:804", 2, ErrOldDriver},
		{"anything else", "panic: cuInit: Unknown", 2, ErrDriver},
		{"nothing", "", 1, ErrDriver},
	} {
		assert.Equal(t, tt.want, probeError(output{stderr: tt.said, status: tt.status}), "%s, as an error", tt.why)
		assert.Equal(t, tt.want, probeError(output{stdout: tt.said, status: tt.status}), "%s, as output", tt.why)
	}
}

// TestShimEnds: each status with which memshim ends, where a GPU was asked for and where a pretend
// one was.
func TestShimEnds(t *testing.T) {
	for _, tt := range []struct {
		why           string
		out           output
		real, pretend error
	}{
		{"no PyTorch", output{status: shimTorch}, ErrNoPython, ErrNoPython},
		{"no memshim", output{status: 1, stderr: "python3: No module named memshim"}, ErrNoPython, ErrNoPython},
		{"words of that on the other stream", output{status: 1, stdout: "No module named memshim"}, ErrModel, ErrModel},
		{"no device", output{status: shimUnsure}, ErrNoDevice, ErrNoPretend},
		{"a case that is none", output{status: shimUsage}, ErrCase, ErrCase},
		{"nothing to run", output{status: shimNoRun}, ErrNothing, ErrNothing},
		{"the model fails", output{status: 1}, ErrModel, ErrModel},
		{"a signal", output{status: -1}, ErrModel, ErrModel},
	} {
		assert.Equal(t, tt.real, runError(tt.out, recording.OnCUDA), tt.why)
		assert.Equal(t, tt.pretend, runError(tt.out, recording.OnPretend), "%s, on a pretend GPU", tt.why)
	}
}

// TestFirstLine: an error's stream goes before the other, lines of white space are none.
func TestFirstLine(t *testing.T) {
	for _, tt := range []struct{ stderr, stdout, want string }{
		{"wrong", "right", "wrong"},
		{" \n\t\n  wrong  \nmore", "right", "wrong"},
		{" \n", "\nright\nmore", "right"},
		{"", "\n", ""},
		{"", "", ""},
	} {
		assert.Equal(t, tt.want, (&output{stderr: tt.stderr, stdout: tt.stdout}).firstLine(), "%q, %q", tt.stderr, tt.stdout)
	}
}
