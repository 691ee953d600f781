// Package guess finds inputs that a model runs with.
package guess

import (
	"context"
	"fmt"
	"strings"

	"github.com/memspec/memspec/engine"
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/spec"
)

// A Guess is inputs that a model takes, with its batch as the dim B, and where they are from.
type Guess struct {
	Inputs []spec.Input
	From   string
}

// Inputs returns what a model can be run with: what was written beside its artifact, else what its
// first weights say of a single tensor. Sizes that nothing says (an image's, a sequence's) are
// usual ones. The model runs with a guess, at a batch of 1 and of 2.
func Inputs(ctx context.Context, m *engine.Model) (*Guess, error) {
	if beside, err := origin.Inputs(m.Path); err != nil {
		return nil, err
	} else if len(beside) > 0 {
		return &Guess{beside, "the inputs that were written beside it"}, nil
	}
	p, err := m.Program()
	if err != nil {
		return nil, err
	}
	if p.Compiled {
		return compiledInputs(p)
	}
	name, err := onlyTensor(p)
	if err != nil {
		return nil, err
	}
	first, candidates := candidatesOf(p)
	for _, text := range candidates {
		in, err := spec.ParseInput(name + "=" + text)
		if err != nil {
			return nil, err
		}
		if runsWith(ctx, m, in) {
			return &Guess{[]spec.Input{in}, first}, nil
		}
	}
	if first == "" {
		first = "it has no weights"
	}
	return nil, fmt.Errorf("%s: got no input that it runs with (%s), want --input", m.Path, first)
}

// compiledInputs are what code was compiled for, its first open size as B; what it has examples of
// is not given.
func compiledInputs(p *program.Program) (*Guess, error) {
	g := &Guess{From: "the inputs that it was compiled for"}
	for i := range p.Entry.Params {
		param := &p.Entry.Params[i]
		if param.HasDef || param.Meta == nil {
			continue
		}
		sizes := make([]string, len(param.Meta.Sizes))
		for k, size := range param.Meta.Sizes {
			if sizes[k] = size.String(); len(p.Symbols) > 0 && sizes[k] == p.Symbols[0].Name {
				sizes[k] = "B"
			}
		}
		in, err := spec.ParseInput(param.Name + "=" + param.Meta.DType.String() + "[" + strings.Join(sizes, ",") + "]")
		if err != nil {
			return nil, err
		}
		g.Inputs = append(g.Inputs, in)
	}
	return g, nil
}

// onlyTensor is the one parameter of forward that has to be given, which is a tensor.
func onlyTensor(p *program.Program) (string, error) {
	var needed []string
	if p.Entry != nil {
		for _, param := range p.Entry.Params {
			switch {
			case param.Type == nil || param.HasDef || param.Type.Kind == program.OptionalType ||
				param.Type.Kind == program.NoneType:
			case param.Type.Kind != program.TensorType:
				return "", fmt.Errorf("got the input %s %s, want --input: only a single tensor can be guessed", param.Name,
					param.Type)
			default:
				needed = append(needed, param.Name)
			}
		}
	}
	if len(needed) != 1 {
		return "", fmt.Errorf("got %d inputs (%s), want --input for each: only a single one can be guessed", len(needed),
			strings.Join(needed, ", "))
	}
	return needed[0], nil
}

// candidatesOf are inputs that fit the first weight of two dims or more, the most usual first.
func candidatesOf(p *program.Program) (from string, candidates []string) {
	for _, s := range p.States {
		sizes := s.Meta.Sizes
		if len(sizes) < 2 {
			continue
		}
		dtype := s.Meta.DType.String()
		module := strings.TrimSuffix(s.Name, ".weight")
		from = fmt.Sprintf("guessed from %s %v", s.Name, sizes)
		add := func(format string, args ...any) { candidates = append(candidates, fmt.Sprintf(format, args...)) }
		channels := func(groups int64) int64 { return sizes[1] * groups }
		switch len(sizes) {
		case 5:
			add("%s[B,%d,16,112,112]", dtype, channels(1))
		case 4:
			for _, groups := range []int64{1, sizes[0]} { // depthwise: as many groups as channels
				for _, side := range []int{224, 256, 299, 384, 512, 128, 64, 32, 28} {
					add("%s[B,%d,%d,%d]", dtype, channels(groups), side, side)
				}
			}
		case 3:
			for _, n := range []int{16000, 1024, 128} {
				add("%s[B,%d,%d]", dtype, channels(1), n)
			}
			add("%s[B,128,%d]", dtype, sizes[2]) // a learnt position of a sequence
		case 2:
			if strings.Contains(classOf(p, module), "Embedding") {
				add("int64[B,128]")
				add("int64[B,16]")
			}
			add("%s[B,%d]", dtype, sizes[1])
			add("%s[B,128,%d]", dtype, sizes[1])
			add("int64[B,128]")
		}
		return from, candidates
	}
	return "", []string{"float32[B,3,224,224]", "float32[B,128]"}
}

func classOf(p *program.Program, module string) string {
	for _, m := range p.Modules {
		if m.FQN == module {
			return m.Class
		}
	}
	return ""
}

// runsWith says whether the model runs with an input, for a batch of one and of two.
func runsWith(ctx context.Context, m *engine.Model, in spec.Input) bool {
	none, _ := device.Lookup("none")              // a row
	p, _ := platform.New(none, platform.Newest()) // which takes any release
	for _, batch := range []int64{1, 2} {
		bound, err := in.Bind(map[string]int64{"B": batch})
		if err != nil {
			return false
		}
		if _, err := m.Run(ctx, spec.Case{Name: m.Path, Artifact: m.Path, Platform: p, Mode: spec.Inference,
			Inputs: []spec.Input{bound}}); err != nil {
			return false
		}
	}
	return true
}
