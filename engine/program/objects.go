package program

// Objects are what a program of a format with objects has besides its graphs.
type Objects struct {
	Root    *Object  // the module that Entry is a method of; nil where there is none
	Classes []*Class // sorted by name
	// free functions, sorted by name; those that another function holds (see prim::fork) are not
	// among them
	Funcs []*Func
}

// Object is an instance of a class: a module, or any other object the archive holds. Exec copies
// attributes before it changes them.
type Object struct {
	Class *Class
	FQN   string // for modules: the first path from the root
	Attrs []any  // Literals in the order of Class.Attrs
	// State is what the archive holds of an object whose class has __setstate__: that method's
	// argument. Attrs then holds the class's constants only, until the method has run.
	State    any
	HasState bool
}

// Literal values, as they stand in Attrs, Constants and Args: nil (None), bool, int64, float64,
// complex128, string, Device, *State (a tensor), *Object, *ListLit, *TupleLit, *DictLit, EnumLit,
// *FuncRef.
type (
	// Device is a torch.device literal.
	Device string
	// ListLit is a list.
	ListLit struct {
		Items []any
		Elem  *Type // nil where not known
	}
	// TupleLit is a tuple; Class is set for a named tuple.
	TupleLit struct {
		Items []any
		Class *Class
	}
	// DictLit is a dict in insertion order.
	DictLit struct{ Keys, Values []any }
	// EnumLit is a member of an enumeration class.
	EnumLit struct {
		Class *Class
		Name  string
		Value any
	}
	// Opaque is a custom-class object (packed parameters of quantized operators, say): its state is
	// whatever the archive held.
	Opaque struct {
		Class string
		State any
	}
)

// ClassKind distinguishes the sorts of classes.
type ClassKind uint8

// The class kinds.
const (
	PlainClass ClassKind = iota
	ModuleClass
	NamedTupleClass
	EnumClass
	InterfaceClass
)

// Class is a class of the archive.
type Class struct {
	Name       string // "__torch__.torchvision.models.resnet.ResNet"
	Kind       ClassKind
	Attrs      []Attr // in the order of the source; named tuple fields and enum members too
	Parameters []string
	Buffers    []string
	Methods    []*Func
	attrIndex  map[string]int
	methods    map[string]*Func
}

// Attr is a declared attribute.
type Attr struct {
	Name    string
	Type    *Type
	Default any // enum members: their value; named tuple defaults; else nil
	HasDef  bool
}

// many is from how many on a map finds names faster.
const many = 24

// Seal builds the look-up tables of a class with many attributes or methods; the decoder calls it
// once, when both are complete.
func (c *Class) Seal() {
	if len(c.Attrs) >= many {
		c.attrIndex = make(map[string]int, len(c.Attrs))
		for i, a := range c.Attrs {
			c.attrIndex[a.Name] = i
		}
	}
	if len(c.Methods) >= many {
		c.methods = make(map[string]*Func, len(c.Methods))
		for _, m := range c.Methods {
			c.methods[m.Method] = m
		}
	}
}

// AttrIndex is the place of an attribute in Object.Attrs; of two of one name the later counts.
func (c *Class) AttrIndex(name string) (int, bool) {
	if c.attrIndex != nil {
		i, ok := c.attrIndex[name]
		return i, ok
	}
	for i := len(c.Attrs) - 1; i >= 0; i-- {
		if c.Attrs[i].Name == name {
			return i, true
		}
	}
	return 0, false
}

// Method finds a method, nil where there is none.
func (c *Class) Method(name string) *Func {
	if c.methods != nil {
		return c.methods[name]
	}
	for i := len(c.Methods) - 1; i >= 0; i-- {
		if c.Methods[i].Method == name {
			return c.Methods[i]
		}
	}
	return nil
}
