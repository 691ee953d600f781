package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/internal/cli"
)

func newFit() *cobra.Command {
	var all string
	cmd := &cobra.Command{
		Use:   "fit CASE [memspec.yaml] | ARTIFACT",
		Short: "Find the largest batch, or any dim, that fits",
		Long: `Find the largest value of a dim at which a case keeps its budgets and fits its device, and what
breaks at the next one. An artifact is compared with the device only. Two dims are searched one
by one and together. The answer is checked: values beside it and further off are tried. Where
fitting is not monotone, every value is tried.

A case with a source: or a program: needs a recording of each value. This command uses those that
exist; python -m memshim fit makes the others, few of them, and names smaller values that it ran
and that do not fit (holes). Of the 16 values above the answer those are run whose requests would
fit if no memory were lost between blocks; where there is a hole, all within 16 below are run.

With --world-size: the fewest GPUs on which a case with ranks: fits. Parts of a node are tried, then
whole nodes (nproc_per_node:, else 8). Two on each side of the answer are run, too. Of an engine
(serve:) it is the smallest --tensor-parallel-size, up to 16.

With --devices all: the largest value on every card that memspec knows, the least memory first.
The case's budgets count there, too. Of a case with a source: cards of the same chip share their
recordings, each judged under its own memory.

Exit codes: 0 something fits (with --devices: on a card); 1 not even 1 does; 2 wrong usage; 3
undecided.`,
		Example: `  memspec fit 'resnet50[B=1]' --dim B
  memspec fit model.pt --input 'x=float32[B,3,224,224]' --dim B --device t4
  memspec fit bert --dim B --dim T --format json
  memspec fit 'resnet50[B=1]' --dim B --devices all
  memspec fit pretrain --world-size 8..512`,
	}
	world := newFitWorld(cmd)
	cmd.Args = world.want(cli.WantArgs(1, 2, "a CASE and at most one memspec.yaml, or one ARTIFACT"))
	f := cli.NewRunFlags(cmd)
	q := cli.NewQuery(cmd)
	format := cli.FormatFlag(cmd)
	basis := cli.JudgeFlag(cmd)
	cmd.Flags().StringVar(&all, "devices", "", "`all`, or names with commas: a row for each card instead of the case's")
	most := cmd.Flags().Int64("most", suite.MostValue, "the largest `VALUE` that is tried")
	multiple := cmd.Flags().Int64("multiple-of", 1, "only multiples of `N` are tried")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		args = world.take(args)
		if *most < 1 || *most > suite.EndValue {
			return fmt.Errorf("--most: got %d, want a number from 1 to %d", *most, int64(suite.EndValue))
		}
		if *multiple < 1 || *multiple > *most {
			return fmt.Errorf("--multiple-of: got %d, want a number from 1 to %d, the largest that is tried", *multiple,
				*most)
		}
		s, err := cli.NewSubject(cmd, f, args, basis)
		if err != nil {
			return err
		}
		if world.text != "" {
			if err := refuseBesideWorld(cmd, s); err != nil {
				return err
			}
		} else if len(s.Open) == 0 || len(s.Open) > 2 {
			return fmt.Errorf("fit: got %d dims to search, want one or two, such as --dim B", len(s.Open))
		}
		answer := fitJSON{Schema: 1, Case: s.Base.Name, Device: s.Base.Platform.Device.Name, Dims: []fitDimJSON{}}
		models, err := q.Models()
		if err != nil {
			return err
		}
		if all != "" {
			return fitDevices(cmd, s, fitDevicesOf{names: all, most: *most, json: format.Value == "json",
				models: models, query: q, multiple: *multiple})
		}
		search := func() error { return answer.search(cmd.Context(), s, models, *most, *multiple) }
		if world.text != "" {
			sizes, err := world.sizes(&s.Base, *multiple)
			if err != nil {
				return err
			}
			search = func() error { return answer.searchWorld(cmd, s, models, sizes) }
		}
		if err := search(); err != nil {
			return cmp.Or(q.Unanswered(), s.Unsearchable(err))
		}
		if err := q.Unanswered(); err != nil {
			return err
		}
		if format.Value == "json" {
			err = report.EncodeJSON(cmd.OutOrStdout(), answer)
		} else {
			err = answer.write(cmd.OutOrStdout(), s)
		}
		if err != nil {
			return err
		}
		return cli.ExitWith(answer.exit())
	}
	return cmd
}

