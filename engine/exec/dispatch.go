package exec

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// Dispatch runs operators, one at a time, each with those that it is made of: autocast first, then
// the operator's rule, its results and the workspace that libraries take. To the rules it is the
// ops.Machine.
type Dispatch struct {
	*Heap
	*Notes
	Budget
	Sites *Sites

	table    *ops.Table
	platform *platform.Platform
	lower    bool // data-dependent sizes at their lower end

	calls   []*ops.Call // one a level of nesting, to be used again
	depth   int         // operators under way
	temps   []any       // what they hold to their end, see ops.Call.Do
	assumed bool        // inside an operator some of whose numbers are assumed: its results are not known values
	bounded bool        // some size was taken at an end of its range
	byData  bool        // the operator under way makes a size that depends on tensor data

	values  knownValues
	casts   casts
	changes changes
	once    map[string]bool // workspace taken once a key

	library libraryCalls
	upper   []trace.Estimate
	sources []trace.Source
	outside units.Bytes // taken on the accelerator beside the allocator
}

// NewDispatch makes a dispatcher on an empty heap.
func NewDispatch(t *ops.Table, o Options) *Dispatch {
	sites := newSites()
	return &Dispatch{
		Heap: newHeap(sites, o.Liveness), Notes: &Notes{sites: sites, assume: o.Assume}, Sites: sites,
		table: t, platform: o.Platform, lower: o.Lower, casts: casts{to: o.Platform.Autocast},
	}
}

// Trace is the account so far, without passes.
func (d *Dispatch) Trace() *trace.Trace {
	return &trace.Trace{Origin: "exec", Sites: d.Sites.list, Events: d.events, Notes: d.Notes.list, Upper: d.upper,
		Sources: d.sources, Coverage: d.coverage, Outside: d.outside}
}

// TakeOutside says that the run holds so much of the accelerator's memory beside what the allocator
// gives it.
func (d *Dispatch) TakeOutside(bytes units.Bytes) { d.outside = d.outside.Add(bytes) }

// Apply runs one overload on complete arguments in the schema's order, and returns its result, held
// once for the caller.
func (d *Dispatch) Apply(b *ops.Bound, args []any) (any, error) {
	if d.depth == 0 {
		d.byData = false
	}
	if b.Rule.Host == nil && AnyUnknown(args) {
		known, assumed, ok := d.fillUnbacked(b, args)
		if !ok {
			return d.unknownResult(b), nil
		}
		was := d.assumed
		d.assumed = was || assumed
		defer func() { d.assumed = was }()
		args = known
	}
	mark := len(d.temps)
	if d.casts.to != "" && !d.casts.inside {
		to, cast, err := d.autocast(b, args)
		if err != nil {
			return nil, err
		}
		if cast != nil {
			return d.applyCast(to, cast, args, mark)
		}
	}
	v, err := d.run(b, args)
	if len(d.temps) > mark {
		d.dropTemps(mark)
	}
	return v, err
}

// run runs an overload's rule.
func (d *Dispatch) run(b *ops.Bound, args []any) (any, error) {
	if d.depth == len(d.calls) {
		d.calls = append(d.calls, &ops.Call{})
	}
	c := d.calls[d.depth] // no rule keeps its call
	d.depth++
	*c = ops.Call{Bound: b, Args: args, M: d}
	err := d.looksAt(c)
	var v any
	if err == nil {
		v, err = d.rule(c)
	}
	d.depth--
	return v, err
}

func (d *Dispatch) rule(c *ops.Call) (any, error) {
	switch r := c.Rule; {
	case r.Host != nil:
		return d.host(c)
	case r.Body != nil:
		return d.body(c)
	}
	return d.out(c)
}

// host runs an operator that makes no storage.
func (d *Dispatch) host(c *ops.Call) (any, error) {
	if c.WritesContainer {
		d.changes.touchAll(c.Args)
	}
	if u, lost, guarded := ops.Guard(c); guarded {
		if lost && !d.Incomplete() {
			d.Unsupported(c.Schema.Key(), trace.ReadsData)
		}
		if len(c.Schema.Returns) == 1 {
			return u, nil
		}
		return d.unknownResult(c.Bound), nil
	}
	members := 0
	if len(c.Args) > 0 {
		members = membersOf(c.Args[0])
	}
	v, err := c.Rule.Host(c)
	if err == nil {
		err = d.hostMade(c, members, v)
	}
	if err != nil {
		return nil, err
	}
	if u, unknown := v.(ops.Unbacked); unknown {
		u = ofSchema(c, u)
		if u.Kind == schema.Int && ops.ReadsTensor(c) {
			if n, ok := d.Assumed(); ok {
				return n, nil
			}
		}
		return u, nil
	}
	d.Hold(v)
	return v, nil
}

