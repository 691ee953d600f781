package ops

import (
	"strings"

	"github.com/memspec/memspec/engine/tensor"
)

// WithLacks are a family's rules, with what those of some operators lack, by name without the
// overload.
func WithLacks(lacks map[string]func(*Call) string, rules ...[]Rule) [][]Rule {
	for _, rows := range rules {
		for i := range rows {
			for _, key := range rows[i].Keys() {
				name, _, _ := strings.Cut(key, ".")
				if lacks[name] != nil {
					rows[i].Lacks = byName(lacks)
				}
			}
		}
	}
	return rules
}

// byName is what a call lacks by its operator's name.
func byName(lacks map[string]func(*Call) string) func(*Call) string {
	return func(c *Call) string {
		if lack := lacks[c.Schema.Name]; lack != nil {
			return lack(c)
		}
		return ""
	}
}

// Always says the same of every call.
func Always(what string) func(*Call) string { return func(*Call) string { return what } }

// OfComplex says it of calls with a complex tensor.
func OfComplex(what string) func(*Call) string {
	return func(c *Call) string {
		if c.hasTensor(func(t *tensor.Tensor) bool { return t.DType.Complex() }) {
			return what
		}
		return ""
	}
}

// OfStrided says it of calls with a tensor that does not lie row by row.
func OfStrided(what string) func(*Call) string {
	return func(c *Call) string {
		if c.hasTensor(func(t *tensor.Tensor) bool { return !t.IsContiguous() }) {
			return what
		}
		return ""
	}
}

// Lack is what a call's kernels take that no formula gives, on a device; "" where all is reported,
// or nothing runs there.
func (c *Call) Lack() string {
	if c.Rule.Lacks == nil || c.Platform().IsNone() {
		return ""
	}
	if onHost := func(t *tensor.Tensor) bool { return !OnCUDA(t) }; c.hasTensor(onHost) && !c.hasTensor(OnCUDA) {
		return ""
	}
	return c.Rule.Lacks(c)
}

// hasTensor says whether one of the arguments is such a tensor, or a list with one.
func (c *Call) hasTensor(such func(*tensor.Tensor) bool) bool {
	for _, a := range c.Args {
		switch a := a.(type) {
		case *tensor.Tensor:
			if a != nil && such(a) {
				return true
			}
		case *List:
			for _, item := range a.Items {
				if t, ok := item.(*tensor.Tensor); ok && t != nil && such(t) {
					return true
				}
			}
		}
	}
	return false
}
