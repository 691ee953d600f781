package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/format"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/recording"
	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
	"github.com/memspec/memspec/internal/cli"
)

// recordReplay is a measurement record taken through the simulated allocator.
type recordReplay struct {
	Case   string          `json:"case"`
	Where  recording.Where `json:"where"`
	Device string          `json:"device"`
	Torch  string          `json:"torch"`
	Phases []phaseReplay   `json:"phases"`

	address *allocator.DeviceReplay // nil on CPU tensors, which have no addresses
	events  int
	skipped int
	tl      *allocator.Timeline
}

// phaseReplay is a phase as the simulation gives it, and as it was recorded. On CPU tensors only
// what was requested was.
type phaseReplay struct {
	Name      string              `json:"name"`
	Simulated allocator.PeakSizes `json:"simulated"`
	Recorded  recordedSizes       `json:"recorded"`
}

type recordedSizes struct {
	Requested units.Bytes  `json:"requested"`
	Allocated *units.Bytes `json:"allocated"`
	Active    *units.Bytes `json:"active"`
	Reserved  *units.Bytes `json:"reserved"`
}

// sizes are a phase's, in the order of the table.
func (p *phaseReplay) sizes() []sizePair {
	s, r := &p.Simulated, &p.Recorded
	return []sizePair{{"requested", s.Requested, &r.Requested}, {"allocated", s.Allocated, r.Allocated},
		{"active", s.Active, r.Active},
		{"reserved", s.Reserved, r.Reserved}}
}

type sizePair struct {
	metric    string
	simulated units.Bytes
	recorded  *units.Bytes
}

func (r *recordReplay) agrees() bool {
	for i := range r.Phases {
		for _, s := range r.Phases[i].sizes() {
			if s.recorded != nil && *s.recorded != s.simulated {
				return false
			}
		}
	}
	return r.address == nil || r.address.Agrees()
}

// replayRecord takes the events of a record through the allocator that its torch and settings had,
// on a device of unlimited memory.
func replayRecord(m *recording.Recording) (*recordReplay, error) {
	tr, skipped, err := m.Replayable()
	if err != nil {
		return nil, err
	}
	out := &recordReplay{Case: m.Case, Where: m.Where, Device: m.Device.Name, Torch: m.Torch, events: len(m.Events),
		skipped: skipped}
	p, err := platformOf(m)
	if err != nil {
		return nil, err
	}
	a, err := allocator.On(&p, tr.Heap)
	if err != nil {
		return nil, err
	}
	tl, err := allocator.Replay(tr, a)
	if err != nil {
		return nil, err
	}
	out.tl = tl
	peaks := passPeaks(tl, len(m.Passes))
	for i := range m.Passes {
		p := &m.Passes[i]
		out.Phases = append(out.Phases, phaseReplay{Name: p.Name, Simulated: peaks[i],
			Recorded: recordedSizes{Requested: p.Requested, Allocated: p.Allocated, Active: p.Active,
				Reserved: p.Reserved}})
	}
	if m.Where.Allocator() {
		out.address, err = allocator.ReplayFromStart(&trace.Recording{Trace: tr, Skipped: skipped,
			Settings: trace.Conf{Text: m.AllocConf}})
	}
	return out, err
}

// platformOf is what decides how the record's allocator goes about it: its torch and its settings,
// on a device without a limit.
func platformOf(m *recording.Recording) (platform.Platform, error) {
	v, err := platform.ParseVersion(m.Torch)
	if err != nil {
		return platform.Platform{}, fmt.Errorf("torch: %w", err)
	}
	d, _ := device.Lookup("none")
	p, err := platform.New(d, v)
	if err != nil {
		return p, fmt.Errorf("torch: %w", err)
	}
	p.AllocConf = m.AllocConf
	return p, nil
}

