// Package schema parses PyTorch's operator schemas, such as
//
//	aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
//
// with every alias form: Tensor(a), Tensor(a!), Tensor(a -> *), Tensor(a)[], t(*). The grammar is
// torch/csrc/jit/frontend/function_schema_parser.cpp's.
package schema

import "strings"

// Kind is the head of a type.
type Kind uint8

// The kinds. Int also stands for SymInt; Number for Scalar; ScalarType, Layout and MemoryFormat are
// ints at run time.
const (
	Any Kind = iota
	Tensor
	Int
	Float
	Complex
	Bool
	Str
	Number
	ScalarType
	Layout
	MemoryFormat
	QScheme
	Device
	Generator
	Stream
	Storage
	None
	List
	Optional
	Tuple
	Dict
	Future
	Var   // a type variable: t, t1, tVal
	Class // __torch__.torch.classes.…, AnyClassType, AnyEnumType, Dimname
)

// Type is a type with its alias annotation.
type Type struct {
	Kind  Kind
	Elems []*Type // List, Optional, Future: one; Dict: two; Tuple: all
	Size  int     // of int[2]: a single int is accepted and repeated
	Name  string  // of Var and Class
	Alias *Alias
}

// Alias is an annotation: (a), (a!), (a -> *), (*).
type Alias struct {
	Set   string // "a", "*", "a|b"
	Write bool
}

// Arg is one argument.
type Arg struct {
	Name       string
	Type       *Type
	Default    any // nil, bool, int64, float64, string, []any
	HasDefault bool
	KwOnly     bool
}

// Schema is one overload's signature.
type Schema struct {
	Name     string // "aten::add"
	Overload string // "Tensor", or ""
	Args     []Arg
	Returns  []Arg
	VarArgs  bool // "..." among the arguments
	VarRets  bool
}

// Key is the name with its overload: "aten::add.Tensor".
func (s *Schema) Key() string {
	if s.Overload == "" {
		return s.Name
	}
	return s.Name + "." + s.Overload
}

// ArgIndex is the place of an argument, -1 where there is none of that name.
func (s *Schema) ArgIndex(name string) int {
	for i := range s.Args {
		if s.Args[i].Name == name {
			return i
		}
	}
	return -1
}

// KeyOf cuts the key out of a schema's text without parsing it.
func KeyOf(text string) string {
	if i := strings.IndexByte(text, '('); i >= 0 {
		return text[:i]
	}
	return text
}

// NameOf is KeyOf less the overload.
func NameOf(text string) string {
	k := KeyOf(text)
	if i := strings.IndexByte(k, '.'); i >= 0 {
		return k[:i]
	}
	return k
}

var kindByName = map[string]Kind{
	"Tensor": Tensor, "int": Int, "SymInt": Int, "float": Float, "complex": Complex, "bool": Bool, "SymBool": Bool,
	"str":    Str,
	"Scalar": Number, "number": Number, "ScalarType": ScalarType, "Layout": Layout, "MemoryFormat": MemoryFormat,
	"QScheme": QScheme,
	"Device":  Device, "Generator": Generator, "Stream": Stream, "Storage": Storage, "NoneType": None, "Any": Any,
	"DeviceIndex": Int,
}

var kindNames = [...]string{"Any", "Tensor", "int", "float", "complex", "bool", "str", "Scalar", "ScalarType", "Layout",
	"MemoryFormat", "QScheme",
	"Device", "Generator", "Stream", "Storage", "NoneType", "[]", "?", "()", "Dict", "Future", "", ""}

// String prints a type as PyTorch does, alias left out.
func (t *Type) String() string {
	switch t.Kind {
	case List:
		return t.Elems[0].String() + "[]"
	case Optional:
		return t.Elems[0].String() + "?"
	case Var, Class:
		return t.Name
	case Tuple, Dict, Future:
		parts := make([]string, len(t.Elems))
		for i, e := range t.Elems {
			parts[i] = e.String()
		}
		head := kindNames[t.Kind]
		if t.Kind == Tuple {
			head = ""
		}
		return head + "(" + strings.Join(parts, ", ") + ")"
	}
	return kindNames[t.Kind]
}
