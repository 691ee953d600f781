package exec

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
)

// Budget bounds what the operators of a run make and walk beside tensors, all of them together.
// Steps alone do not bound a run: one step may join a list of a million tensors, or copy a string
// of a megabyte.
type Budget struct {
	walked int // items of containers and parts of strings that operators looked at
	made   int // bytes of containers and strings
}

const (
	maxWalked = 1 << 24   // items: some seconds where each is a tensor
	maxMade   = 256 << 20 // bytes

	itemBytes  = 16  // of a member of a container
	stringPart = 256 // bytes of a string that cost what an item costs
	hostItems  = 8   // items that a host operator walks in the time of one of a kernel's
)

// Within is the error of a budget that is spent.
func (b *Budget) Within() error {
	switch {
	case b.walked > maxWalked:
		return &LimitError{What: "items of lists looked at", Limit: maxWalked}
	case b.made > maxMade:
		return &LimitError{What: "bytes of strings, lists, tuples and dicts", Limit: maxMade}
	}
	return nil
}

// Walk counts items that something looks at.
func (b *Budget) Walk(items int) error {
	b.walked += items
	return b.Within()
}

// Make counts bytes that a run's values take.
func (b *Budget) Make(bytes int) error {
	b.made += bytes
	return b.Within()
}

// MakeItems counts a container of n members.
func (b *Budget) MakeItems(n int) error { return b.Make(n * itemBytes) }

// constantTime are operators on containers that take the same time whatever is in them.
var constantTime = []string{"aten::append", "aten::len", "aten::__getitem__", "aten::_set_item", "aten::pop",
	"aten::get", "aten::setdefault", "aten::select"}

// looksAt counts what an operator looks at before it runs.
func (b *Budget) looksAt(c *ops.Call) error {
	items := 0
	for _, v := range c.Args {
		switch v := v.(type) {
		case *ops.List:
			items += len(v.Items)
		case *ops.Tuple:
			items += len(v.Items)
		case *ops.Dict:
			items += len(v.Keys)
		case string:
			items += len(v) / stringPart
		}
	}
	if items <= hostItems { // most operators
		return nil
	}
	if c.Rule.Host != nil {
		if slices.Contains(constantTime, c.Schema.Name) {
			return nil
		}
		items /= hostItems
	}
	return b.Walk(items)
}

// hostMade counts what a host operator made; before is how many members its first argument had.
func (b *Budget) hostMade(c *ops.Call, before int, v any) error {
	if len(c.Args) > 0 {
		if more := membersOf(c.Args[0]) - before; more > 0 {
			if err := b.MakeItems(more); err != nil {
				return err
			}
		}
	}
	if s, ok := v.(string); ok {
		return b.Make(len(s))
	}
	n := membersOf(v)
	if n == 0 || slices.Contains(constantTime, c.Schema.Name) || len(c.Args) > 0 && v == c.Args[0] {
		return nil
	}
	switch first := firstOf(v).(type) {
	case string:
		n *= 2
	case *ops.Tuple:
		n *= 5 + len(first.Items)
	}
	return b.MakeItems(n)
}

// membersOf is how many places a container has.
func membersOf(v any) int {
	switch v := v.(type) {
	case *ops.List:
		return len(v.Items)
	case *ops.Tuple:
		return len(v.Items)
	case *ops.Dict:
		return 2 * len(v.Keys)
	}
	return 0
}

func firstOf(v any) any {
	if items := ops.Members(v); len(items) > 0 {
		return items[0]
	}
	return nil
}