type fitJSON struct {
	Schema int           `json:"schema"`
	Case   string        `json:"case"`
	Device string        `json:"device"`
	Dims   []fitDimJSON  `json:"dims"`
	Pairs  []fitPairJSON `json:"pairs,omitempty"` // of two dims: for values of the first, the largest of the second

	World *fitWorldJSON `json:"world_size,omitempty"` // of --world-size
}

type fitDimJSON struct {
	Dim     string    `json:"dim"`
	Largest int64     `json:"largest"` // 0: not even 1 fits
	Next    *nextJSON `json:"next"`    // null: the search ended at its bound
	Tried   int       `json:"tried"`
	// fitting comes and goes with growing values: one after the other was tried
	Scanned bool    `json:"scanned"`
	Holes   []int64 `json:"holes,omitempty"` // of a recorded case: smaller values that were run and do not fit

	Quality report.Quality `json:"quality,omitempty"` // of the figures at the largest value

	recorded bool  // each value was run on its own
	multiple int64 // only multiples of it were tried
}

type nextJSON struct {
	Value     int64         `json:"value"`
	Metric    report.Metric `json:"metric"`
	Predicted units.Bytes   `json:"predicted"`
	Limit     units.Bytes   `json:"limit"`
	Why       string        `json:"why,omitempty"`
	Unsure    bool          `json:"unsure,omitempty"` // it may fit: nobody can say
}

func (n *nextJSON) String() string {
	return (&suite.Limit{Metric: n.Metric, Predicted: n.Predicted, Limit: n.Limit, Why: n.Why}).String()
}

type fitPairJSON struct {
	First  int64 `json:"first"`
	Second int64 `json:"second"`
}

// largest searches the multiples of a number.
func largest(ctx context.Context, models *suite.Models, at suite.At, most, multiple int64) (*suite.Fitted, error) {
	found, err := models.Largest(ctx, func(v int64) (spec.Case, error) { return at(v * multiple) }, most/multiple)
	if err != nil {
		return nil, err
	}
	found.Largest *= multiple
	if found.Next != nil {
		found.Next.Value *= multiple
	}
	for i := range found.Holes {
		found.Holes[i] *= multiple
	}
	return found, nil
}

func (j *fitJSON) search(ctx context.Context, s *cli.Subject, models *suite.Models, most, multiple int64) error {
	for _, name := range s.Open {
		found, err := largest(ctx, models, s.One(name), most, multiple)
		if err != nil {
			return err
		}
		d := fitDim(name, found)
		d.recorded, d.multiple = s.Base.Captured() != "", multiple
		j.Dims = append(j.Dims, d)
	}
	if len(s.Open) < 2 || j.Dims[0].Largest == 0 || j.Dims[1].Largest == 0 {
		return nil
	}
	both := s.At(s.Open...)
	for first := multiple; ; first *= 2 {
		last := first >= j.Dims[0].Largest
		first = min(first, j.Dims[0].Largest)
		found, err := largest(ctx, models, func(v int64) (spec.Case, error) { return both(first, v) }, most, multiple)
		if err != nil {
			return err
		}
		j.Pairs = append(j.Pairs, fitPairJSON{first, found.Largest})
		if last {
			return nil
		}
	}
}

func fitDim(name string, f *suite.Fitted) fitDimJSON {
	d := fitDimJSON{Dim: name, Largest: f.Largest, Tried: f.Tried, Scanned: f.Scanned, Holes: f.Holes,
		Quality: f.Quality}
	if n := f.Next; n != nil {
		d.Next = nextOf(n)
	}
	return d
}

func nextOf(l *suite.Limit) *nextJSON {
	return &nextJSON{l.Value, l.Metric, l.Predicted, l.Limit, l.Why, l.Unsure}
}

// exit is 0 where something fits, 1 where not even 1 does, and 3 where that cannot be said.
func (d *fitDimJSON) exit() int {
	switch {
	case d.Largest > 0:
		return cli.ExitOK
	case d.Next != nil && d.Next.Unsure:
		return cli.ExitUnsure
	}
	return cli.ExitBroken
}

