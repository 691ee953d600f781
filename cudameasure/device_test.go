package cudameasure

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
)

var (
	standInA = Device{Index: 0, Name: "Stand-in A", UUID: "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0",
		ComputeCapability: "7.5", Total: 14918 * units.MiB}
	standInB = Device{Index: 1, Name: "Stand-in B", UUID: "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1",
		ComputeCapability: "8.9", Total: 22478 * units.MiB}
)

// script writes a program of the shell.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755))
	return path
}

// says is a program that prints a text and ends with a status.
func says(t *testing.T, text string, status int) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return script(t, fmt.Sprintf("cat '%s'\nexit %d", file, status))
}

func TestDevicesByNvidiaSMI(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/nvidia-smi.txtar")
	require.NoError(t, err)
	shared := standInA // it has no own memory
	shared.Total = 0
	wants := map[string]struct {
		devices []Device
		kind    error
		text    string
	}{
		"one": {devices: []Device{standInA}},
		"two": {devices: []Device{standInA, standInB}},
		"no-driver": {kind: ErrNoDriver, text: "no NVIDIA driver (nvidia-smi: NVIDIA-SMI has failed because " +
			"it couldn't communicate"},
		"no-library": {kind: ErrNoDriver, text: "no NVIDIA driver (nvidia-smi: NVIDIA-SMI couldn't find " +
			"libnvidia-ml.so"},
		"no-device":               {kind: ErrNoDevice, text: "no CUDA device (nvidia-smi: No devices were found)"},
		"no-device-said-politely": {kind: ErrNoDevice, text: "no CUDA device (nvidia-smi: No devices were found)"},
		"no-supported": {kind: ErrNoDevice, text: "no CUDA device (nvidia-smi: Failed to initialize NVML: No " +
			"supported GPUs were found)"},
		"not-stated": {devices: []Device{shared}},
		"old-driver": {kind: ErrOldDriver,
			text: `the NVIDIA driver is too old (nvidia-smi: Field "compute_cap" is not a valid field to query.)`},
		"mismatch": {kind: ErrOldDriver, text: "the NVIDIA driver is too old (nvidia-smi: Failed to " +
			"initialize NVML: Driver/library version mismatch)"},
		"lost": {kind: ErrDriver, text: "the NVIDIA driver fails (nvidia-smi: Unable to determine the " +
			"device handle"},
		"not-available": {devices: []Device{shared}},
		"half-stated":   {kind: ErrDriver, text: `the NVIDIA driver fails (nvidia-smi: got "0, Stand-in A, GPU-`},
		"empty":         {kind: ErrNoDevice, text: "no CUDA device (nvidia-smi)"},
	}
	require.Len(t, archive.Files, len(wants))
	for _, f := range archive.Files {
		var name string
		var status int
		_, err := fmt.Sscanf(f.Name, "%s %d", &name, &status)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			want, known := wants[name]
			require.True(t, known)
			tools := Tools{SMI: says(t, string(f.Data), status)}
			got, err := tools.Devices(context.Background())
			assertDevices(t, want.devices, got)
			assertKind(t, want.kind, want.text, err)
		})
	}
}

func assertDevices(t *testing.T, want, got []Device) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("devices (-want +got):\n%s", d)
	}
}

func assertKind(t *testing.T, kind error, text string, err error) {
	t.Helper()
	if kind == nil {
		require.NoError(t, err)
		return
	}
	var typed *DeviceError
	require.ErrorAs(t, err, &typed)
	require.ErrorIs(t, err, kind)
	assert.Contains(t, err.Error(), text)
	assert.NotContains(t, err.Error(), "\n")
}

func TestNoNvidiaSMIIsNoDriver(t *testing.T) {
	tools := Tools{}
	_, err := tools.Devices(context.Background())
	assertKind(t, ErrNoDriver, "no NVIDIA driver (nvidia-smi: got no nvidia-smi on PATH)", err)
	tools.Probe = filepath.Join(t.TempDir(), "cudaprobe")
	_, err = tools.Devices(context.Background())
	assertKind(t, ErrDriver, "no such file or directory", err)
}

