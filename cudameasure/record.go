package cudameasure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
)

// Schema numbers the form of a record: pyshim/src/memshim/schemas/measurement.schema.json.
const Schema = 1

// Where a record was made.
const (
	OnCUDA = "cuda"
	OnCPU  = "cpu" // storages of CPU tensors, never to be compared with an allocator's numbers
)

// Measurement is what one case took when it was really run. Its fields are the record's; Device memory is beside it.
type Measurement struct {
	Schema          int            `json:"schema"`
	Case            string         `json:"case"`
	Runtime         string         `json:"runtime"`
	Where           string         `json:"where"`
	Built           string         `json:"built"` // from what: artifact, source, …
	Device          RecordedDevice `json:"device"`
	Torch           string         `json:"torch"`
	CUDA            string         `json:"cuda"`
	CuDNN           string         `json:"cudnn"`
	Mode            string         `json:"mode"`
	AllocConf       string         `json:"alloc_conf"`
	CublasWorkspace string         `json:"cublas_workspace"`
	MemoryFraction  float64        `json:"memory_fraction"`
	Flags           Flags          `json:"flags"`
	Grad            string         `json:"grad"`
	Autocast        string         `json:"autocast"`
	DType           string         `json:"dtype"`
	Inputs          []string       `json:"inputs"` // in the grammar of memspec --input
	Artifact        string         `json:"artifact"`
	Source          string         `json:"source"`
	Weights         units.Bytes    `json:"weights"` // of parameters' and buffers' storages
	Phases          []Phase        `json:"phases"`  // baseline, first, steady, as far as the run came
	Context         *units.Bytes   `json:"context"` // device memory of the process outside the allocator; nil where it cannot be told
	OOM             *OutOfMemory   `json:"oom"`
	Events          []Event        `json:"events"`
	Stacks          [][]int        `json:"stacks"` // indices of Frames, innermost first
	Frames          []Frame        `json:"frames"`

	Sampled *Sampled `json:"-"` // of the device while the case ran; nil in a record that was read, and where nvidia-smi cannot be asked
	File    string   `json:"-"` // it was read from
}

// RecordedDevice is what the case ran on.
type RecordedDevice struct {
	Name              string       `json:"name"` // as the driver gives it; cpu for none
	Total             *units.Bytes `json:"total"`
	ComputeCapability string       `json:"compute_capability"`
	Driver            string       `json:"driver"` // empty where it cannot be told
}

// Flags are PyTorch's.
type Flags struct {
	TF32Matmul    bool `json:"tf32_matmul"`
	TF32CuDNN     bool `json:"tf32_cudnn"`
	Benchmark     bool `json:"benchmark"`
	Deterministic bool `json:"deterministic"`
	CuDNNv7       bool `json:"cudnn_v7,omitempty"` // TORCH_CUDNN_V8_API_DISABLED=1
}

// Phase is what was held before the first pass (baseline), or the peaks of a pass. On CPU tensors there is only Requested.
type Phase struct {
	Name          string       `json:"name"`
	Requested     units.Bytes  `json:"requested"`
	Allocated     *units.Bytes `json:"allocated"`
	Reserved      *units.Bytes `json:"reserved"`
	Active        *units.Bytes `json:"active"`
	InactiveSplit *units.Bytes `json:"inactive_split"`
	Events        int          `json:"events"` // how many there were at its end
}

// OutOfMemory is the pass that the device had no memory for.
type OutOfMemory struct {
	Phase string `json:"phase"`
	Text  string `json:"text"`
}

// Event is one action of the allocator, in PyTorch's words, or a storage's birth or death.
type Event struct {
	Action string      `json:"action"`
	Key    uint64      `json:"key"` // cuda: an address (oom: free device memory); cpu: the storage's number
	Size   units.Bytes `json:"size"`
	Stream uint64      `json:"stream,omitempty"`
	Op     string      `json:"op,omitempty"`
	Stack  *int        `json:"stack,omitempty"` // an index of Stacks
}

// Frame is a place in source code.
type Frame struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function"`
}

// Read reads a record's file.
func Read(path string) (*Measurement, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m.File = path
	return m, nil
}

// Parse reads a record.
func Parse(data []byte) (*Measurement, error) {
	var head struct{ Schema *int }
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("got no measurement record: %w", err)
	}
	if head.Schema == nil || *head.Schema != Schema {
		return nil, fmt.Errorf("got no measurement record of schema %d", Schema)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var m Measurement
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("got no measurement record: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("got something after the record")
	}
	return &m, m.check()
}

var phaseNames = []string{"baseline", "first", "steady"}