// passPeaks are what is held when the baseline is over, then each pass's peaks. A pass begins when
// what the one before returned is released.
func passPeaks(tl *allocator.Timeline, passes int) []allocator.PeakSizes {
	out := make([]allocator.PeakSizes, passes)
	began := make([]bool, passes)
	var last allocator.PeakSizes
	pass := 0
	held := func(s allocator.Stats) allocator.PeakSizes {
		return allocator.PeakSizes{Requested: s.Requested, Allocated: s.Allocated, Active: s.Active,
			Reserved: s.Reserved}
	}
	tl.Each(func(event int, s allocator.Stats) bool {
		e := &tl.Trace.Events[event]
		if e.Pass >= passes { // the one that memory ran out in
			return false
		}
		for pass < e.Pass { // one without an event holds what was held before
			pass++
			out[pass] = last
		}
		began[pass] = began[pass] || e.Action == trace.Alloc
		now := held(s)
		last = now
		if pass == 0 || !began[pass] {
			out[pass] = now
			return true
		}
		p := &out[pass]
		p.Requested, p.Allocated = max(p.Requested, now.Requested), max(p.Allocated, now.Allocated)
		p.Active, p.Reserved = max(p.Active, now.Active), max(p.Reserved, now.Reserved)
		return true
	})
	for pass < len(out)-1 {
		pass++
		out[pass] = last
	}
	return out
}

func endRecordReplay(out *cli.Outputs, path string) error {
	m, err := recording.Read(path)
	if err != nil {
		return regular.Plain(err)
	}
	if len(m.Events) == 0 {
		return &cli.Exit{Code: cli.ExitUnsure, Err: errors.New(path + ": nothing to replay: the record has no events")}
	}
	r, err := replayRecord(m)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := out.Open(1); err != nil {
		return err
	}
	defer out.Abandon()
	if err := out.Add(r.asCase(path, m)); err != nil {
		return err
	}
	code := cli.ExitOK
	if !r.agrees() {
		code = cli.ExitBroken
	}
	result := replayJSON{Schema: 1, Devices: []allocator.DeviceReplay{}, Record: r}
	if r.address != nil {
		result.Devices = append(result.Devices, *r.address)
	}
	if err := out.End(&format.Summary{Exit: code, JSON: result}); err != nil {
		return err
	}
	return cli.ExitWith(code)
}

// asCase is a replayed record for every format.
func (r *recordReplay) asCase(path string, m *recording.Recording) *format.Case {
	c := &format.Case{Name: r.Case, Judged: true, Outcome: verdict.Pass, Line: r.line(path),
		Text: func(w io.Writer) error { return r.write(w, path) }}
	for i := range r.Phases {
		for _, s := range r.Phases[i].sizes() {
			addReplayed(c, report.Metric(s.metric), r.Phases[i].Name, s.simulated, s.recorded)
		}
	}
	if a := r.address; a != nil && a.AddressMatch != a.Allocs {
		c.Outcome = verdict.Fail
		c.Findings = append(c.Findings, format.Finding{Rule: format.RuleDisagreement, Outcome: verdict.Fail,
			Text: fmt.Sprintf("%d of %d allocations at their recorded address", a.AddressMatch, a.Allocs)})
	}
	recordedRun(c, report.Run{Artifact: path, Format: "measurement record", Device: m.Device.Name,
		Torch: m.Torch, AllocConf: m.AllocConf}, r.tl)
	return c
}

func (r *recordReplay) line(path string) string {
	return replayLine(fmt.Sprintf("%s, %s on %s, torch %s", path, r.Case, r.Device, r.Torch), r.agrees())
}

func (r *recordReplay) write(w io.Writer, path string) error {
	p := layout.To(w)
	p.Line("%s", r.line(path))
	text := fmt.Sprintf("  %d events", r.events)
	if a := r.address; a != nil {
		text += fmt.Sprintf(", %d of %d allocations at their recorded address", a.AddressMatch, a.Allocs)
	}
	if r.skipped > 0 {
		text += fmt.Sprintf(", %d passed over: no memory of this recording", r.skipped)
	}
	p.Line("%s", text)
	if a := r.address; a != nil && a.FirstMismatch != nil {
		m := a.FirstMismatch
		p.Line("  first elsewhere: event %d, %s (%s): recorded at %s, simulated at %s", m.Event, m.Bytes,
			m.Bytes.Exact(), m.Recorded, m.Simulated)
	}
	if r.Where == recording.OnCPU {
		p.Line("  recorded on CPU tensors: what a CUDA allocator would make of the same " +
			"storages is simulated and was not measured")
	}
	t := layout.NewTable("rrr")
	t.Add("", "simulated", "recorded")
	for i := range r.Phases {
		for _, s := range r.Phases[i].sizes() {
			recorded := "-"
			if s.recorded != nil {
				recorded = s.recorded.Exact()
			}
			t.Add(r.Phases[i].Name+" "+s.metric, s.simulated.Exact(), recorded)
		}
	}
	p.Table(2, t)
	return p.Err
}