// A child that hangs is ended with everything it started.
func TestDevicesThatHang(t *testing.T) {
	for _, tools := range []Tools{{SMI: script(t, "sleep 86400 & wait")}, {Probe: script(t, "sleep 86400 & wait")}} {
		tools.Answer = 100 * time.Millisecond
		_, err := tools.Devices(context.Background())
		assertKind(t, ErrHangs, "no answer in time", err)
		assert.Contains(t, err.Error(), "program: ended after its time limit of 100ms")
	}
}

func TestDevicesAreCanceled(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	tools := Tools{SMI: script(t, "sleep 60")}
	_, err := tools.Devices(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NotErrorIs(t, err, ErrHangs, "the caller's own limit is no answer about the device")
}

// The probe's ways of ending, by text alone: these need no C compiler.
func TestDevicesByProbeText(t *testing.T) {
	for _, c := range []struct {
		name, text string
		status     int
		kind       error
		want       string
	}{
		{"no driver", "cudaprobe: error while loading shared libraries: libcuda.so.1: cannot open shared object file: No " +
			"such file or directory", 127,
			ErrNoDriver, "no NVIDIA driver (cudaprobe: cudaprobe: error while loading"},
		{"a driver without a function", "cudaprobe: symbol lookup error: cudaprobe: undefined symbol: cuDeviceGetUuid", 127,
			ErrOldDriver, "undefined symbol"},
		{"another program", "hello", 0, ErrDriver, "got an answer that is not cudaprobe's: hello"},
		{"another schema", `{"schema":2}`, 0, ErrDriver, "not cudaprobe's"},
		{"no devices", `{"schema":1,"cuda":12040,"devices":[]}`, 0, ErrNoDevice, "no CUDA device (cudaprobe)"},
		{"an old driver", `{"schema":1,"cuda":10020,"devices":[]}`, 0, ErrOldDriver, "got a driver of CUDA 10.2, want 11 " +
			"or newer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := Tools{Probe: says(t, c.text, c.status), SMI: says(t, "0, X, GPU-0, 7.5, 1, 0", 0)}
			_, err := tools.Devices(context.Background())
			assertKind(t, c.kind, c.want, err)
		})
	}
}

// The probe itself, built with cgo, on the stub driver. It gives what nvidia-smi gives.
func TestDevicesByProbe(t *testing.T) {
	probe, driver := buildProbe(t)
	for _, c := range []struct {
		mode    string
		devices []Device
		kind    error
		want    string
	}{
		{"", []Device{standInA}, nil, ""},
		{"two", []Device{standInA, standInB}, nil, ""},
		{"none", nil, ErrNoDevice, "no CUDA device (cudaprobe: Error in initialization"},
		{"mismatch", nil, ErrOldDriver, "SystemDriverMismatch"},
		{"old", nil, ErrOldDriver, "got a driver of CUDA 10.2, want 11 or newer"},
		{"broken", nil, ErrDriver, "the NVIDIA driver fails (cudaprobe: cudaprobe: device 0: cuDeviceTotalMem: Unknown)"},
		{"hang", nil, ErrHangs, "ended after its time limit of 2s"},
	} {
		t.Run("mode "+c.mode, func(t *testing.T) {
			t.Setenv("LD_LIBRARY_PATH", driver)
			t.Setenv("FAKECUDA", c.mode)
			tools := Tools{Probe: probe, Answer: 2 * time.Second}
			got, err := tools.Devices(context.Background())
			assertDevices(t, c.devices, got)
			assertKind(t, c.kind, c.want, err)
		})
	}
	t.Run("a driver that lacks what the probe does not ask", func(t *testing.T) {
		t.Setenv("LD_LIBRARY_PATH", oldDriver(t))
		tools := Tools{Probe: probe}
		got, err := tools.Devices(context.Background())
		assertDevices(t, []Device{standInA}, got)
		assertKind(t, nil, "", err)
	})
	t.Run("a driver that lacks what it asks", func(t *testing.T) {
		t.Setenv("LD_LIBRARY_PATH", oldDriver(t, "-DNO_UUID"))
		tools := Tools{Probe: probe}
		_, err := tools.Devices(context.Background())
		assertKind(t, ErrOldDriver, "undefined symbol: cuDeviceGetUuid", err)
	})
	t.Run("memory in use", func(t *testing.T) { // by cu.MemInfo
		t.Setenv("LD_LIBRARY_PATH", driver)
		t.Setenv("FAKECUDA", "two")
		tools := Tools{Probe: probe}
		stop := tools.sample(context.Background())
		time.Sleep(3 * sampleEvery)
		seen := stop()
		require.Len(t, seen, 2)
		assert.Equal(t, []units.Bytes{100 * MiB, 200 * MiB}, []units.Bytes{seen[standInA.UUID].Before,
			seen[standInB.UUID].Before})
		assert.GreaterOrEqual(t, seen[standInA.UUID].Rise(), 7*MiB)
		assert.Greater(t, seen[standInB.UUID].Samples, 1)
		t.Setenv("FAKECUDA", "none")
		assert.Nil(t, tools.sample(context.Background())())
	})
	t.Run("it loads the driver alone", func(t *testing.T) {
		f, err := elf.Open(probe)
		require.NoError(t, err)
		defer f.Close()
		libraries, err := f.ImportedLibraries()
		require.NoError(t, err)
		assert.Contains(t, libraries, "libcuda.so.1")
		for _, l := range libraries {
			assert.NotContains(t, l, "cudart", "a binary built once runs with every newer driver")
		}
	})
	t.Run("no driver at all", func(t *testing.T) {
		if out, err := exec.Command("ldconfig", "-p").Output(); err == nil && strings.Contains(string(out), "libcuda.so.1") {
			t.Skip("this machine has a driver")
		}
		t.Setenv("LD_LIBRARY_PATH", "")
		tools := Tools{Probe: probe}
		_, err := tools.Devices(context.Background())
		assertKind(t, ErrNoDriver, "libcuda.so.1: cannot open shared object file", err)
	})
}

