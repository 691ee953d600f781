package python

// arena hands out tree nodes from chunks, so that parsing allocates a few times a file and not once
// a node. A Parser that is Reset uses its chunks again: trees are short-lived, they are lowered and
// forgotten.
type arena struct {
	names    slab[Name]
	numbers  slab[Number]
	strings  slab[String]
	attrs    slab[Attr]
	calls    slab[Call]
	subs     slab[Subscript]
	slices   slab[Slice]
	tuples   slab[Tuple]
	lists    slab[List]
	dicts    slab[Dict]
	parens   slab[Paren]
	unaries  slab[Unary]
	binaries slab[Binary]
	conds    slab[Cond]
	raws     slab[Raw]
	assigns  slab[Assign]
	effects  slab[ExprStmt]
	ifs      slab[If]
	simples  slab[Simple]
	returns  slab[Return]
	funcs    slab[FuncDef]
	exprList slices[Expr]
	argList  slices[Arg]
	stmtList slices[Stmt]
	parList  slices[Param]
}

func (a *arena) reset() {
	a.names.reset()
	a.numbers.reset()
	a.strings.reset()
	a.attrs.reset()
	a.calls.reset()
	a.subs.reset()
	a.slices.reset()
	a.tuples.reset()
	a.lists.reset()
	a.dicts.reset()
	a.parens.reset()
	a.unaries.reset()
	a.binaries.reset()
	a.conds.reset()
	a.raws.reset()
	a.assigns.reset()
	a.effects.reset()
	a.ifs.reset()
	a.simples.reset()
	a.returns.reset()
	a.funcs.reset()
	a.exprList.reset()
	a.argList.reset()
	a.stmtList.reset()
	a.parList.reset()
}

const firstChunk, lastChunk = 16, 512 // values

// doublings is how many chunks it takes from the first size to the last.
const doublings = 5

// slab hands out single values; a value's address holds until reset.
type slab[T any] struct {
	chunks [][]T
	chunk  int // in use
	used   int // of it
}

func (s *slab[T]) new(v T) *T {
	if s.chunk == len(s.chunks) {
		s.chunks = append(s.chunks, make([]T, min(firstChunk<<min(len(s.chunks), doublings), lastChunk)))
	}
	c := s.chunks[s.chunk]
	p := &c[s.used]
	*p = v
	if s.used++; s.used == len(c) {
		s.chunk, s.used = s.chunk+1, 0
	}
	return p
}

func (s *slab[T]) reset() { s.chunk, s.used = 0, 0 }

// slices hands out slices of values that were gathered on a stack; see take.
type slices[T any] struct {
	stack []T // lists under construction, the innermost on top
	free  []T // rest of the chunk in use
	chunk []T // the whole of it
}

// push adds an element to the innermost list.
func (s *slices[T]) push(v T) { s.stack = append(s.stack, v) }

// mark is where a list that begins now will begin.
func (s *slices[T]) mark() int { return len(s.stack) }

// take ends the list that began at mark and returns it.
func (s *slices[T]) take(mark int) []T {
	n := len(s.stack) - mark
	if n == 0 {
		return nil
	}
	if n > len(s.free) {
		s.chunk = make([]T, max(n, min(max(2*len(s.chunk), 4*firstChunk), 4*lastChunk)))
		s.free = s.chunk
	}
	list := s.free[:n:n]
	s.free = s.free[n:]
	copy(list, s.stack[mark:])
	s.stack = s.stack[:mark]
	return list
}

func (s *slices[T]) reset() { s.stack, s.free = s.stack[:0], s.chunk }
