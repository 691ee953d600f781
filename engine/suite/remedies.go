package suite

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/verdict"
)

// Remedies are changes with which a result that fails would pass, each of them run: the largest
// value of each of its dims, another setting of the allocator, another card. It is reported first
// what is smallest to change. None is guessed; a case without any has none. What takes more than
// before, or is not for the values of fits:, has none either: there a smaller run is no answer, and
// the largest value that fits is reported as it is.
func (ms *Models) Remedies(ctx context.Context, r *Result) []string {
	if r.Report == nil || r.Verdict.Outcome != verdict.Fail ||
		verdict.Judge(r.Report, r.Case.Budgets, r.options).Outcome != verdict.Fail && r.Report.OOM == nil {
		return nil
	}
	var out []string
	for _, d := range r.Case.Dims {
		if d.Value < 2 {
			continue
		}
		at := r.dim(d.Name)
		if found, err := ms.Largest(ctx, at, d.Value-1); err == nil && found.Largest > 0 &&
			ms.passes(ctx, at, found.Largest) {
			out = append(out, fmt.Sprintf("%s=%d", d.Name, found.Largest))
		}
	}
	if s := ms.expandable(ctx, &r.Case); s != "" {
		out = append(out, s)
	}
	if r.Report.OOM != nil {
		if s := ms.card(ctx, &r.Case); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// passes says whether the case passes at a value with all that is asked of it, fits: too.
func (ms *Models) passes(ctx context.Context, at At, value int64) bool {
	c, err := at(value)
	return err == nil && ms.judge(ctx, c).Verdict.OK()
}

const expandableSegments = "expandable_segments:True"

// expandable tries segments that grow, where the case has a separate setting nothing is tried.
func (ms *Models) expandable(ctx context.Context, c *spec.Case) string {
	if c.Platform.AllocConf != "" || c.Program.Serves() {
		return ""
	}
	other := *c
	other.Platform.AllocConf = expandableSegments
	if r := ms.judge(ctx, other); r.Verdict.Outcome == verdict.Pass {
		return fmt.Sprintf("alloc_conf: %s (%s reserved)", expandableSegments, r.Report.Peak.Reserved)
	}
	return ""
}

// card is the card of least memory, above the case's own, on which it passes.
func (ms *Models) card(ctx context.Context, c *spec.Case) string {
	larger := slices.DeleteFunc(device.All(), func(d device.Device) bool {
		return d.Kind != device.CUDA || d.Memory <= c.Platform.Device.Memory
	})
	slices.SortStableFunc(larger, func(a, b device.Device) int { return cmp.Compare(a.Memory, b.Memory) })
	for _, d := range larger {
		on, err := c.On(d)
		if err != nil {
			return ""
		}
		if r := ms.judge(ctx, on); r.Err == nil && r.Verdict.Outcome == verdict.Pass {
			return fmt.Sprintf("device: %s (%s)", d.Name, d.Memory)
		}
	}
	return ""
}
