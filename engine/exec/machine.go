package exec

import (
	"context"
	"errors"

	"github.com/memspec/memspec/engine/exec/lifetime/stacks"
	"github.com/memspec/memspec/engine/internal/pysource"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
	"github.com/memspec/memspec/engine/units"
)

// machine is one run. It is not safe for concurrent use, and shares nothing that it changes with other runs of its program.
type machine struct {
	ctx   context.Context
	prog  *program.Program
	table *ops.Table
	plat  *platform.Platform
	o     Options

	tr    *trace.Trace
	refs  []int32           // holders by storage
	birth []trace.SiteID    // where each storage was made
	live  []*tensor.Storage // by id
	bytes units.Bytes       // of live storages on the accelerator
	peak  units.Bytes

	codes   map[*program.Graph]*code
	objects map[*program.Object]*Object
	states  map[*program.State]*tensor.Tensor

	frame *frame // the innermost call
	regs  []any  // the registers of active frames, a stack
	set   []bool
	depth int
	steps int
	pass  int
	phase trace.Phase
	site  trace.SiteID // of the operator under way

	noModule     Object // holds the places of functions that no module calls
	scratchSites map[trace.SiteID]trace.SiteID

	known map[*tensor.Storage][]*tensor.Tensor // tensors whose values are known

	temps   []any // held by operators under way, see ops.Call.Do
	kept    map[string]bool
	noted   map[noted]bool
	atMost  bool // a size was taken at its most
	byData  bool // the operator under way makes a size that tensor data decides
	missing map[lack]int
	library libraryCalls
	grad    bool

	stacks    *stacks.Program // of a traced program
	texts     map[*program.SourceText]*pysource.Source
	effects   map[call]int32 // places in operators, and one more
	operators []operator
	flat      bool  // inlining was tried
	whole     *code // the inlined program, where the runtime inlines

	storages    slab[tensor.Storage]
	tensors     slab[tensor.Tensor]
	instances   slab[Object]
	values      slab[any]
	flags       slab[bool]
	numbers     slab[int32]
	bindings    slab[[]int32]
	names       slab[string]
	nameWork    nameWork
	layout      layout
	insts       slab[inst]
	blocks      slab[block]
	blockLists  slab[*block]
	places      slab[codeSites]
	ids         slab[int]
	lists       slab[ops.List]
	calls       []*ops.Call // of operators under way, see newCall
	inCalls     int
	argStack    []any
	frames      []*frame // to be used again
	spareLocals []*locals

	native    bool // letting go of what C++ holds
	standing  bool // inside an operator some of whose numbers stand in for others
	casting   bool // inside an operator whose arguments autocast changed
	casts     map[*tensor.Tensor]*tensor.Tensor
	castOrder []*tensor.Tensor

	chosen          map[branchKey]bool // ways to go where a branch depends on tensor data
	took            map[branchKey]bool
	undecided       []branchKey
	decisions       int             // branches on tensor data, each time one is met
	grew            bool            // a loop's most is not known
	unsettledRounds int             // of loops that may not end, see maxUnsettled
	asked           map[string]bool // places that assume: may speak of
	written         []*Object       // whose attributes the model sets

	args    []any              // of every pass
	old     tensor.StorageID   // storages below were there before the pass under way
	changed bool               // the pass under way changed something that was there before
	touched []any              // containers that it wrote
	once    []tensor.StorageID // storages that it made and no later one does
}

// branchKey is a branch of the program.
type branchKey struct {
	fn  *program.Func
	num int32
}

func newMachine(ctx context.Context, p *program.Program, t *ops.Table, o Options) *machine {
	m := &machine{
		ctx: ctx, prog: p, table: t, plat: o.Platform, o: o,
		tr:      &trace.Trace{Origin: "exec", Passes: o.Passes},
		codes:   map[*program.Graph]*code{},
		objects: map[*program.Object]*Object{},
		took:    map[branchKey]bool{},
		site:    trace.NoSite,
	}
	if p == nil {
		m.states = map[*program.State]*tensor.Tensor{}
	} else {
		m.states = make(map[*program.State]*tensor.Tensor, len(p.States))
		n := len(p.States) + 32 // a classifier makes about as many more in a pass
		m.refs = make([]int32, 0, 2*n)
		m.birth = make([]trace.SiteID, 0, 2*n)
		m.live = make([]*tensor.Storage, 0, 2*n)
		m.tr.Events = make([]trace.Event, 0, 3*n)
		m.tr.Sites = make([]trace.Site, 0, 2*n)
	}
	return m
}

