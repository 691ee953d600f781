package aten

import (
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/golden"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// mostWrong is how many calls of an overload Wrong changes; a share of the calls has one.
const mostWrong = 3

// perOverload is how many calls of an overload are tried: most, or one where a share is tried.
func perOverload(most int) int {
	if golden.Whole() {
		return most
	}
	return 1
}

// spoken is how an operator refuses a call.
var spoken = regexp.MustCompile(`^\w+::\w+: `)

// Wrong runs recorded calls with one argument changed, each kind of argument in several ways.
// PyTorch takes some of them, so that no answer is known; but each is an error that names an
// operator, or has the results that the schema names, and it is that of testdata/changed.txt. A
// tensor may be undefined where it is one of several.
func Wrong(t *testing.T, table *ops.Table, family [][]ops.Rule) {
	none := On(t, "none", "2.15")
	all := blocks{}
	tried, refused, most := map[string]int{}, 0, perOverload(mostWrong)
	calls{family: keys(family), files: sampleFiles(t)}.each(t, func(c *call) {
		if c.Error || tried[c.key()] == most {
			return
		}
		tried[c.key()]++
		var lead outcomes
		for i := range c.Args {
			for n := 0; ; n++ {
				r := newRun(table, none)
				args, kw := r.arguments(t, &c.sample)
				others := r.others(args[i])
				bound, _, err := table.Resolve(c.Op, args, kw)
				if err != nil || i >= len(bound.Schema.Args) || n >= len(others) ||
					strings.HasPrefix(bound.Schema.Args[i].Type.String(), "ScalarType") && n > 0 {
					break
				}
				args[i] = others[n]
				text := r.wrong(t, c, fmt.Sprintf("argument %d as %s", i, Describe(others[n])), args, kw)
				if text[0] != '=' {
					refused++
				}
				lead.add(fmt.Sprintf("%d.%d", i, n), strings.TrimPrefix(text, c.Op+": "))
			}
		}
		if lead.texts != nil {
			all[c.name] = lead.lines()
		}
	})
	assert.NotZero(t, refused)
	all.compare(t, "testdata/changed.txt", `What calls give with one argument changed: "1.3" is the fourth change of the
# second one. MEMSPEC_UPDATE=1 go test -run TestWrong`)
}

// wrong runs a call and returns its error, or what it gives.
func (r *run) wrong(t *testing.T, c *call, what string, args []any, kw ops.Kw) (text string) {
	defer func() {
		if bug := recover(); bug != nil {
			t.Errorf("%s: %s (%s): panic: %v\n%s", c.name, what, c.place, bug, debug.Stack())
			text = "panic"
		}
	}()
	bound, _, err := r.table.Resolve(c.Op, args, kw)
	if err != nil {
		return err.Error()
	}
	result, events, err := r.bench.Run(c.Op, args, kw)
	if missing := new(ops.MissingError); err != nil {
		if !errors.As(err, &missing) && !spoken.MatchString(err.Error()) {
			t.Errorf("%s: %s (%s): got the error %q, want one that names the operator", c.name, what, c.place, err)
		}
		return err.Error()
	}
	if why := unlike(bound.Schema, result); why != "" && len(r.bench.Missing()) == 0 {
		t.Errorf("%s: %s (%s): got %s, want what %s names", c.name, what, c.place, why, bound.Schema.Key())
	}
	return accepted(result, events, r.gotNames(events)) + notesOf(r.bench)
}

// unlike says what of a result is not as the schema names it; "" where all is.
func unlike(s *schema.Schema, result any) string {
	results := []any{result}
	if tuple, ok := result.(*ops.Tuple); ok && len(s.Returns) != 1 {
		results = tuple.Items
	}
	if len(s.Returns) == 0 {
		results = nil
	}
	if s.VarRets {
		return ""
	}
	if len(results) != len(s.Returns) {
		return fmt.Sprintf("%d results", len(results))
	}
	for i, v := range results {
		switch of := s.Returns[i].Type; of.Kind {
		case schema.Tensor:
			t, ok := v.(*tensor.Tensor)
			if v == nil && len(results) > 1 {
				continue
			}
			if !ok || t == nil {
				return fmt.Sprintf("%v for a tensor", v)
			}
			if len(t.Sizes) != len(t.Strides) || slices.ContainsFunc(t.Sizes, func(n int64) bool { return n < 0 }) {
				return Describe(t)
			}
		case schema.Optional, schema.None, schema.Any, schema.Var:
		default:
			if v == nil {
				return "nothing for " + of.String()
			}
		}
	}
	return ""
}

// others are values of the same kind that the argument may not have.
func (r *run) others(v any) (out []any) {
	switch v := v.(type) {
	case *tensor.Tensor:
		shape := func(sizes ...int64) {
			out = append(out, r.bench.Tensor(
				tensor.Meta{DType: v.DType, Sizes: sizes, Strides: tensor.ContiguousStrides(sizes), Device: v.Device}, nil))
		}
		shape()
		shape(0)
		shape(append([]int64{2}, v.Sizes...)...)
		if n := len(v.Sizes); n > 0 {
			shape(v.Sizes[1:]...)
			shape(v.Sizes[:n-1]...)
		}
		for i := range v.Sizes {
			sizes := slices.Clone(v.Sizes)
			sizes[i] += 3
			shape(sizes...)
		}
		for _, d := range []tensor.DType{tensor.Int64, tensor.Bool, tensor.Float32, tensor.Complex64} {
			if d != v.DType {
				out = append(out, r.bench.Tensor(
					tensor.Meta{DType: d, Sizes: v.Sizes, Strides: tensor.ContiguousStrides(v.Sizes), Device: v.Device}, nil))
			}
		}
	case int64:
		out = append(out, int64(-1000), int64(-1), int64(0), v+1, int64(1000))
	case float64:
		out = append(out, -1.0, 0.0, v+1)
	case string:
		out = append(out, "", "none of them")
	case bool:
		out = append(out, !v)
	case *ops.Packed:
		out = append(out, &ops.Packed{Class: v.Class, State: int64(1)})
		if state, ok := v.State.(*ops.Tuple); ok {
			for i := range state.Items {
				pack := func(items ...any) {
					items = slices.Concat(state.Items[:i], items, state.Items[i+1:])
					out = append(out, &ops.Packed{Class: v.Class, State: &ops.Tuple{Items: items}})
				}
				pack()
				pack(nil)
				for _, other := range r.others(state.Items[i]) {
					pack(other)
				}
			}
		}
	case *ops.List:
		list := func(items ...any) { out = append(out, &ops.List{Elem: v.Elem, Items: items}) }
		list()
		if n := len(v.Items); n > 0 {
			list(v.Items[1:]...)
			list(append(v.Items[:n:n], v.Items[n-1])...)
			for _, other := range r.others(v.Items[0]) {
				list(append([]any{other}, v.Items[1:]...)...)
			}
		}
	}
	return out
}
