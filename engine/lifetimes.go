package engine

import (
	"context"
	"fmt"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/exec/fx"
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/exec/torchscript"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/spec"
)

// Lifetimes runs one case of the model and returns the live ranges of the functions that it ran: by them it let go of values. most holds
// locals that the artifact does not tell of to their latest end, as the upper end of a report does.
func (m *Model) Lifetimes(ctx context.Context, c spec.Case, most bool) (funcs []lifetime.Func, err error) {
	defer caught(m.Path, &err)
	p, err := m.Program()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Path, err)
	}
	if p.Compiled {
		return nil, fmt.Errorf("%s: got compiled code, which frees its buffers itself: memspec dump --stage program shows where", m.Path)
	}
	if err := m.Artifact.Answers(string(c.Runtime), string(c.Mode)); err != nil {
		return nil, err
	}
	which := likeliest
	if most {
		which = localsHeld
	}
	err = m.withProgram(&c, func(of *Model) error {
		start, lifetimes := of.watch()
		_, err := m.executeOn(ctx, start, &c, which)
		if err == nil {
			funcs = lifetimes()
		}
		return err
	})
	return funcs, err
}

func (m *Model) watch() (exec.Start, func() []lifetime.Func) {
	if p := m.Artifact.Program; p.Tells != program.TellsModules {
		return torchscript.Watch(p)
	}
	return fx.Watch(m.Artifact.Program, m.seen)
}
