package torchexport

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/memspec/memspec/engine/internal/jsonscan"
)

// This file reads the model's JSON (torch/_export/serde/schema.py) as it stands: names are not
// resolved, members that memspec does not use are passed over. Texts are parts of the document.

// The schema versions that are read: the oldest that a public file was found with (torch 2.3), and
// the newest that torch 2.15 writes. A newer minor version adds members, which are passed over; a
// newer major one may mean anything.
const (
	oldestSchema = 2
	newestSchema = 8
)

type document struct {
	graph     *graph
	inputs    []inputSpec
	outputs   []outputSpec
	inTree    string // treespecs of the whole call, JSON in JSON
	outTree   string
	argNames  []string
	symbols   []symbolRange
	major     int64
	minor     int64
	torch     string
	verifiers []string
}

// symbolRange is a symbol's range; nil is no limit.
type symbolRange struct {
	name     string
	min, max *int64
}

type graph struct {
	inputs  []argument
	outputs []argument
	nodes   []node
	tensors []namedTensor
	ints    []namedSize
	single  bool // of a higher-order operator: it gives its one result bare
}

type namedTensor struct {
	name string
	meta tensorMeta
}

type namedSize struct {
	name string
	size size
}

// tensorMeta is a tensor as the file describes it.
type tensorMeta struct {
	dtype          int64
	sizes, strides []size
	offset         size
	device         string
	layout         int64
	grad           bool
}

// size is a whole number: the number itself, or the text of an expression with the value that it
// had.
type size struct {
	n       int64
	text    []byte // raw; nil of a plain number
	hint    int64
	hasHint bool
}

type node struct {
	target  string
	name    string
	inputs  []argument
	outputs []argument
	stack   []byte // raw
	modules []byte // raw
	at      int    // offset in the document
}

// kindOfArgument is which member of the union an argument is.
type kindOfArgument uint8

const (
	noneArg   kindOfArgument = iota
	tensorArg                // text names it
	symbolArg                // a number of the graph: text names it
	intArg
	floatArg
	boolArg
	stringArg
	dtypeArg
	formatArg
	layoutArg
	deviceArg
	listArg // of items
	dictArg // of items with their names
	graphArg
	objectArg
	operatorArg
	complexArg // items are its two parts
)

type argument struct {
	name  string // the parameter's; "" of one by position
	text  string
	n     int64
	f     float64
	items []argument
	graph *graph
	kind  kindOfArgument
	elem  kindOfArgument // of a list, where the file records: an empty list has a type
}

// The kinds of inputs and outputs.
type specKind uint8

const (
	userSpec specKind = iota
	parameterSpec
	bufferSpec
	constantSpec
	objectSpec
	tokenSpec
	literalSpec
	lossSpec
	gradientSpec
	bufferMutation
	parameterMutation
	inputMutation
)

type inputSpec struct {
	kind       specKind
	arg        argument // of a literal: its value
	target     string
	persistent bool
}

type outputSpec struct {
	kind   specKind
	arg    argument
	target string
}

// reader reads one document.
type reader struct {
	*jsonscan.Scanner
	made  *int // bytes of the values that were made of it
	nodes *int // nodes of all of its graphs
}

// maxMade is how many bytes the values of one document may take. A number of two letters becomes
// a value of a hundred bytes: the document's size bounds nothing. The program of a model of 70
// billion parameters takes 5 MiB, one of 100,000 operators some 100 MiB.
const maxMade = 128 << 20

// maxSymbols is how many sizes a program may have that vary: a thousand times what one seen has.
const maxSymbols = 100_000

// add appends a value of the document to a list of it.
func add[T any](r reader, list []T, v T) []T {
	if *r.made += int(unsafe.Sizeof(v)); *r.made > maxMade {
		r.Fail("got more than %d bytes of values, want fewer", maxMade)
		return nil
	}
	return append(list, v)
}

// maxNodes is how many nodes a document may have in all of its graphs: four times those of a model
// of 100,000 operators. Each costs a run some microseconds.
const maxNodes = 400_000

// addNode reads a node and appends it.
func (r reader) addNode(list []node) []node {
	if *r.nodes++; *r.nodes > maxNodes {
		r.Fail("got more than %d nodes, want fewer", maxNodes)
		return nil
	}
	return add(r, list, r.node())
}

// readDocument reads a model's JSON. A schema that is not known is refused by its number, whatever
// else may be odd about it.
func readDocument(data []byte) (*document, error) {
	d := &document{torch: "2.4 or before"}
	r := newReader(data)
	d.read(r)
	err := r.Err()
	if err != nil && d.major == 0 {
		d.readVersionAlone(data)
	}
	switch {
	case d.major > newestSchema:
		return nil, fmt.Errorf("got schema version %d.%d, want %d.x or older: a newer torch wrote this", d.major,
			d.minor, newestSchema)
	case d.major != 0 && d.major < oldestSchema:
		return nil, fmt.Errorf("got schema version %d.%d, want %d.x to %d.x: an old torch wrote this; export the model again",
			d.major, d.minor, oldestSchema, newestSchema)
	case err != nil:
		return nil, err
	case d.major == 0:
		return nil, errors.New("got no schema_version, want one: is this a torch.export program?")
	case d.graph == nil:
		return nil, errors.New("got no graph_module.graph, want one")
	}
	return d, nil
}