// newStorage makes a storage with no holder. Only the accelerator's are events; a storage of no bytes never reaches the allocator.
func (m *machine) newStorage(bytes units.Bytes, device string, cat tensor.Category) *tensor.Storage {
	s := m.storages.new()
	*s = tensor.Storage{ID: tensor.StorageID(len(m.refs)), NBytes: bytes, Device: device, Category: cat}
	m.refs = append(m.refs, 0)
	m.birth = append(m.birth, m.site)
	m.live = append(m.live, s)
	if device == accelerator && bytes > 0 {
		m.tr.Events = append(m.tr.Events, trace.Event{Action: trace.Alloc, Storage: s.ID, Bytes: bytes, Pass: m.pass, Site: m.site})
		m.bytes += bytes
		m.peak = max(m.peak, m.bytes)
	}
	return s
}

// release ends a storage's life.
func (m *machine) release(id tensor.StorageID) {
	s := m.live[id]
	if s == nil {
		return
	}
	m.live[id] = nil
	if s.Device == accelerator && s.NBytes > 0 {
		m.tr.Events = append(m.tr.Events, trace.Event{Action: trace.FreeRequested, Storage: id, Bytes: s.NBytes, Pass: m.pass, Site: m.birth[id]})
		m.bytes -= s.NBytes
	}
}

// hold counts one more holder of v.
func (m *machine) hold(v any) {
	switch v := v.(type) {
	case *tensor.Tensor:
		if v.Storage.ID >= 0 {
			m.refs[v.Storage.ID]++
		}
	case *ops.List:
		v.Refs++
	case *ops.Tuple:
		v.Refs++
	case *ops.Dict:
		v.Refs++
	case *Object:
		v.refs++
	}
}

// drop counts one holder less; what no one holds dies, and lets go of its members.
func (m *machine) drop(v any) {
	switch v := v.(type) {
	case *tensor.Tensor:
		id := v.Storage.ID
		if id < 0 {
			return
		}
		m.refs[id]--
		if m.refs[id] == 0 {
			m.release(id)
		}
	case *ops.List:
		if v.Refs--; v.Refs == 0 {
			m.dropItems(v.Items)
		}
	case *ops.Tuple:
		if v.Refs--; v.Refs == 0 && v.Struct {
			for _, item := range v.Items {
				m.drop(item)
			}
		} else if v.Refs == 0 {
			m.dropItems(v.Items)
		}
	case *ops.Dict:
		if v.Refs--; v.Refs == 0 {
			for i := range v.Values {
				m.drop(v.Keys[i])
				m.drop(v.Values[i])
			}
		}
	case *Object:
		if v.refs--; v.refs == 0 && !v.Module {
			for i, filled := range v.filled {
				if filled {
					m.drop(v.attrs[i])
				}
			}
		}
	}
}

// dropItems lets go of a container's members: CPython clears lists and tuples from the end, structs (torch.return_types) and C++ vectors from
// the front.
func (m *machine) dropItems(items []any) {
	if m.o.Liveness == PythonFrame && !m.native {
		for i := len(items) - 1; i >= 0; i-- {
			m.drop(items[i])
		}
		return
	}
	for _, v := range items {
		m.drop(v)
	}
}

// newTensor makes a tensor on a fresh storage, held once.
func (m *machine) newTensor(meta tensor.Meta, cat tensor.Category) (*tensor.Tensor, error) {
	if err := meta.Check(); err != nil {
		return nil, err
	}
	meta.StorageOffset = 0
	s := m.newStorage(meta.StorageBytes(), meta.Device, cat)
	m.refs[s.ID] = 1
	t := m.tensors.new()
	*t = tensor.Tensor{Meta: meta, Storage: s}
	return t, nil
}

// noSite forgets the operator under way.
func (m *machine) noSite() { m.site = trace.NoSite }

