package recording

import (
	"errors"
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Check says what a recording may not say: the first of it.
func (r *Recording) Check() error {
	switch {
	case !r.Where.Allocator() && r.Where != OnCPU:
		return fmt.Errorf("got where %q, want cuda, pretend or cpu", r.Where)
	case r.Case == "":
		return errors.New("got no case")
	case len(r.Passes) == 0 || len(r.Passes) > maxPasses:
		return fmt.Errorf("got %d phases, want 1 to %d", len(r.Passes), maxPasses)
	case r.OOM != nil && r.OOM.Pass != passName(len(r.Passes)) && r.OOM.Pass != passName(len(r.Passes)-1):
		return fmt.Errorf("got oom in phase %q, want the last or the one that came next: %s", r.OOM.Pass,
			passName(len(r.Passes)))
	case r.OOM != nil && !r.OOM.sized():
		return errors.New("got a size below 0")
	case r.OOM == nil && r.Where.Allocator() && len(r.Passes) < 3:
		return fmt.Errorf("got %d phases of a run that came to its end, want 3", len(r.Passes))
	case r.Weights < 0 || r.Context != nil && *r.Context < 0:
		return errors.New("got a size below 0")
	case r.HostPinned != nil && *r.HostPinned < 0:
		return fmt.Errorf("got host_pinned of %d B, want a size", *r.HostPinned)
	case r.NCCL != nil && (r.NCCL.Low < 0 || r.NCCL.High < r.NCCL.Low || r.NCCL.Communicators < 0):
		return fmt.Errorf("got nccl of %d to %d B of %d communicators, want sizes in order", r.NCCL.Low, r.NCCL.High,
			r.NCCL.Communicators)
	}
	for i := range r.Passes {
		if err := r.checkPass(i); err != nil {
			return fmt.Errorf("phase %d: %w", i, err)
		}
	}
	if err := r.checkTraining(); err != nil {
		return err
	}
	if r.Made != nil {
		if err := r.Made.Check(); err != nil {
			return fmt.Errorf("made: %w", err)
		}
	}
	if err := r.checkRows(); err != nil {
		return err
	}
	if r.Values != nil {
		if err := r.Values.check(r); err != nil {
			return fmt.Errorf("values: %w", err)
		}
	}
	return nil
}

func (r *Recording) checkTraining() error {
	switch {
	case r.Device.SMs < 0:
		return errors.New("got fewer than 0 multiprocessors")
	case slices.ContainsFunc(r.Device.Asked, func(s string) bool { return s != AskedMemory && s != AskedName }):
		return fmt.Errorf("device: got asked %q, want %s or %s", r.Device.Asked, AskedMemory, AskedName)
	case r.Training == nil:
		return nil
	case r.Mode != "training":
		return fmt.Errorf("got a training step of a run of mode %q", r.Mode)
	case r.Training.Accumulate < 1 || r.Training.Iterations < 2:
		return fmt.Errorf("training: got accumulate %d and iterations %d, want at least 1 and 2", r.Training.Accumulate,
			r.Training.Iterations)
	}
	return nil
}

func (o *OutOfMemory) sized() bool {
	for _, s := range []*units.Bytes{o.Requested, o.Free} {
		if s != nil && *s < 0 {
			return false
		}
	}
	return !slices.ContainsFunc(o.Held, func(h Held) bool { return h.Bytes < 0 || h.Count < 0 || h.Line < 0 })
}

func (r *Recording) checkPass(i int) error {
	p := &r.Passes[i]
	if want := passName(i); p.Name != want {
		return fmt.Errorf("got %q, want %s", p.Name, want)
	}
	if p.Requested < 0 {
		return errors.New("got a size below 0")
	}
	begin := 0
	if i > 0 {
		begin = r.Passes[i-1].Events
	}
	if p.Events < begin || p.Events > len(r.Events) {
		return fmt.Errorf("got it ended by event %d of %d", p.Events, len(r.Events))
	}
	for _, s := range []*units.Bytes{p.Allocated, p.Reserved, p.Active, p.InactiveSplit} {
		switch {
		case !r.Where.Allocator() && s != nil:
			return errors.New("got an allocator's number in a record on CPU tensors")
		case r.Where.Allocator() && s == nil:
			return errors.New("got no number of the allocator in a record on CUDA")
		case s != nil && *s < 0:
			return errors.New("got a size below 0")
		}
	}
	for k, f := range p.Phases {
		if phase, known := trace.ParsePhase(f.Name); !known || phase == trace.Load {
			return fmt.Errorf("part %d: got %q, want forward, backward or step", k, f.Name)
		}
		if f.Events < begin || f.Events > p.Events {
			return fmt.Errorf("part %d: got it begun by event %d, want %d to %d", k, f.Events, begin, p.Events)
		}
		begin = f.Events
	}
	return nil
}

// recorded says whether an action is one that PyTorch's allocator records.
func recorded(a trace.Action) bool { return a <= trace.OOM || a == trace.Snapshot }

func (r *Recording) checkRows() error {
	for i := range r.Events {
		e := &r.Events[i]
		switch {
		case !recorded(e.Action):
			return fmt.Errorf("event %d: got action %s, which no allocator records", i, e.Action)
		case e.Size < 0:
			return fmt.Errorf("event %d: got a size below 0", i)
		case e.Site < 0 || e.Site > len(r.Sites):
			return fmt.Errorf("event %d: got site %d of %d", i, e.Site, len(r.Sites))
		}
	}
	for i := range r.Sites {
		s := &r.Sites[i]
		if s.Stack < 0 || s.Stack > len(r.Stacks) {
			return fmt.Errorf("site %d: got stack %d of %d", i+1, s.Stack, len(r.Stacks))
		}
		if s.Saver < 0 || s.Saver > len(r.Sites) || s.Saver > 0 && r.Sites[s.Saver-1].Saver > 0 {
			return fmt.Errorf("site %d: got saver %d of %d, want a site that nothing is saved for", i+1, s.Saver, len(r.Sites))
		}
		if s.Category > tensor.Untraced {
			return fmt.Errorf("site %d: got category %d", i+1, s.Category)
		}
	}
	for i, s := range r.Stacks {
		for _, f := range s {
			if f < 0 || f >= len(r.Frames) {
				return fmt.Errorf("stack %d: got frame %d of %d", i, f, len(r.Frames))
			}
		}
	}
	return nil
}