// ofSchema gives an unknown number the kind that the operator's schema states: int(x) of a tensor
// of floats is an int.
func ofSchema(c *ops.Call, u ops.Unbacked) ops.Unbacked {
	if len(c.Schema.Returns) != 1 {
		return u
	}
	switch k := ops.KindOf(c.Schema.Returns[0].Type); k {
	case schema.Int, schema.Float, schema.Bool:
		if k != u.Kind {
			return ops.NewUnbacked(c.Schema.Key(), k)
		}
	}
	return u
}

// body runs an operator that is made of others.
func (d *Dispatch) body(c *ops.Call) (any, error) {
	d.noteLack(c)
	v, err := c.Rule.Body(c)
	if first := c.Err(); first != nil { // what a body says of the results of a part that failed is no news
		err = first
	}
	if missing, ok := Missing(err); ok {
		d.Missed(missing)
		return d.unknownResult(c.Bound), nil
	}
	if err != nil {
		return nil, err
	}
	d.Hold(v)
	return v, nil
}

// out runs a kernel: its workspace and its results, each in its order.
func (d *Dispatch) out(c *ops.Call) (any, error) {
	metas, err := c.Rule.Out(c)
	if err == nil && len(metas) > hostItems {
		err = d.Walk(len(metas))
	}
	if err != nil {
		return nil, err
	}
	d.noteLack(c)
	w := d.workspaceOf(c)
	if w.inOrder() {
		return d.outInOrder(c, metas, &w)
	}
	w.take(true)
	v, err := d.results(c, metas, nil)
	if err != nil {
		return nil, err
	}
	w.take(false)
	w.free()
	return v, nil
}

// outInOrder is out for a kernel that makes its results in a separate order.
func (d *Dispatch) outInOrder(c *ops.Call, metas []tensor.Meta, w *workspaces) (any, error) {
	made := make([]*tensor.Tensor, len(metas))
	var returns []ops.Result // that are tensors
	for i, r := range c.Results {
		if c.Schema.Returns[i].Type.Kind == schema.Tensor {
			returns = append(returns, r)
		}
	}
	for i := range w.asked {
		n := w.asked[i].Result - 1
		if n < 0 {
			w.takeOne(&w.asked[i])
			continue
		}
		t, err := d.result(c, returns[n], &metas[n], false)
		if err != nil {
			return nil, err
		}
		made[n] = t
	}
	v, err := d.results(c, metas, made)
	w.free()
	return v, err
}

// dropTemps releases what operators hold from mark on, the latest first, as C++ locals go.
func (d *Dispatch) dropTemps(mark int) {
	for i := len(d.temps) - 1; i >= mark; i-- {
		v := d.temps[i]
		d.temps[i] = nil
		d.temps = d.temps[:i]
		d.Drop(v)
	}
}

// Do runs a part of the operator under way, which holds the result.
func (d *Dispatch) Do(b *ops.Bound, args []any) (any, error) {
	v, err := d.Apply(b, args)
	if err != nil {
		return nil, err
	}
	d.temps = append(d.temps, v)
	return v, nil
}

// Free releases a result of Do before the operator under way returns.
func (d *Dispatch) Free(v any) {
	for i := len(d.temps) - 1; i >= 0; i-- {
		if d.temps[i] == v {
			d.temps = append(d.temps[:i], d.temps[i+1:]...)
			d.Drop(v)
			return
		}
	}
}

// Keep holds v until the operator under way returns.
func (d *Dispatch) Keep(v any) {
	d.Hold(v)
	d.temps = append(d.temps, v)
}

// Platform is what the run happens on.
func (d *Dispatch) Platform() *platform.Platform { return d.platform }

// Table is the rules.
func (d *Dispatch) Table() *ops.Table { return d.table }
