package torchscript

import (
	"fmt"
	"strings"

	"github.com/memspec/memspec/engine/internal/python"
	"github.com/memspec/memspec/engine/program"
)

// This file turns code/**.py into classes and functions without bodies.

// sourceFile is one record of code.
type sourceFile struct {
	python.File
	module string // "__torch__.torch.nn.functional"
	debug  debugTable

	funcs, lowered int // how many functions it has, and of how many the body was asked for
}

const codeFolder = "code/"

// readSource outlines every code record and turns its classes and functions into the program's,
// file by file. Classes refer to each other across files, so that references are resolved when all
// are known.
func (d *decoder) readSource() error {
	n := 0
	for _, name := range d.names {
		if isCode(name) {
			n++
		}
	}
	if n == 0 {
		return fmt.Errorf("got no record %s**.py, want one", codeFolder)
	}
	d.files = make([]sourceFile, 0, n)
	d.classes = make(map[string]*program.Class, 2*n)
	s := &sources{d: d}
	for _, name := range d.names {
		if !isCode(name) {
			continue
		}
		src, err := d.readFile(name)
		if err != nil {
			return err
		}
		d.files = append(d.files, sourceFile{File: python.File{Name: name, Source: src}, module: moduleName(name)})
		f := &d.files[len(d.files)-1]
		if err := d.outline.Outline(&f.File); err != nil {
			return err
		}
		if err := s.define(f); err != nil {
			return err
		}
		f.Body = nil // its memory is used again
	}
	for _, t := range d.classTypes {
		t.Class = d.classes[t.Name]
	}
	return nil
}

func isCode(name string) bool {
	return strings.HasPrefix(name, codeFolder) && strings.HasSuffix(name, ".py")
}

// moduleName is a record's qualified name: code/__torch__/net.py is __torch__.net.
func moduleName(record string) string {
	return strings.ReplaceAll(record[len(codeFolder):len(record)-len(".py")], "/", ".")
}

// sources builds the classes and functions of all files.
type sources struct {
	d *decoder
}

// body is what lowering a function starts from.
type body struct {
	d    *decoder
	file *sourceFile
	def  python.FuncDef // its signature's tree is gone
}

func classKind(base string) program.ClassKind {
	switch base {
	case "Module":
		return program.ModuleClass
	case "NamedTuple":
		return program.NamedTupleClass
	case "Enum":
		return program.EnumClass
	case "Interface", "ModuleInterface":
		return program.InterfaceClass
	}
	return program.PlainClass
}

func (s *sources) define(f *sourceFile) error {
	for _, st := range f.Body {
		switch st := st.(type) {
		case *python.ClassDef:
			if err := s.class(f, st); err != nil {
				return err
			}
		case *python.FuncDef:
			fn, err := s.function(f, st, nil)
			if err != nil {
				return err
			}
			if s.d.funcs[fn.Name] != nil {
				return f.Errorf(st.Start, "got a second function %s, want one of a name", fn.Name)
			}
			s.d.funcs[fn.Name] = fn
		}
	}
	return nil
}

func (s *sources) class(f *sourceFile, def *python.ClassDef) error {
	name := f.module + "." + def.Name
	if s.d.classes[name] != nil {
		return f.Errorf(def.Start, "got a second class %s, want one of a name", name)
	}
	c := &program.Class{Name: name, Kind: classKind(def.Base)}
	s.d.classes[name] = c
	if c.Kind == program.PlainClass && def.Base != "" {
		return f.Errorf(def.Start, "got class %s of %s, want Module, NamedTuple, Enum or Interface", def.Name, def.Base)
	}
	methods := 0
	for _, st := range def.Body {
		if _, ok := st.(*python.FuncDef); ok {
			methods++
		}
	}
	c.Attrs = make([]program.Attr, 0, len(def.Body)-methods)
	for _, st := range def.Body {
		switch st := st.(type) {
		case *python.Assign:
			if err := s.attribute(f, c, st); err != nil {
				return err
			}
		case *python.FuncDef, *python.Simple:
		default:
			return f.Errorf(st.Bounds().Start, "got a statement in a class, want an attribute or a method")
		}
	}
	c.Methods = make([]*program.Func, 0, methods)
	for _, st := range def.Body {
		if m, ok := st.(*python.FuncDef); ok {
			fn, err := s.function(f, m, c)
			if err != nil {
				return err
			}
			c.Methods = append(c.Methods, fn)
		}
	}
	c.Seal()
	return nil
}