// check says what a record may not say.
func (m *Measurement) check() error {
	switch {
	case m.Where != OnCUDA && m.Where != OnCPU:
		return fmt.Errorf("got where %q, want cuda or cpu", m.Where)
	case m.Case == "":
		return errors.New("got no case")
	case len(m.Phases) == 0 || len(m.Phases) > len(phaseNames):
		return fmt.Errorf("got %d phases, want 1 to %d", len(m.Phases), len(phaseNames))
	case m.OOM != nil && !slices.Contains(phaseNames[1:], m.OOM.Phase):
		return fmt.Errorf("got oom in phase %q, want first or steady", m.OOM.Phase)
	case m.OOM == nil && m.Where == OnCUDA && len(m.Phases) != len(phaseNames):
		return fmt.Errorf("got %d phases of a run that came to its end, want %d", len(m.Phases), len(phaseNames))
	case m.Weights < 0 || m.Context != nil && *m.Context < 0:
		return errors.New("got a size below 0")
	}
	for i := range m.Phases {
		if err := m.checkPhase(i); err != nil {
			return fmt.Errorf("phase %d: %w", i, err)
		}
	}
	return m.checkEvents()
}

func (m *Measurement) checkPhase(i int) error {
	p := &m.Phases[i]
	if p.Name != phaseNames[i] {
		return fmt.Errorf("got %q, want %s", p.Name, phaseNames[i])
	}
	if p.Requested < 0 {
		return errors.New("got a size below 0")
	}
	if p.Events < 0 || p.Events > len(m.Events) || i > 0 && p.Events < m.Phases[i-1].Events {
		return fmt.Errorf("got it ended by event %d of %d", p.Events, len(m.Events))
	}
	for _, s := range []*units.Bytes{p.Allocated, p.Reserved, p.Active, p.InactiveSplit} {
		switch {
		case m.Where == OnCPU && s != nil:
			return errors.New("got an allocator's number in a record on CPU tensors")
		case m.Where == OnCUDA && s == nil:
			return errors.New("got no number of the allocator in a record on CUDA")
		case s != nil && *s < 0:
			return errors.New("got a size below 0")
		}
	}
	return nil
}

func (m *Measurement) checkEvents() error {
	for i := range m.Events {
		e := &m.Events[i]
		if e.Size < 0 {
			return fmt.Errorf("event %d: got a size below 0", i)
		}
		if e.Stack != nil && (*e.Stack < 0 || *e.Stack >= len(m.Stacks)) {
			return fmt.Errorf("event %d: got stack %d of %d", i, *e.Stack, len(m.Stacks))
		}
	}
	for i, s := range m.Stacks {
		for _, f := range s {
			if f < 0 || f >= len(m.Frames) {
				return fmt.Errorf("stack %d: got frame %d of %d", i, f, len(m.Frames))
			}
		}
	}
	return nil
}

// ReadFolder reads every .json file of a folder, by name. Folders in it are not entered.
func ReadFolder(dir string) ([]*Measurement, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []*Measurement
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".json") || strings.HasPrefix(e.Name(), ".") || e.Type()&fs.ModeIrregular != 0 {
			continue
		}
		m, err := Read(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// phase is the one of that name, nil where the run did not come to it.
func (m *Measurement) phase(name string) *Phase {
	for i := range m.Phases {
		if m.Phases[i].Name == name {
			return &m.Phases[i]
		}
	}
	return nil
}

// peakOf is the most over the run; false where a phase has no such number.
func (m *Measurement) peakOf(size func(*Phase) *units.Bytes) (units.Bytes, bool) {
	var most units.Bytes
	for i := range m.Phases {
		s := size(&m.Phases[i])
		if s == nil {
			return 0, false
		}
		most = max(most, *s)
	}
	return most, len(m.Phases) > 0
}

func allocated(p *Phase) *units.Bytes { return p.Allocated }
func reserved(p *Phase) *units.Bytes  { return p.Reserved }
func requested(p *Phase) *units.Bytes { return &p.Requested }

// Value is a metric as measured; false where it was not, as on CPU tensors every one but the weights.
func (m *Measurement) Value(metric report.Metric) (units.Bytes, bool) {
	switch metric {
	case report.Weights:
		return m.Weights, true
	case report.Allocated:
		return m.peakOf(allocated)
	case report.Reserved:
		return m.peakOf(reserved)
	case report.Delta:
		peak, ok := m.peakOf(allocated)
		if !ok {
			return 0, false
		}
		return peak - *m.Phases[0].Allocated, true
	case report.Total:
		peak, ok := m.peakOf(reserved)
		cost, known := m.ContextCost()
		return peak + cost, ok && known
	}
	return 0, false
}

// ContextCost is the device memory of the process outside the allocator: as the shim saw it, else by the samples; false where neither tells.
func (m *Measurement) ContextCost() (units.Bytes, bool) {
	if m.Context != nil {
		return *m.Context, true
	}
	if peak, ok := m.peakOf(reserved); ok && m.Sampled != nil && m.Sampled.Rise() >= peak && m.Sampled.Rise() > 0 {
		return m.Sampled.Rise() - peak, true
	}
	return 0, false
}
