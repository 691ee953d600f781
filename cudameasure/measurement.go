package cudameasure

import (
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
)

// Measurement is the recording of a run, with what was seen of the device beside it.
type Measurement struct {
	recording.Recording
	// of the device while the case ran; nil in a record that was read, and where nvidia-smi cannot
	// be asked
	Sampled *Sampled
}

// Read reads the recording of a run that was made elsewhere.
func Read(path string) (*Measurement, error) {
	r, err := recording.Read(path)
	if err != nil {
		return nil, err
	}
	return &Measurement{Recording: *r}, nil
}

// ReadFolder reads every recording of a folder, by name. Folders in it are not entered.
func ReadFolder(dir string) ([]*Measurement, error) {
	recs, err := recording.ReadFolder(dir)
	if err != nil {
		return nil, err
	}
	out := make([]*Measurement, len(recs))
	for i, r := range recs {
		out[i] = &Measurement{Recording: *r}
	}
	return out, nil
}

func allocated(p *recording.Pass) *units.Bytes { return p.Allocated }
func reserved(p *recording.Pass) *units.Bytes  { return p.Reserved }
func requested(p *recording.Pass) *units.Bytes { return &p.Requested }

// Value is a metric as measured; false where it was not, as on CPU tensors every one but the
// weights.
func (m *Measurement) Value(metric report.Metric) (units.Bytes, bool) {
	switch metric {
	case report.Weights:
		return m.Weights, true
	case report.Allocated:
		return m.peakOfCalls(allocated)
	case report.FirstCall:
		return mostIn(m, recording.First, allocated)
	case report.Reserved:
		return m.Peak(reserved)
	case report.Delta:
		peak, ok := m.peakOfCalls(allocated)
		if !ok {
			return 0, false
		}
		return peak - *m.Passes[0].Allocated, true
	case report.Total:
		peak, ok := m.Peak(reserved)
		cost, known := m.ContextCost()
		return peak + cost, ok && known
	}
	return 0, false
}

// peakOfCalls is the most over the passes, of a compiled model over those after the first, where
// the run came to one: as a report has it.
func (m *Measurement) peakOfCalls(of func(*recording.Pass) *units.Bytes) (units.Bytes, bool) {
	if m.Compiled {
		if most, ok := mostIn(m, recording.Steady, of); ok {
			return most, true
		}
	}
	return m.Peak(of)
}

// ContextCost is the device memory of the process outside the allocator: as the shim saw it, else
// by the samples; false where neither reports.
func (m *Measurement) ContextCost() (units.Bytes, bool) {
	if m.Context != nil {
		return *m.Context, true
	}
	if peak, ok := m.Peak(reserved); ok && m.Sampled != nil && m.Sampled.Rise() >= peak && m.Sampled.Rise() > 0 {
		return m.Sampled.Rise() - peak, true
	}
	return 0, false
}
