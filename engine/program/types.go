package program

import "strings"

// TypeKind is the head of a type annotation.
type TypeKind uint8

// The kinds of types that serialised TorchScript writes.
const (
	AnyType TypeKind = iota
	TensorType
	IntType
	FloatType
	ComplexType
	BoolType
	StrType
	NoneType
	NumberType
	DeviceType
	GeneratorType
	StreamType
	ListType
	TupleType
	DictType
	OptionalType
	UnionType
	FutureType
	ClassType // Class is set, or Name where the class is not of the archive (a torch class)
)

// Type is a type annotation.
type Type struct {
	Kind  TypeKind
	Elems []*Type // List and Optional: one; Dict: key and value; Tuple and Union: all
	Name  string  // ClassType: its qualified name
	Class *Class  // ClassType: where the archive has it
}

var typeNames = [...]string{"Any", "Tensor", "int", "float", "complex", "bool", "str", "NoneType", "number", "Device",
	"Generator", "Stream",
	"List", "Tuple", "Dict", "Optional", "Union", "Future", ""}

// String prints the type as TorchScript writes it.
func (t *Type) String() string {
	if t == nil {
		return "?"
	}
	if t.Kind == ClassType {
		return t.Name
	}
	if len(t.Elems) == 0 {
		if t.Kind == TupleType {
			return "Tuple[()]"
		}
		return typeNames[t.Kind]
	}
	parts := make([]string, len(t.Elems))
	for i, e := range t.Elems {
		parts[i] = e.String()
	}
	return typeNames[t.Kind] + "[" + strings.Join(parts, ", ") + "]"
}
