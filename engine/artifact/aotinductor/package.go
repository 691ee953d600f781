// Package aotinductor turns the wrapper of an AOTInductor package, in C++, into a program.
//
// A wrapper says each buffer that it makes, uses again and ends, with sizes and strides, each
// separate kernel, and each operator that it falls back to. It is read as text, statement by
// statement; one that is not known is an error with its line, so that nothing is passed over. No
// compiled code of a package is looked at.
package aotinductor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// Folder holds an AOTInductor package's models, each a folder with its wrapper.
const Folder = "data/aotinductor"

// Format is the name of programs that were read from packages.
const Format = "aotinductor"

// Sniff says whether an archive is an AOTInductor package.
func Sniff(f fs.FS) bool {
	_, err := fs.Stat(f, Folder)
	return err == nil
}

// Decode reads a package, presented as its top folder: the model of that name, "" for the one that
// is loaded where no other is asked for.
func Decode(f fs.FS, model string) (*program.Program, error) {
	record, err := wrapperOf(f, model)
	if err != nil {
		return nil, err
	}
	metadata := readMetadata(f, record)
	if d := metadata["AOTI_DEVICE_KEY"]; d != "" && d != "cuda" {
		return nil, fmt.Errorf("got a package that was compiled for %s, want one compiled for cuda", short(d))
	}
	data, err := fs.ReadFile(f, record)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("%s: got no text, want the wrapper's", record)
	}
	own, err := readOwn(f, record)
	if err != nil {
		return nil, err
	}
	kernels, err := kernelLines(f, record)
	if err != nil {
		return nil, err
	}
	p, err := decodePackage(string(data), record, beside{own, kernels})
	if err != nil {
		return nil, fmt.Errorf("%s:%w", record, err)
	}
	p.Producer = "compiled for CUDA"
	if sm, err := strconv.Atoi(metadata["AOTI_COMPUTE_CAPABILITY"]); err == nil && sm >= 10 && sm < 1000 {
		p.For = [2]int{sm / 10, sm % 10}
		p.Producer += fmt.Sprintf(", compute capability %d.%d", sm/10, sm%10)
	}
	return p, program.CheckTables(p)
}

// loadedModel is the model that torch._inductor.aoti_load_package loads where it is not known
// another (torch/_inductor/package/package.py load_package).
const loadedModel = "model"

// wrapperOf is the record of a model's wrapper: of the one that is named, else of the only one in
// the package, or of the one that is loaded of several.
func wrapperOf(f fs.FS, model string) (string, error) {
	models, err := fs.ReadDir(f, Folder)
	if err != nil {
		return "", err
	}
	var found, folders, loaded []string
	for _, m := range models {
		if !m.IsDir() {
			continue
		}
		folders = append(folders, m.Name())
		records, err := fs.ReadDir(f, path.Join(Folder, m.Name()))
		if err != nil {
			return "", err
		}
		for _, e := range records {
			if strings.HasSuffix(e.Name(), ".cpp") && !strings.HasSuffix(e.Name(), ".kernel.cpp") {
				found = append(found, path.Join(Folder, m.Name(), e.Name()))
				if m.Name() == cmp.Or(model, loadedModel) {
					loaded = append(loaded, path.Join(Folder, m.Name(), e.Name()))
				}
			}
		}
	}
	switch {
	case model != "" && !slices.Contains(folders, model):
		return "", fmt.Errorf("got no model %s in the package, want one of %s", short(model),
			strings.Join(folders, ", "))
	case len(loaded) == 1:
		return loaded[0], nil
	case model != "":
		return "", fmt.Errorf("got %d wrappers of the model %s, want one", len(loaded), short(model))
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return "", fmt.Errorf("got no wrapper (*.wrapper.cpp) below %s, want the package with its sources: "+
			"aot_inductor.package_cpp_only, or torch 2.6 and later", Folder)
	}
	return "", fmt.Errorf("got %d wrappers, of the models %s, want one named: FILE.pt2#MODEL; without it the model "+
		"named %s is read, as aoti_load_package does", len(found), strings.Join(folders, ", "), loadedModel)
}