func (d *document) read(r reader) {
	r.Object(func(key string) {
		switch key {
		case "schema_version":
			d.readVersion(r)
		case "graph_module":
			d.readModule(r)
		case "range_constraints":
			r.Object(func(name string) {
				if d.symbols = add(r, d.symbols, r.symbolRange(name)); len(d.symbols) > maxSymbols {
					r.Fail("got more than %d symbols, want fewer", maxSymbols)
				}
			})
		case "torch_version":
			d.torch = r.String()
		case "verifiers":
			r.list(func() { d.verifiers = add(r, d.verifiers, r.String()) })
		default:
			r.Skip()
		}
	})
	r.End()
}

// readVersionAlone finds the schema version of a document of which something else could not be
// read.
func (d *document) readVersionAlone(data []byte) {
	r := newReader(data)
	r.Object(func(key string) {
		if key == "schema_version" {
			d.readVersion(r)
		} else {
			r.Skip()
		}
	})
}

func (d *document) readVersion(r reader) {
	if !r.IsObject() { // 2.2 and before wrote one number
		d.major = r.Int()
		return
	}
	r.Object(func(key string) {
		switch key {
		case "major":
			d.major = r.Int()
		case "minor":
			d.minor = r.Int()
		default:
			r.Skip()
		}
	})
}

func (d *document) readModule(r reader) {
	r.Object(func(key string) {
		switch key {
		case "graph":
			d.graph = r.graph()
		case "signature":
			r.Object(func(key string) {
				switch key {
				case "input_specs":
					r.list(func() { d.inputs = add(r, d.inputs, r.inputSpec()) })
				case "output_specs":
					r.list(func() { d.outputs = add(r, d.outputs, r.outputSpec()) })
				default:
					r.Skip()
				}
			})
		case "module_call_graph":
			r.list(func() { d.readCall(r) })
		default:
			r.Skip()
		}
	})
}

// readCall keeps the signature of the whole call, whose module has no name.
func (d *document) readCall(r reader) {
	var fqn, in, out string
	var names []string
	r.Object(func(key string) {
		switch {
		case key == "fqn":
			fqn = r.String()
		case key == "signature" && !r.Null():
			r.Object(func(key string) {
				switch {
				case key == "in_spec":
					in = r.String()
				case key == "out_spec":
					out = r.String()
				case key == "forward_arg_names":
					r.list(func() { names = add(r, names, r.String()) })
				default:
					r.Skip()
				}
			})
		case key != "signature":
			r.Skip()
		}
	})
	if fqn == "" && in != "" {
		d.inTree, d.outTree, d.argNames = in, out, names
	}
}

func (r reader) symbolRange(name string) symbolRange {
	s := symbolRange{name: name}
	r.Object(func(key string) {
		var to **int64
		switch key {
		case "min_val":
			to = &s.min
		case "max_val":
			to = &s.max
		}
		if to == nil {
			r.Skip()
		} else if !r.Null() {
			n := r.Int()
			*to = &n
		}
	})
	return s
}

// list reads an array, or null for none.
func (r reader) list(item func()) {
	if !r.Null() {
		r.Array(item)
	}
}

// union reads an object of which one member is not null, as every version but the oldest writes it
// alone.
func (r reader) union(member func(key string)) {
	r.Object(func(key string) {
		if !r.Null() {
			member(key)
		}
	})
}

func (r reader) inputSpec() (s inputSpec) {
	r.union(func(key string) {
		switch key {
		case "user_input":
			s.kind = userSpec
		case "parameter":
			s.kind = parameterSpec
		case "buffer":
			s.kind = bufferSpec
		case "tensor_constant":
			s.kind = constantSpec
		case "custom_obj":
			s.kind = objectSpec
		case "token":
			s.kind = tokenSpec
		case "constant_input":
			s.kind = literalSpec
		default:
			r.Fail("got an input of kind %s, want one that is known", key)
		}
		r.Object(func(key string) {
			switch key {
			case "arg":
				s.arg = r.specArgument(s.kind == userSpec)
			case "value":
				s.arg = r.argument()
			case "name":
				s.target = r.String()
			case "parameter_name", "buffer_name", "tensor_constant_name", "custom_obj_name":
				s.target = r.String()
			case "persistent":
				s.persistent = r.Bool()
			default:
				r.Skip()
			}
		})
	})
	return s
}

// specArgument is what an input or output stands for: anything where it is the user's, else a
// tensor's name.
func (r reader) specArgument(user bool) argument {
	if user {
		return r.argument()
	}
	return r.named(tensorArg)
}

func (r reader) outputSpec() (s outputSpec) {
	r.union(func(key string) {
		switch key {
		case "user_output":
			s.kind = userSpec
		case "loss_output":
			s.kind = lossSpec
		case "buffer_mutation":
			s.kind = bufferMutation
		case "parameter_mutation":
			s.kind = parameterMutation
		case "user_input_mutation":
			s.kind = inputMutation
		case "gradient_to_parameter", "gradient_to_user_input":
			s.kind = gradientSpec
		case "token":
			s.kind = tokenSpec
		default:
			r.Fail("got an output of kind %s, want one that is known", key)
		}
		r.Object(func(key string) {
			switch key {
			case "arg":
				s.arg = r.specArgument(s.kind == userSpec)
			case "parameter_name", "buffer_name", "user_input_name":
				s.target = r.String()
			default:
				r.Skip()
			}
		})
	})
	return s
}

func newReader(data []byte) reader { return reader{jsonscan.New(data), new(int), new(int)} }
