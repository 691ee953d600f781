package torchexport

// graph reads a graph, which may hold others in its arguments.
func (r reader) graph() *graph {
	g := &graph{}
	r.Object(func(key string) {
		switch key {
		case "inputs":
			r.list(func() { g.inputs = add(r, g.inputs, r.argument()) })
		case "outputs":
			r.list(func() { g.outputs = add(r, g.outputs, r.argument()) })
		case "nodes":
			r.list(func() { g.nodes = r.addNode(g.nodes) })
		case "tensor_values":
			r.Object(func(name string) { g.tensors = add(r, g.tensors, namedTensor{name, r.tensor()}) })
		case "sym_int_values":
			r.Object(func(name string) { g.ints = add(r, g.ints, namedSize{name, r.size()}) })
		case "is_single_tensor_return":
			g.single = r.Bool()
		default:
			r.Skip()
		}
	})
	return g
}

func (r reader) node() (n node) {
	n.at = r.Offset()
	r.Object(func(key string) {
		switch key {
		case "target":
			n.target = r.String()
		case "name":
			if !r.Null() {
				n.name = r.String()
			}
		case "inputs":
			r.list(func() { n.inputs = add(r, n.inputs, r.namedArgument()) })
		case "outputs":
			r.list(func() { n.outputs = add(r, n.outputs, r.argument()) })
		case "metadata":
			r.Object(func(key string) {
				switch key {
				case "stack_trace":
					n.stack = r.Raw()
				case "nn_module_stack":
					n.modules = r.Raw()
				default:
					r.Skip()
				}
			})
		default:
			r.Skip()
		}
	})
	return n
}

// namedArgument reads an argument with its parameter's name.
func (r reader) namedArgument() (a argument) {
	var name string
	r.Object(func(key string) {
		switch key {
		case "name":
			name = r.String()
		case "arg":
			a = r.argument()
		default:
			r.Skip()
		}
	})
	a.name = name
	return a
}

// named reads an object that names something.
func (r reader) named(kind kindOfArgument) argument {
	a := argument{kind: kind}
	r.Object(func(key string) {
		if key == "name" {
			a.text = r.String()
			return
		}
		r.Skip()
	})
	return a
}

// argument reads one of the kinds of values that arguments and results are.
func (r reader) argument() (a argument) {
	r.union(func(key string) {
		if !r.scalar(&a, key) && !r.sequence(&a, key) {
			r.Fail("got an argument of kind %s, want one that is known", key)
		}
	})
	return a
}

// scalar reads the kinds that are no lists.
func (r reader) scalar(a *argument, key string) bool {
	switch key {
	case "as_none":
		r.Skip()
		*a = argument{}
	case "as_tensor":
		*a = r.named(tensorArg)
	case "as_optional_tensor":
		*a = r.optionalTensor()
	case "as_int":
		*a = argument{kind: intArg, n: r.Int()}
	case "as_float":
		*a = argument{kind: floatArg, f: r.Float()}
	case "as_bool":
		*a = argument{kind: boolArg}
		if r.Bool() {
			a.n = 1
		}
	case "as_string":
		*a = argument{kind: stringArg, text: r.String()}
	case "as_sym_int", "as_sym_float", "as_sym_bool":
		*a = r.symbol()
	case "as_scalar_type":
		*a = argument{kind: dtypeArg, n: r.Int()}
	case "as_memory_format":
		*a = argument{kind: formatArg, n: r.Int()}
	case "as_layout":
		*a = argument{kind: layoutArg, n: r.Int()}
	case "as_device":
		*a = argument{kind: deviceArg, text: r.device()}
	case "as_operator":
		*a = argument{kind: operatorArg, text: r.String()}
	case "as_custom_obj":
		*a = r.named(objectArg)
	case "as_graph":
		*a = r.subgraph()
	case "as_complex":
		*a = argument{kind: complexArg, items: make([]argument, 2)}
		r.Object(func(key string) {
			switch key {
			case "real":
				a.items[0] = argument{kind: floatArg, f: r.Float()}
			case "imag":
				a.items[1] = argument{kind: floatArg, f: r.Float()}
			default:
				r.Skip()
			}
		})
	default:
		return false
	}
	return true
}