// exit is the worst of the dims': 1 before 3.
func (j *fitJSON) exit() int {
	if j.World != nil {
		return j.World.exit()
	}
	for _, code := range []int{cli.ExitBroken, cli.ExitUnsure} {
		if slices.ContainsFunc(j.Dims, func(d fitDimJSON) bool { return d.exit() == code }) {
			return code
		}
	}
	return cli.ExitOK
}

func (j *fitJSON) write(w io.Writer, s *cli.Subject) error {
	if j.World != nil {
		return j.World.write(w, j.Case+" on "+j.Device, s)
	}
	p := layout.To(w)
	for i, d := range j.Dims {
		p.Line("%s on %s: %s%s", j.Case, j.Device, d.text(), beside(s, i))
		p.Item("budgets", "%s", budgetsText(s))
		if n := d.Next; n != nil {
			p.Item("next", "%s=%d: %s", d.Dim, n.Value, n)
		}
		how := "by halving, with values around the answer tried"
		switch {
		case d.Scanned:
			how = "one after the other: fitting comes and goes with growing values"
		case d.recorded:
			how = "each in a separate run, with values around the answer tried"
		}
		if len(d.Holes) > 0 {
			p.Item("holes", "%s: smaller values that do not fit", strings.Trim(fmt.Sprint(d.Holes), "[]"))
		}
		p.Item("tried", "%d values %s", d.Tried, how)
		if words := report.QualityWords(d.Quality); words != "" {
			p.Item("quality", "%s", words)
		}
	}
	if len(j.Pairs) > 0 {
		p.Line("  together:")
		t := layout.NewTable("rr")
		t.Add(s.Open[0], "largest "+s.Open[1])
		for _, pair := range j.Pairs {
			t.Add(strconv.FormatInt(pair.First, 10), strconv.FormatInt(pair.Second, 10))
		}
		p.Table(4, t)
	}
	return p.Err
}

// beside says what the other of two dims is while the i-th is searched.
func beside(s *cli.Subject, i int) string {
	if len(s.Open) < 2 {
		return ""
	}
	name, value := s.Open[1-i], int64(1)
	for _, d := range s.Base.Dims {
		if d.Name == name {
			value = d.Value
		}
	}
	return fmt.Sprintf(" (%s=%d)", name, value)
}

func (d *fitDimJSON) text() string {
	switch {
	case d.exit() == cli.ExitUnsure:
		return fmt.Sprintf("whether %s=%d fits is unknown", d.Dim, max(d.multiple, 1))
	case d.Largest == 0:
		return fmt.Sprintf("not even %s=%d fits", d.Dim, max(d.multiple, 1))
	case d.Next == nil:
		return fmt.Sprintf("every %s up to %d fits, which is the most that was tried (--most)", d.Dim, d.Largest)
	}
	return fmt.Sprintf("the largest %s that fits is %d", d.Dim, d.Largest)
}

func budgetsText(s *cli.Subject) string {
	if len(s.Base.Budgets) == 0 {
		return "none: what the device holds"
	}
	var parts []string
	for _, b := range s.Base.Budgets {
		parts = append(parts, fmt.Sprintf("%s %s", b.Metric, cmp.Or(b.Text, b.Limit.String())))
	}
	return strings.Join(parts, ", ")
}

// fitDevicesOf is what --devices asks for.
type fitDevicesOf struct {
	names string
	most  int64
	json  bool

	models   *suite.Models
	query    *cli.Query
	multiple int64
}

type fitDevicesJSON struct {
	Schema  int             `json:"schema"`
	Case    string          `json:"case"`
	Dim     string          `json:"dim"`
	Devices []fitDeviceJSON `json:"devices"` // the least memory first
}

type fitDeviceJSON struct {
	Device string      `json:"device"`
	Memory units.Bytes `json:"memory"`
	fitDimJSON
}

// exit is the best of the devices': 1 where it fits none, 3 where one of them is undecided.
func (j *fitDevicesJSON) exit() int {
	for _, code := range []int{cli.ExitOK, cli.ExitUnsure} {
		if slices.ContainsFunc(j.Devices, func(d fitDeviceJSON) bool { return d.exit() == code }) {
			return code
		}
	}
	return cli.ExitBroken
}

