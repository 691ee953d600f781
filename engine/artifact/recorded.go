package artifact

import (
	"bytes"
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
		return nil, &Unrecognized{What: "a pickle that is no memory snapshot (" + strings.TrimPrefix(err.Error(),
			"memory snapshot: ") + ")"}
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
		return nil, errors.New("got a memory snapshot in which nothing was recorded, want one taken after " +
			"torch.cuda.memory._record_memory_history()")
	case 1:
		return &Artifact{Producer: "torch.cuda.memory._dump_snapshot", Recorded: &Recorded{Recording: with[0]}}, nil
	}
	return nil, fmt.Errorf("got a memory snapshot with events of the devices %s, want those of one device",
		strings.Join(names, ", "))
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
		Recorded: &Recorded{Recording: &trace.Recording{Trace: tr, Skipped: skipped, Settings: trace.Conf{Text: r.AllocConf}},
			Header: &r.Header},
	}
	if a.Recorded.Others, err = othersOf(r); err != nil {
		return nil, err
	}
	a.Runtimes = runtimesOf(r)
	if r.Mode != "" && r.Mode != "program" { // whose kind is not known: it answers either
		a.Modes = []string{r.Mode}
	}
	return a, nil
}

// runtimesOf are the runtimes that a recording answers, the one that it is reported as first: a
// case says eager of a source that compiles itself.
func runtimesOf(r *recording.Recording) []string {
	var out []string
	if r.Compiled {
		out = append(out, "compiled")
	}
	if r.Runtime != "" {
		out = append(out, r.Runtime)
	}
	return out
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

// othersOf are the runs with other values that have their own events.
func othersOf(r *recording.Recording) ([]OtherRun, error) {
	var out []OtherRun
	for i := 0; r.Values != nil && i < len(r.Values.Runs); i++ {
		run := &r.Values.Runs[i]
		if !run.Own() {
			continue
		}
		tr, _, err := r.With(i).Asked()
		if err != nil {
			return nil, fmt.Errorf("values %s: %w", run.Values, err)
		}
		out = append(out, OtherRun{Values: run.Values, Trace: tr, OOM: run.OOM})
	}
	return out, nil
}

// ServedFormat is the name of the kind that records an engine's start.
const ServedFormat = "serving"

// isServed knows the recording of an engine's start by its beginning.
func isServed(f *file) bool {
	head := bytes.TrimLeft(f.head, "\xef\xbb\xbf \t\r\n")
	return isObject(head) && bytes.Contains(head, []byte(`"schema"`)) && bytes.Contains(head, []byte(`"engine"`))
}

// openServed reads the recording of an engine's start.
func openServed(f *file) (*Artifact, error) {
	data, err := io.ReadAll(io.NewSectionReader(f.from, 0, f.size))
	if err != nil {
		return nil, err
	}
	s, err := recording.DecodeServed(data)
	if err != nil {
		return nil, err
	}
	producer := fmt.Sprintf("%s %s, torch %s, on a pretend %s", s.Engine.Name, s.Engine.Release, s.Torch,
		s.Device.DriverName)
	return &Artifact{Producer: producer, Served: s, Runtimes: []string{s.Engine.Name}, Modes: []string{"serve"}}, nil
}