// sequence reads the kinds that are lists.
func (r reader) sequence(a *argument, key string) bool {
	var item func() argument
	var elem kindOfArgument
	switch key {
	case "as_tensors":
		item, elem = func() argument { return r.named(tensorArg) }, tensorArg
	case "as_optional_tensors":
		item, elem = r.optionalTensor, tensorArg
	case "as_nested_tensors":
		item, elem = func() argument { return r.items(tensorArg, func() argument { return r.named(tensorArg) }) }, listArg
	case "as_ints":
		item, elem = r.int, intArg
	case "as_floats":
		item, elem = r.float, floatArg
	case "as_bools":
		item, elem = r.bool, boolArg
	case "as_strings":
		item, elem = func() argument { return argument{kind: stringArg, text: r.String()} }, stringArg
	case "as_sym_ints":
		item, elem = r.symbol, intArg
	case "as_sym_floats":
		item, elem = r.symbol, floatArg
	case "as_sym_bools":
		item, elem = r.symbol, boolArg
	case "as_int_lists":
		item, elem = func() argument { return r.items(intArg, r.int) }, listArg
	case "as_float_lists":
		item, elem = func() argument { return r.items(floatArg, r.float) }, listArg
	case "as_string_to_argument":
		*a = argument{kind: dictArg}
		r.Object(func(name string) {
			v := r.argument()
			v.name = name
			a.items = add(r, a.items, v)
		})
		return true
	default:
		return false
	}
	*a = r.items(elem, item)
	return true
}

func (r reader) items(elem kindOfArgument, item func() argument) argument {
	a := argument{kind: listArg, elem: elem}
	r.Array(func() { a.items = add(r, a.items, item()) })
	return a
}

func (r reader) int() argument   { return argument{kind: intArg, n: r.Int()} }
func (r reader) float() argument { return argument{kind: floatArg, f: r.Float()} }

func (r reader) bool() argument {
	a := argument{kind: boolArg}
	if r.Bool() {
		a.n = 1
	}
	return a
}

// symbol is a number of the graph by its name, or a plain one.
func (r reader) symbol() (a argument) {
	r.union(func(key string) {
		switch key {
		case "as_name":
			a = argument{kind: symbolArg, text: r.String()}
		case "as_int":
			a = r.int()
		case "as_float":
			a = r.float()
		case "as_bool":
			a = r.bool()
		default:
			r.Fail("got a symbolic number of kind %s, want one that is known", key)
		}
	})
	return a
}

func (r reader) optionalTensor() (a argument) {
	r.union(func(key string) {
		switch key {
		case "as_tensor":
			a = r.named(tensorArg)
		case "as_none":
			r.Skip()
			a = argument{}
		default:
			a.text = r.tensorName(key)
			a.kind = tensorArg
		}
	})
	return a
}

// tensorName reads a tensor's name where it stands bare.
func (r reader) tensorName(key string) string {
	if key != "name" {
		r.Fail("got an optional tensor of kind %s, want one that is known", key)
		return ""
	}
	return r.String()
}

func (r reader) subgraph() argument {
	a := argument{kind: graphArg}
	r.Object(func(key string) {
		switch key {
		case "name":
			a.text = r.String()
		case "graph":
			a.graph = r.graph()
		default:
			r.Skip()
		}
	})
	return a
}

// device is the type of a device: a case names the one device that everything is on.
func (r reader) device() (kind string) {
	r.Object(func(key string) {
		if key == "type" {
			kind = r.String()
			return
		}
		r.Skip()
	})
	return kind
}

func (r reader) tensor() (t tensorMeta) {
	r.Object(func(key string) {
		switch key {
		case "dtype":
			t.dtype = r.Int()
		case "sizes":
			r.list(func() { t.sizes = add(r, t.sizes, r.size()) })
		case "strides":
			r.list(func() { t.strides = add(r, t.strides, r.size()) })
		case "storage_offset":
			if r.IsObject() {
				t.offset = r.size()
			} else { // before 2.5
				t.offset = size{n: r.Int()}
			}
		case "device":
			t.device = r.device()
		case "layout":
			t.layout = r.Int()
		case "requires_grad":
			t.grad = r.Bool()
		default:
			r.Skip()
		}
	})
	return t
}

// size reads a number that may be an expression.
func (r reader) size() (s size) {
	r.union(func(key string) {
		switch key {
		case "as_int":
			s.n = r.Int()
		case "as_expr":
			r.Object(func(key string) {
				switch {
				case key == "expr_str":
					s.text = r.Raw()
				case key == "hint" && !r.Null():
					r.union(func(key string) {
						if key != "as_int" {
							r.Skip()
							return
						}
						s.hint, s.hasHint = r.Int(), true
					})
				case key != "hint":
					r.Skip()
				}
			})
		default:
			r.Fail("got a size of kind %s, want one that is known", key)
		}
	})
	return s
}
