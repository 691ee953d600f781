// Package torchexport turns a torch.export program, what torch.export.save writes, into a program.
//
// Three layouts are read: the plain zip of torch 2.7 and before, the package of 2.8 whose weights
// are one file of torch.save, and that of 2.9 and later whose weights are their own records. The
// graph and what describes the weights are JSON; no weight is read, and a program that was exported
// on fake or meta tensors, whose weights have no bytes, is as good as one with them. The schemas of
// majors 2 to 8 are read.
//
// Operators keep the overload that the file names. Graphs that operators run are blocks of their
// node. What the program writes back to buffers and inputs at its end is written by copies, as
// ExportedProgram.module does (torch/export/_unlift.py).
package torchexport

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/internal/ptzip"
	"github.com/memspec/memspec/engine/program"
)

// flatModel is the model's record in the layout before 2.8.
const flatModel = "serialized_exported_program.json"

// Sniff says whether an archive holds a torch.export program.
func Sniff(f fs.FS) bool { return exists(f, flatModel) || exists(f, "models") }

func exists(f fs.FS, name string) bool {
	_, err := fs.Stat(f, name)
	return err == nil
}

// Decode reads an archive, presented as its top folder.
func Decode(f fs.FS) (*program.Program, error) {
	a := archive{fs: f}
	record, err := a.model()
	if err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(f, record)
	if err != nil {
		return nil, err
	}
	d, err := readDocument(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", record, err)
	}
	weights, err := a.weights(record)
	if err != nil {
		return nil, err
	}
	p, err := lower(d, record, weights)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", record, err)
	}
	return p, nil
}

type archive struct {
	fs    fs.FS
	sizes ptzip.Sizes
}

// model is the record of the one program in the archive.
func (a *archive) model() (string, error) {
	if exists(a.fs, flatModel) {
		return flatModel, nil
	}
	entries, err := fs.ReadDir(a.fs, "models")
	if err != nil {
		return "", errors.New("got no record " + flatModel + " and no folder models, want one of them")
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && !e.IsDir() {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 1:
		return "models/" + names[0] + ".json", nil
	case slices.Contains(names, "model"): // the name that torch.export.save gives
		return "models/model.json", nil
	case len(names) == 0:
		return "", errors.New("got no models/*.json, want a program")
	}
	return "", fmt.Errorf("got the programs %s in one package, want one of them saved by itself (torch.export.save)",
		strings.Join(names, ", "))
}

// payload is a weight as the archive says of it.
type payload struct {
	name    string
	record  string
	meta    tensorMeta
	hasMeta bool
	pickled bool         // a tensor subclass or an object
	bytes   int64        // of the record
	saved   *savedTensor // where a file of torch.save reports
}

// payloads are what an archive says of weights and constants, in its order; none where their record
// is a file of torch.save.
type payloads struct {
	list   []payload
	byName map[string]*payload
}

func (a *archive) weights(model string) (*payloads, error) {
	ps := &payloads{byName: map[string]*payload{}}
	// of torch.save, whatever they are called
	files := []string{"serialized_state_dict.pt", "serialized_state_dict.json", "serialized_constants.pt",
		"serialized_constants.json"}
	name, ok := strings.CutPrefix(strings.TrimSuffix(model, ".json"), "models/")
	if ok {
		files = []string{"data/weights/" + name + ".pt", "data/constants/" + name + ".pt"}
		if err := a.configs(ps, name); err != nil {
			return nil, err
		}
	}
	if err := a.saved(ps, files); err != nil {
		return nil, err
	}
	for i := range ps.list {
		ps.byName[ps.list[i].name] = &ps.list[i]
	}
	return ps, nil
}

// configs reads what describes the records of weights and constants since 2.9.
func (a *archive) configs(ps *payloads, name string) (err error) {
	if a.sizes, err = ptzip.SizesOf(a.fs); err != nil {
		return err
	}
	for _, folder := range []string{"data/weights/", "data/constants/"} {
		config := folder + name + map[string]string{"data/weights/": "_weights",
			"data/constants/": "_constants"}[folder] + "_config.json"
		data, err := fs.ReadFile(a.fs, config)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		list, err := readPayloads(data)
		if err != nil {
			return fmt.Errorf("%s: %w", config, err)
		}
		for i := range list {
			list[i].record = folder + list[i].record
			size, ok := a.sizes.Of(list[i].record)
			if !ok {
				return fmt.Errorf("%s: got no record %s, want that of %s", config, list[i].record, list[i].name)
			}
			list[i].bytes = size
		}
		ps.list = append(ps.list, list...)
	}
	return nil
}

// readPayloads reads {"config": {name: {"path_name": …, "use_pickle": …, "tensor_meta": …}}}.
func readPayloads(data []byte) (list []payload, err error) {
	r := newReader(data)
	r.Object(func(key string) {
		if key != "config" {
			r.Skip()
			return
		}
		r.Object(func(name string) {
			p := payload{name: name}
			r.Object(func(key string) {
				switch {
				case key == "path_name":
					p.record = r.String()
				case key == "use_pickle":
					p.pickled = r.Bool()
				case key == "tensor_meta" && !r.Null():
					p.meta, p.hasMeta = r.tensor(), true
				case key != "tensor_meta":
					r.Skip()
				}
			})
			list = add(r, list, p)
		})
	})
	r.End()
	return list, r.Err()
}
