package cudameasure

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/units"
)

// Device is one GPU as its driver describes it.
type Device struct {
	Index             int    `json:"index"` // by PCI bus, as nvidia-smi counts
	Name              string `json:"name"`
	UUID              string `json:"uuid"`
	ComputeCapability string `json:"compute_capability"`
	// that CUDA can hand out; nvidia-smi states it in whole MiB, and 0 where a GPU shares the
	// machine's
	Total units.Bytes `json:"total"`
}

// What can be wrong with a machine's GPUs. Errors of Devices wrap one of them.
var (
	ErrNoDriver  = errors.New("no NVIDIA driver")
	ErrNoDevice  = errors.New("no CUDA device")
	ErrOldDriver = errors.New("the NVIDIA driver is too old")
	ErrHangs     = errors.New("no answer in time")
	ErrDriver    = errors.New("the NVIDIA driver fails")
)

// DeviceError is a question about devices that got no answer. Kind is one of the errors above.
type DeviceError struct {
	Kind error
	By   string // who was asked: cudaprobe or nvidia-smi
	Said string // the first line it said, as it said it
}

func (e *DeviceError) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("%v (%s)", e.Kind, e.By)
	}
	return fmt.Sprintf("%v (%s: %s)", e.Kind, e.By, e.Said)
}

func (e *DeviceError) Unwrap() error { return e.Kind }

// Devices lists the GPUs of this machine, all of them, whatever CUDA_VISIBLE_DEVICES says. There is
// at least one, or an error. It asks cudaprobe where there is one, else nvidia-smi.
func (t *Tools) Devices(ctx context.Context) ([]Device, error) {
	if t.Probe != "" {
		return t.askProbe(ctx)
	}
	return t.askSMI(ctx)
}

const (
	byProbe = "cudaprobe"
	bySMI   = "nvidia-smi"

	oldestCUDA      = 11000 // cudaprobe is built with CUDA 11.8, which runs on every driver of CUDA 11 and later
	commandNotFound = 127   // the dynamic linker's status where a library or one of its functions is missing
)

func (t *Tools) askProbe(ctx context.Context) ([]Device, error) {
	out, err := t.ask(ctx, t.Probe)
	if err != nil {
		return nil, t.failed(err, byProbe, out)
	}
	if out.status != 0 {
		return nil, &DeviceError{Kind: probeError(out), By: byProbe, Said: out.firstLine()}
	}
	var a struct {
		Schema  int
		CUDA    int
		Devices []Device
	}
	if err := json.Unmarshal([]byte(out.stdout), &a); err != nil || a.Schema != 1 {
		return nil, &DeviceError{Kind: ErrDriver, By: byProbe, Said: "got an answer that is not cudaprobe's: " +
			out.firstLine()}
	}
	if a.CUDA < oldestCUDA {
		said := fmt.Sprintf("got a driver of CUDA %d.%d, want %d or newer", a.CUDA/1000, a.CUDA%1000/10,
			oldestCUDA/1000)
		return nil, &DeviceError{Kind: ErrOldDriver, By: byProbe, Said: said}
	}
	if len(a.Devices) == 0 {
		return nil, &DeviceError{Kind: ErrNoDevice, By: byProbe}
	}
	return a.Devices, nil
}

// probeError reads how cudaprobe ended: the dynamic linker's words, or those of gorgonia.org/cu's
// init, which name the CUresult.
func probeError(out output) error {
	text := out.stdout + out.stderr
	switch {
	case out.status == commandNotFound && strings.Contains(text, "libcuda.so") && strings.Contains(text, "cannot open"):
		return ErrNoDriver
	case out.status == commandNotFound: // symbol lookup error: the driver lacks a function
		return ErrOldDriver
	case strings.Contains(text, ": NoDevice"):
		return ErrNoDevice
	case strings.Contains(text, ": SystemDriverMismatch"), strings.Contains(text, ": CompatNotSupportedOnDevice"),
		strings.Contains(text, "UnknownErrorCode:804"):
		return ErrOldDriver
	}
	return ErrDriver
}

// What nvidia-smi is asked. memory.reserved came with release 510, as did compute_cap.
const smiFields = "index,name,uuid,compute_cap,memory.total,memory.reserved"

