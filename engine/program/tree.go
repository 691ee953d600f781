package program

// Tree is the structure of a value that a caller gives or gets: a leaf, or a container of trees
// (torch.utils._pytree).
type Tree struct {
	Kind  TreeKind
	Class string   // of an object: its class
	Names []string // of a dict's or an object's members, one each, where they are reported
	Items []*Tree
}

// TreeKind is what a Tree is.
type TreeKind uint8

// The kinds of trees.
const (
	LeafTree TreeKind = iota
	TupleTree
	ListTree
	DictTree
	ObjectTree // of a class that is registered with pytree: a dataclass, a cache
)

// Leaves is how many leaves a tree has.
func (t *Tree) Leaves() int {
	if t.Kind == LeafTree {
		return 1
	}
	n := 0
	for _, item := range t.Items {
		n += item.Leaves()
	}
	return n
}

// Input is what a caller gives by one name: so many of the function's parameters, in their order,
// as its tree has leaves.
type Input struct {
	Name string
	Tree *Tree
}

// String is "(leaf, [leaf, leaf], {a: leaf})", a leaf being a star.
func (t *Tree) String() string {
	if t.Kind == LeafTree {
		return "*"
	}
	brackets := [...]string{TupleTree: "()", ListTree: "[]", DictTree: "{}", ObjectTree: "()"}[t.Kind]
	s := t.Class + brackets[:1]
	for i, item := range t.Items {
		if i > 0 {
			s += ", "
		}
		if i < len(t.Names) {
			s += t.Names[i] + ": "
		}
		s += item.String()
	}
	return s + brackets[1:]
}