// attribute reads one assignment in a class:
//
//	__parameters__ = ["weight", ]      and the like
//	name : Type
//	name : Final[Type] = value         a constant: an attribute whose value is the class's
//	__annotations__["0"] = Type        a name that is no identifier
//	RED = 1                            of an Enum
func (s *sources) attribute(f *sourceFile, c *program.Class, st *python.Assign) error {
	var a program.Attr
	var err error
	switch target := st.Targets[0].(type) {
	case *python.Name:
		a.Name = target.Text
		if st.Type == nil && strings.HasPrefix(a.Name, "__") {
			return s.classList(f, c, a.Name, st.Value)
		}
	case *python.Subscript:
		key, ok := target.Index.(*python.String)
		if name, isName := target.X.(*python.Name); !ok || !isName || name.Text != "__annotations__" {
			return f.Errorf(st.Start, `got a subscript, want __annotations__["name"]`)
		}
		a.Name = key.Value
		a.Type, err = s.d.typeOf(&f.File, st.Value)
		c.Attrs = append(c.Attrs, a)
		return err
	default:
		return f.Errorf(st.Start, "got a statement in a class, want an attribute or a method")
	}
	if st.Type != nil {
		if a.Type, err = s.d.typeOf(&f.File, st.Type); err != nil {
			return err
		}
	}
	a.HasDef = st.Value != nil
	c.Attrs = append(c.Attrs, a) // within the room made for all, so that the address holds
	if a.HasDef {
		return s.d.constantTo(&c.Attrs[len(c.Attrs)-1].Default, f, st.Value)
	}
	return nil
}

// lateConstant is a constant or default that refers to constants.pkl or to a class, which may be
// read after it.
type lateConstant struct {
	to    *any
	file  *sourceFile
	value python.Raw
}

// constantTo sets a constant now or, if need be, later.
func (d *decoder) constantTo(to *any, f *sourceFile, value python.Expr) (err error) {
	if text := f.Text(value.Bounds()); strings.Contains(text, "CONSTANTS.") || strings.Contains(text, "__torch__.") {
		d.late = append(d.late, lateConstant{to, f, python.Raw{Span: value.Bounds(), Text: text}})
		return nil
	}
	*to, err = d.constant(&f.File, value)
	return err
}

func (d *decoder) lateConstants() (err error) {
	for _, k := range d.late {
		if *k.to, err = d.constant(&k.file.File, &k.value); err != nil {
			return err
		}
	}
	return nil
}

// classList reads __parameters__ and __buffers__. Hooks are of no use: callers call them like any
// method.
func (s *sources) classList(f *sourceFile, c *program.Class, name string, value python.Expr) error {
	var list *[]string
	switch name {
	case "__parameters__":
		list = &c.Parameters
	case "__buffers__":
		list = &c.Buffers
	default:
		return nil // __annotations__ = [], hooks
	}
	*list = []string{}
	if raw, ok := value.(*python.Raw); ok && raw.Text == "[]" {
		return nil
	}
	s.d.small.Use(&f.File)
	x, err := s.d.small.Expr(value)
	if err != nil {
		return err
	}
	l, ok := x.(*python.List)
	if !ok {
		return f.Errorf(value.Bounds().Start, "%s: got %q, want a list of names", name, f.Text(value.Bounds()))
	}
	for _, e := range l.Elems {
		str, ok := e.(*python.String)
		if !ok {
			return f.Errorf(e.Bounds().Start, "%s: got %q, want a string", name, f.Text(e.Bounds()))
		}
		*list = append(*list, str.Value)
	}
	return nil
}

// function makes a Func without a body.
func (s *sources) function(f *sourceFile, def *python.FuncDef, c *program.Class) (*program.Func, error) {
	f.funcs++
	fn := &program.Func{Method: def.Name, Class: c, Record: f.Name, Line: def.Line}
	if c != nil {
		fn.Module = c.Kind == program.ModuleClass && def.Name == "forward"
		fn.Name = c.Name + "." + def.Name
	} else {
		fn.Name = f.module + "." + def.Name
	}
	fn.Params = make([]program.Param, len(def.Params))
	for i, q := range def.Params {
		p := &fn.Params[i]
		p.Name = q.Name
		var err error
		if q.Type != nil && (i > 0 || c == nil) {
			if p.Type, err = s.d.typeOf(&f.File, q.Type); err != nil {
				return nil, err
			}
		}
		if q.Default != nil {
			p.HasDef = true
			if err := s.d.constantTo(&p.Default, f, q.Default); err != nil {
				return nil, err
			}
		}
	}
	if def.Result != nil {
		var err error
		if fn.Result, err = s.d.typeOf(&f.File, def.Result); err != nil {
			return nil, err
		}
	}
	b := &body{s.d, f, *def}
	b.def.Params, b.def.Result = nil, nil
	return program.NewFunc(fn, b.lower), nil
}
