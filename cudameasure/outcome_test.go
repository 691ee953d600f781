package cudameasure

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// TestNvidiaSMIEnds: each status and each text with which nvidia-smi ends without an answer.
func TestNvidiaSMIEnds(t *testing.T) {
	for _, tt := range []struct {
		said   string
		status int
		want   error
	}{
		{"", 0, nil}, {"0, NVIDIA T4", 0, nil}, {"", 6, ErrNoDevice}, {"", 9, ErrNoDriver}, {"", 12, ErrNoDriver},
		{"", 13, ErrOldDriver}, {"", 1, ErrDriver}, {"", 5, ErrDriver}, {"", 7, ErrDriver}, {"", 8, ErrDriver},
		{"", 10, ErrDriver}, {"", 11, ErrDriver}, {"", 14, ErrDriver}, {"", -1, ErrDriver},
		{"No devices were found", 0, ErrNoDevice}, {"No supported GPUs were found", 0, ErrNoDevice},
		{`Field "memory.reserved" is not a valid field to query.`, 2, ErrOldDriver},
		{"Failed to initialize NVML: Driver/library version mismatch", 18, ErrOldDriver},
		{"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", 0, ErrNoDriver},
	} {
		for _, out := range []output{{stderr: tt.said, status: tt.status}, {stdout: tt.said, status: tt.status}} {
			assert.Equal(t, tt.want, smiError(out), "%v", out)
		}
	}
}

// TestChildrenThatDoNotEnd: a child that could not be started, that hung, and that its caller
// ended.
func TestChildrenThatDoNotEnd(t *testing.T) {
	var tools Tools
	for _, tt := range []struct {
		err    error
		device error
		run    error // with nothing said, of a status below 0
	}{
		{errTimeout, ErrHangs, ErrHangs}, {exec.ErrNotFound, ErrNoDriver, ErrModel}, {os.ErrNotExist, ErrDriver, ErrNoPython},
		{context.Canceled, context.Canceled, context.Canceled},
		{context.DeadlineExceeded, context.DeadlineExceeded, context.DeadlineExceeded}, {os.ErrClosed, ErrDriver, ErrModel},
	} {
		wrapped := fmt.Errorf("python3: %w", tt.err)
		assert.ErrorIs(t, tools.failed(wrapped, byProbe, output{}), tt.device, "%v", tt.err)
		assert.ErrorIs(t, runFailed("m", wrapped, output{status: -1}), tt.run, "%v", tt.err)
	}
	gone := fmt.Errorf("python3: %w", os.ErrNotExist)
	assert.EqualError(t, runFailed("m", gone, output{status: -1}), "m: "+ErrNoPython.Error()+": python3: file does not exist")
	for _, out := range []output{{}, {status: -1, stderr: "memshim: no"}, {status: -1, stdout: "x"}} {
		assert.ErrorIs(t, runFailed("m", gone, out), ErrModel, "it ran: %v", out)
	}
	assert.EqualError(t, runFailed("m", os.ErrClosed, output{stderr: "memshim: no room\nmore\n"}),
		"m: "+ErrModel.Error()+": file already closed no room")
	assert.EqualError(t, runFailed("m", os.ErrClosed, output{stderr: "Traceback\nValueError: x\n"}),
		"m: "+ErrModel.Error()+": file already closed ValueError: x")
	assert.Equal(t, ErrModel.Error(), (&RunError{Case: "m", Kind: ErrModel}).Why())
}

// TestColumnOfATable: what was measured on a pretend GPU is called so.
func TestColumnOfATable(t *testing.T) {
	for where, want := range map[recording.Where]string{recording.OnPretend: "pretend", recording.OnCUDA: "measured"} {
		var b strings.Builder
		c := &Comparison{Where: where, Rows: []Row{{Phase: "first", Metric: "allocated", Predicted: 100, Measured: 90},
			{Phase: "steady", Metric: "reserved", Predicted: 100, Measured: 101}}}
		require.NoError(t, c.WriteTable(&b))
		lines := strings.Split(b.String(), "\n")
		assert.Equal(t, []string{"predicted", want, "difference", "%"}, strings.Fields(lines[0]))
		assert.NotContains(t, lines[1], "UNDER")
		assert.Contains(t, lines[2], "UNDER")
	}
}
