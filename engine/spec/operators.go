package spec

import (
	"gopkg.in/yaml.v3"

	"github.com/memspec/memspec/engine/ops/custom"
)

// operators reads the user's own operators: a mapping of schemas to what each gives and takes.
//
//	ops:
//	  "mylib::twice(Tensor x, int n) -> Tensor": {results: "x[n*x_0, x_1]", workspace: 4*x_numel}
func (d *document) operators(e entry) (out []custom.Operator) {
	for _, op := range d.mapping(e.val, "a mapping of operators' schemas to results: and workspace:") {
		o := custom.Operator{Schema: op.name}
		before := len(d.errs)
		for _, k := range d.mapping(op.val, "a mapping of results, workspace") {
			switch k.name {
			case "results":
				o.Results = d.resultTexts(k.val)
			case "workspace":
				o.Workspace, _ = d.text(k.val, "a size in bytes")
			default:
				d.errorf(k.key, "got the key %q, want one of an operator: results, workspace%s", shorten(k.name),
					didYouMean(k.name, []string{"results", "workspace"}))
			}
		}
		if len(d.errs) > before {
			continue
		}
		if _, err := o.Rule(); err != nil {
			d.errorf(op.key, "%v", err)
			continue
		}
		out = append(out, o)
	}
	return out
}

// resultTexts are one text, or a list of them.
func (d *document) resultTexts(n *yaml.Node) (out []string) {
	if d.deref(n).Kind != yaml.SequenceNode {
		if s, ok := d.text(n, "a result such as float32[n, 8], or a list of them"); ok {
			out = append(out, s)
		}
		return out
	}
	for _, item := range d.list(n, "a list of results") {
		if s, ok := d.text(item, "a result such as float32[n, 8]"); ok {
			out = append(out, s)
		}
	}
	return out
}
