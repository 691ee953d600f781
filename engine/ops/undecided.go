package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/schema"
)

// moves are the operators on containers that only move members about: a member that is not known stays so. Where it goes must be known.
var moves = []string{"aten::append", "aten::extend", "aten::add_", "aten::add", "aten::len", "aten::list", "aten::dict", "aten::copy", "aten::clear", "aten::reverse",
	"aten::insert", "aten::__getitem__", "aten::_set_item", "aten::pop", "aten::popitem", "aten::keys", "aten::values", "aten::items", "aten::slice", "aten::select",
	"aten::get", "aten::setdefault", "aten::update", "aten::Delete", "aten::mul", "aten::mul_"}

// whereTo are the arguments of those that say where, or how often.
var whereTo = []string{"idx", "index", "key", "start", "end", "step", "n"}

// Undecided says whether an operator on the host hangs on a number that is not known; then result is what it gives: a number of a known
// kind, or why the account ends there, where it changes a container or takes a tensor out of one.
func Undecided(c *Call) (result Unknown, missing, undecided bool) {
	looks := !slices.Contains(moves, c.Schema.Name)
	inside, found := false, false
	for i, v := range c.Args {
		switch v := v.(type) {
		case Unknown:
			found = found || !c.onContainer() || looks || i < len(c.Schema.Args) && slices.Contains(whereTo, c.Schema.Args[i].Name)
		case *List:
			inside = inside || slices.ContainsFunc(v.Items, func(v any) bool { return !IsKnown(v) })
		case *Dict:
			inside = inside || slices.ContainsFunc(v.Keys, func(v any) bool { return !IsKnown(v) })
		}
	}
	if !found && !(inside && (looks || c.byKey())) {
		return Unknown{}, false, false
	}
	result = Unknown{Op: c.Schema.Key(), Kind: schema.Any}
	if len(c.Schema.Returns) == 1 {
		result.Kind = KindOf(c.Schema.Returns[0].Type)
	}
	if !c.onContainer() {
		return result, false, true
	}
	if len(c.Schema.Returns) == 1 && c.Schema.Returns[0].Type.Kind == schema.Var {
		result.Kind = c.membersKind()
	}
	a := c.Schema.Args[0].Type.Alias
	writes := a != nil && a.Write
	return result, writes || result.Kind == schema.Any, true
}

// onContainer says whether a call's first argument is a container.
func (c *Call) onContainer() bool {
	if len(c.Args) == 0 {
		return false
	}
	switch c.Args[0].(type) {
	case *List, *Dict, *Tuple:
		return true
	}
	return false
}

// byKey says whether a call finds a member of a dict.
func (c *Call) byKey() bool {
	_, isDict := c.Args[0].(*Dict)
	return isDict && c.Schema.ArgIndex("key") >= 0
}

// membersKind is the kind of number that all members of the first argument are, schema.Any where they are none.
func (c *Call) membersKind() schema.Kind {
	l, ok := c.Args[0].(*List)
	if !ok || len(l.Items) == 0 {
		return schema.Any
	}
	kind := schema.Any
	for i, v := range l.Items {
		k := NumberKind(v)
		if u, unknown := v.(Unknown); unknown {
			k = u.Kind
		}
		if i > 0 && k != kind {
			return schema.Any
		}
		kind = k
	}
	return kind
}
