package fx

import (
	"fmt"
	"strings"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// Literal is the value of a literal of the program.
func (w *walker) Literal(v any) any { return w.literal(v) }

// literal makes a literal's value. What containers take is charged: a graph that runs for each part
// of a tensor makes them each time. Where they are too much, the next instruction fails.
func (w *walker) literal(v any) any {
	switch v := v.(type) {
	case *program.State:
		return w.State(v)
	case program.Device:
		d := w.device(string(v))
		if d != string(v) {
			w.Note(note.Note{ID: note.DeviceRemapped, Subject: string(v)})
		}
		return ops.Device(d)
	case *program.ListLit:
		_ = w.MakeItems(len(v.Items))
		l := &ops.List{Items: make([]any, len(v.Items)), Elem: exec.ElemKind(v.Elem), Refs: 1}
		for i, item := range v.Items {
			l.Items[i] = w.literal(item)
			w.Hold(l.Items[i])
		}
		return l
	case *program.DictLit:
		_ = w.MakeItems(2 * len(v.Keys))
		d := &ops.Dict{Refs: 1}
		for i, k := range v.Keys {
			d.Keys, d.Values = append(d.Keys, w.literal(k)), append(d.Values, w.literal(v.Values[i]))
		}
		return d
	case *program.Opaque:
		return &ops.Packed{Class: v.Class}
	}
	return v
}

// device is the one that the program means.
func (w *walker) device(d string) string {
	kind, _, _ := strings.Cut(d, ":")
	if w.host && kind != "meta" {
		return exec.Accelerator
	}
	return kind
}

// leaves are the parameters' values: the caller's arguments taken apart. They also give the symbols
// their values.
func (w *walker) leaves(args []any) ([]any, error) {
	f := w.prog.Entry
	leaves := args
	if f.Inputs != nil {
		leaves = make([]any, 0, len(f.Params))
		for i, in := range f.Inputs {
			got := take(nil, args[i], in.Tree)
			if want := in.Tree.Leaves(); len(got) != want {
				return nil, &exec.InputError{Msg: fmt.Sprintf("input %s: got %d values, want the %d of %s", in.Name,
					len(got), want, in.Tree)}
			}
			leaves = append(leaves, got...)
		}
	}
	given := make([][]int64, len(leaves))
	for i, v := range leaves {
		p := &f.Params[i]
		switch v := v.(type) {
		case *tensor.Tensor:
			given[i] = append([]int64{}, v.Sizes...) // not nil, though it has no dimensions
			if p.Meta == nil {
				return nil,
					&exec.InputError{Msg: fmt.Sprintf("input %s: got a tensor, want none: the program was exported without one",
						p.Name)}
			}
		case int64:
			given[i] = []int64{v}
		}
		if p.Meta != nil && given[i] == nil {
			return nil, &exec.InputError{Msg: fmt.Sprintf("input %s: got %s, want a tensor %s", p.Name, ops.TypeName(v),
				p.Meta)}
		}
	}
	if w.symbols == nil {
		symbols, err := w.prog.BindSymbols(given)
		if err != nil {
			return nil, &exec.InputError{Msg: oneLine(err)}
		}
		w.symbols = symbols
	}
	return leaves, nil
}

// take lists the leaves of a value in the order of a structure: a dict's by its keys where both
// have them.
func take(out []any, v any, t *program.Tree) []any {
	if t.Kind == program.LeafTree {
		return append(out, v)
	}
	var items []any
	switch v := v.(type) {
	case *ops.List:
		items = v.Items
	case *ops.Tuple:
		items = v.Items
	case *ops.Dict:
		items = v.Values
		if len(t.Names) == len(v.Keys) {
			named := make([]any, 0, len(items))
			for _, name := range t.Names {
				if at := v.Find(name); at >= 0 {
					named = append(named, v.Values[at])
				}
			}
			if len(named) == len(items) {
				items = named
			}
		}
	default:
		return append(out, v)
	}
	for i, item := range items {
		if i < len(t.Items) && len(items) == len(t.Items) {
			out = take(out, item, t.Items[i])
		} else {
			out = flat(out, item)
		}
	}
	return out
}

// oneLine joins what several lines say.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// atExample says whether the symbols have the values that they were exported with.
func (w *walker) atExample() bool {
	for _, s := range w.prog.Symbols {
		if v, ok := w.symbols[s.Name]; s.Unbacked || !ok || v != s.Example {
			return false
		}
	}
	return true
}