// Do, Free, Hold, Drop, Keep, Note, Bound, Platform, GradMode and Table are ops.Machine.

// Do runs a part of the operator under way, which holds its result.
func (m *machine) Do(b *ops.Bound, args []any) (any, error) {
	v, err := m.apply(b, args)
	if err != nil {
		return nil, err
	}
	m.temps = append(m.temps, v)
	return v, nil
}

// Free lets go of a result of Do early.
func (m *machine) Free(v any) {
	for i := len(m.temps) - 1; i >= 0; i-- {
		if m.temps[i] == v {
			m.temps = append(m.temps[:i], m.temps[i+1:]...)
			m.dropNative(v)
			return
		}
	}
}

// dropNative lets go of a value that C++ held: containers go from the front.
func (m *machine) dropNative(v any) {
	was := m.native
	m.native = true
	m.drop(v)
	m.native = was
}

// Hold counts a container's member.
func (m *machine) Hold(v any) { m.hold(v) }

// Drop counts a member less.
func (m *machine) Drop(v any) { m.drop(v) }

// Keep holds v until the operator under way returns.
func (m *machine) Keep(v any) {
	m.hold(v)
	m.temps = append(m.temps, v)
}

// noted is a note at a place.
type noted struct {
	note.Note
	place trace.Site
}

// Note records an assumption, once at a place.
func (m *machine) Note(n note.Note) {
	key := noted{n, m.tr.Site(m.site)}
	if m.noted[key] {
		return
	}
	if m.noted == nil {
		m.noted = map[noted]bool{}
	}
	m.noted[key] = true
	m.tr.Notes = append(m.tr.Notes, trace.Note{Note: n, Site: m.site})
}

// Bound chooses an end of a data-dependent count.
func (m *machine) Bound(lower, upper int64) int64 {
	if n, ok := m.assumed(); ok {
		return min(max(n, lower), upper)
	}
	m.atMost, m.byData = true, true
	m.Note(note.Note{ID: note.ShapeBound})
	if m.o.Lower {
		return lower
	}
	return upper
}

// Platform is what the run happens on.
func (m *machine) Platform() *platform.Platform { return m.plat }

// GradMode is false: inference runs under no_grad.
func (m *machine) GradMode() bool { return m.grad }

// Table is the rules.
func (m *machine) Table() *ops.Table { return m.table }

// lack is what is missing from the account.
type lack struct {
	op     string
	reason trace.Reason
	detail string
}

// unsupported collects an operator whose results are missing, and why.
func (m *machine) unsupported(op string, why trace.Reason) { m.lacks(lack{op, why, ""}) }

func (m *machine) lacks(l lack) {
	if m.missing == nil {
		m.missing = map[lack]int{}
	}
	i, ok := m.missing[l]
	if !ok {
		i = len(m.tr.Coverage.Unsupported)
		m.missing[l] = i
		u := trace.Unsupported{Op: l.op, Reason: l.reason, Detail: l.detail, First: m.tr.Site(m.site)}
		m.tr.Coverage.Unsupported = append(m.tr.Coverage.Unsupported, u)
	}
	m.tr.Coverage.Unsupported[i].Count++
}

// missed collects an operator without a rule, unless the run knows already why its result is missing.
func (m *machine) missed(e *ops.MissingError) {
	switch {
	case !e.Told:
		m.unsupported(e.Op, trace.NoRule)
	case len(m.tr.Coverage.Unsupported) == 0:
		m.unsupported(e.Op, trace.ReadsData)
	}
}

// step counts one node.
func (m *machine) step() error {
	m.steps++
	if m.steps > m.o.MaxSteps {
		return &LimitError{What: "steps", Limit: m.o.MaxSteps}
	}
	if len(m.refs) > maxStorages {
		return &LimitError{What: "allocations", Limit: maxStorages}
	}
	if m.steps&0xfff == 0 {
		if err := m.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// isMissing finds an operator without a rule in err's chain.
func isMissing(err error) (*ops.MissingError, bool) {
	if err == nil {
		return nil, false
	}
	var missing *ops.MissingError
	ok := errors.As(err, &missing)
	return missing, ok
}
