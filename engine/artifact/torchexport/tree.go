package torchexport

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/memspec/memspec/engine/program"
)

// treespec is how torch.utils._pytree writes a structure: [1, {"type": …, "context": …,
// "children_spec": […]}], the type null of a leaf.
type treespec struct {
	Type     *string         `json:"type"`
	Context  json.RawMessage `json:"context"` // JSON as a string; of a defaultdict an object
	Children []treespec      `json:"children_spec"`
}

// readTree reads a structure; "" is none.
func readTree(text string) (*program.Tree, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > maxTreeText {
		return nil, fmt.Errorf("got a treespec of %d bytes, want at most %d", len(text), maxTreeText)
	}
	var parts []json.RawMessage
	if err := json.Unmarshal([]byte(text), &parts); err != nil || len(parts) != 2 {
		return nil, errors.New("got a treespec that is none, want a protocol number and a tree")
	}
	if string(parts[0]) != "1" {
		return nil, fmt.Errorf("got a treespec of protocol %s, want 1", short(string(parts[0])))
	}
	var spec treespec
	if err := json.Unmarshal(parts[1], &spec); err != nil {
		return nil, fmt.Errorf("treespec: %w", err)
	}
	return spec.tree(0)
}

const (
	maxTree     = 100     // how deep structures may be nested
	maxTreeText = 4 << 20 // bytes of a treespec: of the largest seen a thousand times
)

func (s *treespec) tree(depth int) (*program.Tree, error) {
	if depth > maxTree {
		return nil, fmt.Errorf("got a treespec nested more than %d deep", maxTree)
	}
	t := &program.Tree{}
	if s.Type == nil {
		if len(s.Children) > 0 {
			return nil, errors.New("got a treespec whose leaf has children")
		}
		return t, nil
	}
	switch *s.Type {
	case "builtins.tuple":
		t.Kind = program.TupleTree
	case "builtins.list", "collections.deque":
		t.Kind = program.ListTree
	case "builtins.dict", "collections.OrderedDict", "collections.defaultdict":
		t.Kind = program.DictTree
		t.Names = s.names()
		if len(t.Names) != len(s.Children) {
			return nil, fmt.Errorf("got a treespec of a dict of %d keys with %d members", len(t.Names), len(s.Children))
		}
	default:
		t.Kind, t.Class = program.ObjectTree, *s.Type
		if names := s.names(); len(names) == len(s.Children) {
			t.Names = names
		}
	}
	for i := range s.Children {
		child, err := s.Children[i].tree(depth + 1)
		if err != nil {
			return nil, err
		}
		t.Items = append(t.Items, child)
	}
	return t, nil
}

// names are the keys in a context; nil where it holds none.
func (s *treespec) names() []string {
	var keys []any
	var text string
	var factory struct {
		Keys []any `json:"dict_context"`
	}
	switch {
	case json.Unmarshal(s.Context, &text) == nil:
		if json.Unmarshal([]byte(text), &keys) != nil {
			return nil
		}
	case json.Unmarshal(s.Context, &factory) == nil:
		keys = factory.Keys
	}
	if keys == nil {
		return nil
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = fmt.Sprint(k)
	}
	return names
}

// inputs are what a caller gives by name: the members of the tuple of positional arguments, then
// those of the dict of keyword arguments. nil is what the file does not record, or what does not
// fit the parameters.
func (d *document) callerInputs(params []program.Param) ([]program.Input, error) {
	t, err := readTree(d.inTree)
	if err != nil || t == nil {
		return nil, err
	}
	if t.Kind != program.TupleTree || len(t.Items) != 2 || t.Items[1].Kind != program.DictTree {
		return nil, errors.New("got an in_spec of another form than (positional arguments, keyword arguments)")
	}
	if n := t.Leaves(); n != len(params) {
		return nil, fmt.Errorf("got %d inputs, want the %d leaves of in_spec", len(params), n)
	}
	var out []program.Input
	next := 0
	add := func(name string, t *program.Tree) {
		if name == "" && t.Kind == program.LeafTree {
			name = params[next].Name
		}
		if name == "" {
			name = fmt.Sprintf("arg%d", len(out))
		}
		out = append(out, program.Input{Name: name, Tree: t})
		next += t.Leaves()
	}
	for i, item := range t.Items[0].Items {
		name := ""
		if i < len(d.argNames) {
			name = d.argNames[i]
		}
		add(name, item)
	}
	for i, item := range t.Items[1].Items {
		add(t.Items[1].Names[i], item)
	}
	return out, nil
}
