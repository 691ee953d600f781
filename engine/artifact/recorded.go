package artifact

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/trace"
)

// openSnapshot reads a memory snapshot in which one device recorded events.
func openSnapshot(f *file) (*Artifact, error) {
	data, err := io.ReadAll(io.NewSectionReader(f.from, 0, f.size))
	if err != nil {
		return nil, err
	}
	all, err := trace.ReadSnapshot(data)
	if err != nil {
		return nil, &Unrecognized{What: "a pickle that is no memory snapshot (" + strings.TrimPrefix(err.Error(), "memory snapshot: ") + ")"}
	}
	var with []*trace.Recording
	var names []string
	for _, rec := range all {
		if rec.Moves() > 0 {
			with = append(with, rec)
			names = append(names, strconv.Itoa(rec.Device))
		}
	}
	switch len(with) {
	case 0:
		return nil, errors.New("got a memory snapshot in which nothing was recorded, want one taken after torch.cuda.memory._record_memory_history()")
	case 1:
		return &Artifact{Producer: "torch.cuda.memory._dump_snapshot", Recorded: &Recorded{Recording: with[0]}}, nil
	}
	return nil, fmt.Errorf("got a memory snapshot with events of the devices %s, want those of one device", strings.Join(names, ", "))
}

// recordingFormat is the name of a recording's kind.
const recordingFormat = "recording"

// openRecording reads a recording.
func openRecording(f *file) (*Artifact, error) {
	r, err := recording.Decode(io.NewSectionReader(f.from, 0, f.size))
	if err != nil {
		return nil, err
	}
	return OfRecording(r)
}

// OfRecording is what a file of the recording would open as.
func OfRecording(r *recording.Recording) (*Artifact, error) {
	if len(r.Events) == 0 {
		return nil, errors.New("got a recording without events, want one that was made with its history")
	}
	tr, skipped, err := r.Asked()
	if err != nil {
		return nil, err
	}
	a := &Artifact{
		Format:   recordingFormat,
		Producer: "torch " + r.Torch + ", " + whereText(r),
		Recorded: &Recorded{Recording: &trace.Recording{Trace: tr, Skipped: skipped, Settings: trace.Conf{Text: r.AllocConf}}, Header: &r.Header},
	}
	if r.Runtime != "" {
		a.Runtimes = []string{r.Runtime}
	}
	if r.Mode != "" {
		a.Modes = []string{r.Mode}
	}
	return a, nil
}

// whereText says what a recording was made on; a pretend GPU is never shown as a real one.
func whereText(r *recording.Recording) string {
	switch r.Where {
	case recording.OnPretend:
		return "on a pretend " + r.Device.Name
	case recording.OnCPU:
		return "on CPU tensors"
	}
	return "on " + r.Device.Name
}
