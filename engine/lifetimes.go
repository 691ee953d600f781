package engine

import (
	"context"
	"fmt"

	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/exec/torchscript"
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
	if err := m.Artifact.Answers(string(c.Runtime), string(c.Mode)); err != nil {
		return nil, err
	}
	which := likeliest
	if most {
		which = localsHeld
	}
	start, lifetimes := torchscript.Watch(p)
	if _, err := m.executeOn(ctx, start, &c, which); err != nil {
		return nil, err
	}
	return lifetimes(), nil
}
