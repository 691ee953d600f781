//go:build cuda

// Command cudaprobe prints what the CUDA driver says of this machine's GPUs, as JSON on one line.
//
// It is a program of its own, and the only importer of gorgonia.org/cu: that package's init calls cuInit and ends the process with status 1
// where there is no device. It makes no context, so asking takes no device memory. The numbers are the driver's; nothing is judged here.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"gorgonia.org/cu"
)

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