// fitDevices is the largest value on each of several cards.
func fitDevices(cmd *cobra.Command, s *cli.Subject, o fitDevicesOf) error {
	if len(s.Open) != 1 {
		return errors.New("--devices: got two dims, want one")
	}
	devices, err := devicesNamed(o.names)
	if err != nil {
		return err
	}
	out := fitDevicesJSON{Schema: 1, Case: s.Base.Name, Dim: s.Open[0], Devices: []fitDeviceJSON{}}
	bar := cli.NewProgress(cmd.ErrOrStderr(), len(devices))
	as := devices
	if s.Base.Captured() != "" && s.Base.Program == nil { // a program may decide by how much memory there is
		as = asChips(devices)
	}
	for i, d := range devices {
		found, err := o.on(cmd, s, as[i])
		// it decides by the device's name
		if err == nil && as[i].Name != d.Name && found.Next != nil && found.Next.Unsure {
			found, err = o.on(cmd, s, d)
		}
		if err != nil {
			bar.Clear()
			if missing := o.query.Unanswered(); missing != nil {
				return missing
			}
			if said := s.Unsearchable(err); said != err {
				return said
			}
			return fmt.Errorf("on %s: %w", d.Name, err)
		}
		bar.Step()
		out.Devices = append(out.Devices, fitDeviceJSON{d.Name, d.Memory, fitDim(s.Open[0], found)})
	}
	bar.Clear()
	if err := o.query.Unanswered(); err != nil {
		return err
	}
	code := out.exit()
	if o.json {
		if err := report.EncodeJSON(cmd.OutOrStdout(), out); err != nil {
			return err
		}
		return cli.ExitWith(code)
	}
	p := layout.To(cmd.OutOrStdout())
	p.Line("%s: the largest %s that fits, by memory", out.Case, out.Dim)
	t := layout.NewTable("lrrl")
	t.Add("device", "memory", out.Dim, "next breaks")
	for _, d := range out.Devices {
		next := "not tried"
		if n := d.Next; n != nil {
			next = n.String()
		}
		t.Add(d.Device, d.Memory.String(), strconv.FormatInt(d.Largest, 10), next)
	}
	p.Table(2, t)
	for _, d := range out.Devices {
		if words := report.QualityWords(d.Quality); words != "" {
			p.Item("quality", "%s", words)
			break
		}
	}
	if p.Err != nil {
		return p.Err
	}
	return cli.ExitWith(code)
}

// on is the answer of the search on a device.
func (o *fitDevicesOf) on(cmd *cobra.Command, s *cli.Subject, d device.Device) (*suite.Fitted, error) {
	there := *s
	var err error
	if there.Base, err = s.Base.On(d); err != nil {
		return nil, err
	}
	return largest(cmd.Context(), o.models, there.One(s.Open[0]), o.most, o.multiple)
}

// asChips are devices as the first of the same chip, with their own memory and context: runs on
// them are then the same.
func asChips(devices []device.Device) []device.Device {
	type chip struct {
		capability device.Capability
		sms        int
	}
	first, out := map[chip]device.Device{}, make([]device.Device, len(devices))
	for i, d := range devices {
		of := chip{d.ComputeCapability, d.SMs}
		as, seen := first[of]
		if !seen {
			first[of], as = d, d
		}
		as.Memory, as.MemoryFrom = d.Memory, d.MemoryFrom
		as.Context, as.ContextKnown, as.ContextRange = d.Context, d.ContextKnown, d.ContextRange
		out[i] = as
	}
	return out
}

// devicesNamed are the cards of --devices, the least memory first.
func devicesNamed(names string) ([]device.Device, error) {
	var out []device.Device
	if names == "all" {
		out = slices.DeleteFunc(device.All(), func(d device.Device) bool { return d.Kind == device.None })
	} else {
		for name := range strings.SplitSeq(names, ",") {
			d, err := device.Lookup(strings.TrimSpace(name))
			if err != nil {
				return nil, fmt.Errorf("--devices: %w", err)
			}
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b device.Device) int { return cmp.Compare(a.Memory, b.Memory) })
	return out, nil
}