var metadataEntry = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(AOTI_[A-Z_]+)": ?"([^"]*)"`) })

// readMetadata says what a package was compiled for (torch/_inductor/codecache.py); nothing where
// it does not say.
func readMetadata(f fs.FS, record string) map[string]string {
	data, err := fs.ReadFile(f, strings.TrimSuffix(record, ".cpp")+"_metadata.json")
	if err != nil {
		return nil
	}
	metadata := map[string]string{}
	for _, m := range metadataEntry().FindAllStringSubmatch(string(data), 20) {
		metadata[m[1]] = m[2]
	}
	return metadata
}

const entry = "void AOTInductorModel::run_impl("

// beside is what other records of a package report.
type beside struct {
	own   []ownCall         // the calls of operators that have no C function
	lines map[string]*lines // of kernels, by handle
}

// decodePackage reads a wrapper's text with what stands beside it.
func decodePackage(text, record string, with beside) (*program.Program, error) {
	if len(text) > maxText {
		return nil, fail(place{}, "got %d bytes, want at most %d", len(text), maxText)
	}
	at := strings.Index(text, entry)
	if at < 0 {
		return nil, fail(place{1, 1}, "got no %s…), want the wrapper of a package", entry)
	}
	head, where := text[:at], placeOf(text, at)
	toks, err := lex(text[at:], where)
	if err != nil {
		return nil, err
	}
	p := &parser{toks: toks}
	for depth := 0; ; p.pos++ { // the signature
		if p.peek().kind == endToken {
			return nil, fail(where, "got the end, want the code of run_impl")
		}
		if p.is("(") {
			depth++
		} else if p.is(")") {
			if depth--; depth == 0 {
				break
			}
		}
	}
	p.pos++
	if err := p.want("{"); err != nil {
		return nil, err
	}
	list, err := p.statements()
	if err != nil {
		return nil, err
	}
	r := &cppReader{graph: newGraph(), own: with.own, declared: map[string]bool{}, handles: map[string]program.Arg{},
		results: map[int]program.Arg{}}
	r.places = with.lines
	if r.states, err = constants(head); err != nil {
		return nil, err
	}
	if err := r.run(list); err != nil {
		return nil, err
	}
	if err := r.finish(p.peek().where); err != nil {
		return nil, err
	}
	return r.program(head, record)
}

// program is what was read, with the parameters that the head says of.
func (r *cppReader) program(head, record string) (*program.Program, error) {
	f := &program.Func{Name: "run_impl", Method: "run_impl", Record: record, Line: 1}
	var params []*program.Value
	symbols := map[string]*program.Symbol{}
	for _, in := range r.inputs {
		m, err := r.inputMeta(head, in)
		if err != nil {
			return nil, err
		}
		for d, s := range m.Sizes {
			for _, name := range s.Names() {
				if symbols[name] == nil {
					symbols[name] = &program.Symbol{Name: name, Max: math.MaxInt64}
				}
			}
			if names := s.Names(); len(names) == 1 && names[0] == s.String() {
				limits(head, in.name, d, symbols[names[0]])
			}
		}
		f.Params = append(f.Params, program.Param{Name: in.name, Type: tensorType, Meta: m})
		params = append(params, in.value)
	}
	g := r.function(params)
	out := &program.Program{Format: Format, Compiled: true, States: r.states}
	for _, s := range symbols {
		out.Symbols = append(out.Symbols, *s)
	}
	out.Symbols = append(out.Symbols, r.symbols()...)
	slices.SortFunc(out.Symbols, func(a, b program.Symbol) int { return strings.Compare(a.Name, b.Name) })
	out.Entry = program.NewFunc(f, func(*program.Func) (*program.Graph, error) { return g, nil })
	return out, nil
}

// inputMeta is the tensor that an input was compiled for.
func (r *cppReader) inputMeta(head string, in *input) (*program.TensorMeta, error) {
	_, dtype, ok := strings.Cut(head, "int32_t "+in.name+"_expected_dtype = aoti_torch_dtype_")
	if !ok {
		return nil, fmt.Errorf("got no dtype of the input %s, want the checks that AOTInductor writes", in.name)
	}
	dtype, _, _ = strings.Cut(dtype, "(")
	d, err := tensor.ParseDType(dtype)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", in.name, err)
	}
	if in.sizes == nil {
		return nil, fmt.Errorf("got no sizes of the input %s (assert_size_stride), want a package of torch 2.9 or later",
			in.name)
	}
	return r.meta(d, in.sizes, in.strides)
}

// limits are what a wrapper checks a symbol's size for: if (arg0_1_size[0] < 2), if (arg0_1_size[0]
// > 64). A least of 2 is torch.export's for every open size, which compares none of less with an
// input (torch/_export/utils.py), as the wrapper does not unless AOTI_RUNTIME_CHECK_INPUTS is set.
func limits(head, name string, dim int, s *program.Symbol) {
	if n, ok := limit(head, fmt.Sprintf("if (%s_size[%d] < ", name, dim)); ok && n > 2 {
		s.Min = max(s.Min, n)
	}
	if n, ok := limit(head, fmt.Sprintf("if (%s_size[%d] > ", name, dim)); ok && n >= s.Min {
		s.Max = min(s.Max, n)
	}
}

// limit is the number between a condition's beginning and its bracket.
func limit(head, begin string) (int64, bool) {
	_, rest, ok := strings.Cut(head, begin)
	if !ok {
		return 0, false
	}
	rest, _, _ = strings.Cut(rest, ")")
	n, err := strconv.ParseInt(strings.TrimRight(rest, "L"), 10, 64)
	return n, err == nil && n >= 0
}

// The kinds of constants (torch/csrc/inductor/aoti_runtime/model_base.h ConstantType).
var constantKinds = map[string]tensor.Category{
	"Unknown": tensor.Parameter, "Parameter": tensor.Parameter, "Buffer": tensor.Buffer,
	"TensorConstant": tensor.Constant, "FoldedConstant": tensor.Constant,
}

// maxConstants bounds a model: the largest published has 100,000.
const maxConstants = 1 << 22

// constants reads what the constructor says of the weights, in their order.
func constants(head string) ([]*program.State, error) {
	var out []*program.State
	for {
		_, rest, ok := strings.Cut(head, "constants_info_[") // constants_info_[0].data_size = 32768;
		if !ok {
			break
		}
		var line string
		line, head, _ = strings.Cut(rest, "\n")
		number, line, _ := strings.Cut(line, "].")
		field, value, ok := strings.Cut(line, " = ")
		if !ok {
			continue // it is read
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n > len(out) || n >= maxConstants {
			return nil, fmt.Errorf("got constant %s after %d, want them in order", short(number), len(out)-1)
		}
		if n == len(out) {
			out = append(out, &program.State{Class: tensor.Parameter, Storage: n,
				Meta: tensor.Meta{DType: tensor.Undefined, Device: "cuda"}})
		}
		if err := constant(out[n], field, strings.TrimSuffix(value, ";")); err != nil {
			return nil, fmt.Errorf("constant %d: %w", n, err)
		}
	}
	seen := map[string]bool{}
	for i, s := range out {
		if seen[s.Name] || s.Name == "" {
			s.Name = fmt.Sprintf("constant %d", i)
		}
		seen[s.Name] = true
		if len(s.Meta.Sizes) != len(s.Meta.Strides) {
			return nil, fmt.Errorf("constant %s: got %d sizes and %d strides", s.Name, len(s.Meta.Sizes),
				len(s.Meta.Strides))
		}
		if err := s.Meta.Check(); err != nil {
			return nil, fmt.Errorf("constant %s: %w", s.Name, err)
		}
		if s.NBytes < int64(s.Meta.StorageBytes()) {
			return nil, fmt.Errorf("constant %s: got %d bytes, want the %d of its tensor", s.Name, s.NBytes,
				int64(s.Meta.StorageBytes()))
		}
	}
	return out, nil
}

// constant reads one line of a constant.
func constant(s *program.State, field, value string) (err error) {
	switch field {
	case "name":
		if s.Name == "" {
			s.Name = strings.Trim(value, `"`)
		}
	case "original_fqn":
		s.Name = strings.Trim(value, `"`)
	case "dtype":
		s.Meta.DType, err = tensor.ParseDType(strings.TrimPrefix(value, "cached_torch_dtype_"))
	case "device_type":
		s.Meta.Device = strings.TrimPrefix(value, "cached_torch_device_type_")
	case "data_size":
		s.NBytes, err = strconv.ParseInt(value, 10, 64)
		if err == nil && s.NBytes < 0 {
			err = errors.New("got a negative size")
		}
	case "shape":
		s.Meta.Sizes, err = numbers(value)
	case "stride":
		s.Meta.Strides, err = numbers(value)
	case "offset":
		s.Meta.StorageOffset = 0 // in bytes, of a view that was saved with its whole storage: data_size is the view's
	case "type":
		_, kind, _ := strings.Cut(value, "ConstantType::")
		if c, ok := constantKinds[strings.TrimSuffix(kind, ")")]; ok {
			s.Class = c
		}
	}
	return err
}

// numbers reads {128, 64}.
func numbers(text string) ([]int64, error) {
	text = strings.Trim(text, "{} ")
	if text == "" {
		return []int64{}, nil
	}
	var out []int64
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.ParseInt(strings.TrimRight(strings.TrimSpace(part), "L"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("got %s, want whole numbers", short(text))
		}
		out = append(out, n)
	}
	return out, nil
}
