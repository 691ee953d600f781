//go:build cuda

// Command cudaprobe prints what the CUDA driver says of this machine's GPUs, as JSON on one line.
//
// It is a separate program, and the only importer of gorgonia.org/cu: that package's init calls
// cuInit and ends the process with status 1 where there is no device. It makes no context, so
// asking takes no device memory. The numbers are the driver's; nothing is judged here.
//
// cudaprobe -memory says what is in use of each device, again and again: a line "UUID, MiB" each,
// as nvidia-smi's memory.used. CUDA says that inside a context alone, which takes its own memory
// for as long; the first lines are reported with it there.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"gorgonia.org/cu"
)

// every is how often memory is reported.
const every = 100 * time.Millisecond

type answer struct {
	Schema  int      `json:"schema"`
	CUDA    int      `json:"cuda"` // as cuDriverGetVersion: 12040 for 12.4
	Devices []device `json:"devices"`
}

type device struct {
	Index             int    `json:"index"`
	Name              string `json:"name"`
	UUID              string `json:"uuid"`
	ComputeCapability string `json:"compute_capability"`
	Total             int64  `json:"total"`
}

func main() {
	if len(os.Args) > 1 {
		if len(os.Args) > 2 || os.Args[1] != "-memory" {
			fmt.Fprintf(os.Stderr, "cudaprobe: got %q, want nothing or -memory\n", os.Args[1:])
			os.Exit(2)
		}
		if err := printMemory(); err != nil {
			fmt.Fprintf(os.Stderr, "cudaprobe: %v\n", err)
			os.Exit(1)
		}
		return
	}
	a := answer{Schema: 1, CUDA: cu.Version(), Devices: []device{}}
	if err := a.ask(); err != nil {
		fmt.Fprintf(os.Stderr, "cudaprobe: %v\n", err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		fmt.Fprintf(os.Stderr, "cudaprobe: %v\n", err)
		os.Exit(1)
	}
}

func (a *answer) ask() error {
	n, err := cu.NumDevices()
	if err != nil {
		return fmt.Errorf("cuDeviceGetCount: %w", err)
	}
	for i := range n {
		d, err := describe(i)
		if err != nil {
			return fmt.Errorf("device %d: %w", i, err)
		}
		a.Devices = append(a.Devices, d)
	}
	return nil
}

func describe(i int) (device, error) {
	out := device{Index: i}
	d, err := cu.GetDevice(i)
	if err != nil {
		return out, fmt.Errorf("cuDeviceGet: %w", err)
	}
	if out.Name, err = d.Name(); err != nil {
		return out, fmt.Errorf("cuDeviceGetName: %w", err)
	}
	id, err := d.UUID()
	if err != nil {
		return out, fmt.Errorf("cuDeviceGetUuid: %w", err)
	}
	out.UUID = "GPU-" + id.String()
	if out.Total, err = d.TotalMem(); err != nil {
		return out, fmt.Errorf("cuDeviceTotalMem: %w", err)
	}
	major, err := d.Attribute(cu.ComputeCapabilityMajor)
	if err != nil {
		return out, fmt.Errorf("cuDeviceGetAttribute: %w", err)
	}
	minor, err := d.Attribute(cu.ComputeCapabilityMinor)
	if err != nil {
		return out, fmt.Errorf("cuDeviceGetAttribute: %w", err)
	}
	out.ComputeCapability = fmt.Sprintf("%d.%d", major, minor)
	return out, nil
}

// printMemory goes on until it cannot write: whoever reads has gone.
func printMemory() error {
	runtime.LockOSThread() // contexts are a thread's
	n, err := cu.NumDevices()
	if err != nil {
		return fmt.Errorf("cuDeviceGetCount: %w", err)
	}
	uuids, contexts := make([]string, n), make([]cu.CUContext, n)
	for i := range n {
		d, err := describe(i)
		if err != nil {
			return fmt.Errorf("device %d: %w", i, err)
		}
		uuids[i] = d.UUID
		if contexts[i], err = cu.Device(i).RetainPrimaryCtx(); err != nil {
			return fmt.Errorf("device %d: cuDevicePrimaryCtxRetain: %w", i, err)
		}
	}
	for {
		for i := range n {
			if err := cu.SetCurrentContext(contexts[i]); err != nil {
				return fmt.Errorf("device %d: cuCtxSetCurrent: %w", i, err)
			}
			free, total, err := cu.MemInfo()
			if err != nil {
				return fmt.Errorf("device %d: cuMemGetInfo: %w", i, err)
			}
			if _, err := fmt.Printf("%s, %d\n", uuids[i], (total-free)>>20); err != nil {
				return nil
			}
		}
		time.Sleep(every)
	}
}