func (t *Tools) askSMI(ctx context.Context) ([]Device, error) {
	rows, err := t.query(ctx, smiFields)
	if err != nil {
		return nil, err
	}
	devices := make([]Device, len(rows))
	for i, r := range rows {
		if devices[i], err = smiDevice(r); err != nil {
			return nil, &DeviceError{Kind: ErrDriver, By: bySMI, Said: err.Error()}
		}
	}
	return devices, nil
}

// smiDevice reads a row of smiFields. What the driver keeps for itself CUDA does not hand out.
func smiDevice(r []string) (Device, error) {
	index, err1 := strconv.Atoi(r[0])
	total, err2 := mebibytes(r[4])
	kept, err3 := mebibytes(r[5])
	if unreported(r[4]) && unreported(r[5]) { // a GPU that shares the machine's memory (GB10, Orin) has none to report
		total, kept, err2, err3 = 0, 0, nil, nil
	}
	if err := errors.Join(err1, err2, err3); err != nil || kept > total {
		return Device{}, fmt.Errorf("got %q, want index, name, UUID, capability and two sizes in MiB",
			strings.Join(r, ", "))
	}
	return Device{Index: index, Name: r[1], UUID: r[2], ComputeCapability: r[3], Total: total - kept}, nil
}

// unreported is a cell that the driver leaves open, in the words of old releases and new.
func unreported(cell string) bool {
	return cell == "[N/A]" || cell == "N/A" || cell == "[Not Supported]"
}

func mebibytes(s string) (units.Bytes, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("got %q, want a size in MiB", s)
	}
	return units.MiB.Mul(int64(n)), nil
}

func query(fields string) []string {
	return []string{"--query-gpu=" + fields, "--format=csv,noheader,nounits"}
}

// query is nvidia-smi's answer: a row a GPU, a cell a field.
func (t *Tools) query(ctx context.Context, fields string) ([][]string, error) {
	if t.SMI == "" {
		return nil, &DeviceError{Kind: ErrNoDriver, By: bySMI, Said: "got no nvidia-smi on PATH"}
	}
	out, err := t.ask(ctx, t.SMI, query(fields)...)
	if err != nil {
		return nil, t.failed(err, bySMI, out)
	}
	if kind := smiError(out); kind != nil {
		return nil, &DeviceError{Kind: kind, By: bySMI, Said: out.firstLine()}
	}
	r := csv.NewReader(strings.NewReader(out.stdout))
	r.FieldsPerRecord, r.TrimLeadingSpace = strings.Count(fields, ",")+1, true
	rows, err := r.ReadAll()
	if err != nil {
		return nil, &DeviceError{Kind: ErrDriver, By: bySMI, Said: err.Error()}
	}
	if len(rows) == 0 {
		return nil, &DeviceError{Kind: ErrNoDevice, By: bySMI}
	}
	for _, row := range rows {
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
	}
	return rows, nil
}

// nvidia-smi's statuses (its manual, RETURN VALUE) that say what is wrong.
const (
	smiNoObject  = 6  // a query to find an object was unsuccessful
	smiNoDriver  = 9  // NVIDIA driver is not loaded
	smiNoLibrary = 12 // NVML shared library could not be found or loaded
	smiNoSymbol  = 13 // local version of NVML does not implement this function
)

// smiError reads how nvidia-smi ended, nil where it answered. It says some things on stdout with
// status 0.
func smiError(out output) error {
	text := out.stdout + out.stderr
	switch {
	case strings.Contains(text, "No devices were found"), strings.Contains(text, "No supported GPUs were found"),
		out.status == smiNoObject:
		return ErrNoDevice
	case strings.Contains(text, "is not a valid field to query"),
		strings.Contains(text, "Driver/library version mismatch"), out.status == smiNoSymbol:
		return ErrOldDriver
	case strings.Contains(text, "couldn't communicate with the NVIDIA driver"), out.status == smiNoDriver,
		out.status == smiNoLibrary:
		return ErrNoDriver
	case out.status != 0:
		return ErrDriver
	}
	return nil
}

// failed is a child that could not be started or did not end by itself.
func (t *Tools) failed(err error, by string, out output) error {
	switch {
	case errors.Is(err, errTimeout):
		return &DeviceError{Kind: ErrHangs, By: by, Said: err.Error()}
	case errors.Is(err, exec.ErrNotFound):
		return &DeviceError{Kind: ErrNoDriver, By: by, Said: err.Error()}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return &DeviceError{Kind: ErrDriver, By: by, Said: strings.TrimSpace(err.Error() + " " + out.firstLine())}
}