// oldDriver is a stub driver of the functions in fakecuda.c and no others.
func oldDriver(t *testing.T, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	args := append(flags, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", filepath.Join(dir, "libcuda.so.1"),
		"testdata/fakecuda.c")
	out, err := exec.Command("cc", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// buildProbe builds cudaprobe and the stub driver: by cgo, which takes a C compiler, CUDA's headers
// and more time than all other tests of the package.
func buildProbe(t *testing.T) (probe, driver string) {
	t.Helper()
	if os.Getenv("MEMSPEC_PROBE_TESTS") == "" {
		t.Skip("builds cudaprobe: make probe, or MEMSPEC_PROBE_TESTS=1 go test ./cudameasure")
	}
	dir := t.TempDir()
	fake, err := filepath.Abs("testdata/fakecuda.c")
	require.NoError(t, err)
	probe, driver = filepath.Join(dir, "cudaprobe"), filepath.Join(dir, "driver")
	cmd := exec.Command("cudaprobe/build.sh", probe, fake, driver)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return probe, driver
}

// TestSameDevice: a recording's GPU is the case's by what it computes with, where that is reported,
// else by its memory.
func TestSameDevice(t *testing.T) {
	d, err := device.Lookup("t4")
	require.NoError(t, err)
	p, err := platform.New(d, platform.Newest())
	require.NoError(t, err)
	c := &spec.Case{Platform: p}
	capability, other, total, more := d.ComputeCapability.String(), "12.7", d.Memory, 4*d.Memory
	for _, tt := range []struct {
		why  string
		d    recording.Device
		want bool
	}{
		{"all the same", recording.Device{ComputeCapability: capability, SMs: d.SMs, Total: &total}, true},
		{"with more memory", recording.Device{ComputeCapability: capability, SMs: d.SMs, Total: &more}, true},
		{"of another capability", recording.Device{ComputeCapability: other, SMs: d.SMs, Total: &total}, false},
		{"of more multiprocessors", recording.Device{ComputeCapability: capability, SMs: d.SMs + 1, Total: &total}, false},
		{"its memory alone", recording.Device{ComputeCapability: capability, Total: &total}, true},
		{"of more memory", recording.Device{ComputeCapability: capability, Total: &more}, false},
		{"its memory, with another capability", recording.Device{ComputeCapability: other, Total: &total}, false},
		{"nothing but the capability", recording.Device{ComputeCapability: capability}, false},
	} {
		assert.Equal(t, tt.want, sameDevice(c, &tt.d), tt.why)
	}
}

// TestMostRisen: of several GPUs the one whose memory rose most, of equals the first by name; one
// that did not rise is none.
func TestMostRisen(t *testing.T) {
	of := func(uuid string, before, most units.Bytes) *Sampled {
		return &Sampled{UUID: uuid, Before: before, Most: most}
	}
	for _, tt := range []struct {
		why  string
		seen []*Sampled
		want string
	}{
		{"none", nil, ""},
		{"one that stayed", []*Sampled{of("a", 5, 5)}, ""},
		{"one that fell", []*Sampled{of("a", 5, 4)}, ""},
		{"one that rose", []*Sampled{of("a", 5, 6)}, "a"},
		{"the rise counts, not what there is", []*Sampled{of("a", 50, 51), of("b", 0, 2)}, "b"},
		{"of equals the first by name", []*Sampled{of("c", 0, 2), of("b", 1, 3), of("d", 0, 2)}, "b"},
		{"a name does not go before a rise", []*Sampled{of("a", 0, 1), of("b", 0, 3), of("c", 0, 2)}, "b"},
	} {
		for range 20 { // a map comes in any order
			seen := map[string]*Sampled{}
			for _, s := range tt.seen {
				seen[s.UUID] = s
			}
			got := ""
			if most := mostRisen(seen); most != nil {
				got = most.UUID
			}
			assert.Equal(t, tt.want, got, tt.why)
		}
	}
}

// A case is measured on the first GPU of its kind: one of its capability and memory.
func TestDeviceOf(t *testing.T) {
	d, err := device.Lookup("t4")
	require.NoError(t, err)
	c := &spec.Case{}
	c.Platform.Device = d
	of := func(index int, capability string, total units.Bytes) Device {
		return Device{Index: index, ComputeCapability: capability, Total: total}
	}
	got, ok := DeviceOf(c, []Device{of(0, "8.6", d.Memory), of(1, "7.5", 2*d.Memory), of(2, "7.5", d.Memory),
		of(3, "7.5", d.Memory)})
	assert.True(t, ok)
	assert.Equal(t, 2, got.Index)
	_, ok = DeviceOf(c, []Device{of(0, "8.6", d.Memory), of(1, "7.5", 2*d.Memory)})
	assert.False(t, ok)
}

// What nvidia-smi writes that is no table, and a device's memory where nobody reports it.
func TestOddAnswers(t *testing.T) {
	const fails = "the NVIDIA driver fails (nvidia-smi: "
	for text, want := range map[string]string{
		"0, A, GPU-0, 7.5, 1, 0\n1, B, GPU-1\n": fails + "record on line 2: wrong number of fields)",
		"0, \"A, GPU-0, 7.5, 1, 0\n":            fails,
		"0, A, GPU-0, 7.5, 1, 2\n":              "want index, name, UUID, capability and two sizes in MiB",
		"x, A, GPU-0, 7.5, 1, 0\n":              "want index, name, UUID, capability and two sizes in MiB",
	} {
		tools := Tools{SMI: says(t, text, 0)}
		_, err := tools.Devices(context.Background())
		assertKind(t, ErrDriver, want, err)
	}
	tools := Tools{}
	for _, err := range []error{context.Canceled, context.DeadlineExceeded} {
		assert.Equal(t, err, tools.failed(err, bySMI, output{}))
	}
	assertKind(t, ErrNoDriver, "no NVIDIA driver (nvidia-smi: ", tools.failed(exec.ErrNotFound, bySMI, output{}))
	assertKind(t, ErrDriver, "the NVIDIA driver fails (cudaprobe: no such program x)",
		tools.failed(errors.New("no such program"), byProbe, output{stdout: "x\ny"}))

	assert.Nil(t, tools.sample(context.Background())(), "neither program")
	tools.SMI = filepath.Join(t.TempDir(), "none")
	assert.Nil(t, tools.sample(context.Background())(), "no such program")
	tools = Tools{SMI: says(t, "GPU-0, [N/A]\nnothing\n", 0), Answer: time.Second}
	assert.Nil(t, tools.sample(context.Background())(), "no row with a size")
	tools.SMI = says(t, "GPU-0, 3\nGPU-1, [N/A]\nGPU-0, 9\nGPU-0, 5\n", 0)
	seen := tools.sample(context.Background())()
	assert.Equal(t, map[string]*Sampled{"GPU-0": {UUID: "GPU-0", Before: 3 * MiB, Most: 9 * MiB, Samples: 3}}, seen)
}
