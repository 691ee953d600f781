package lifetime

import "github.com/memspec/memspec/engine/program"

// ToEnd holds the values that g's own nodes make to its end: what a frozen archive's user might
// hold, which is one function without his frames and names.
func ToEnd(g *program.Graph) []Range {
	nodes, ends := Numbering(g)
	last := len(nodes) - 1
	var out []Range
	for i := 0; i < len(nodes); i = ends[i] + 1 {
		for _, v := range nodes[i].Outs {
			out = append(out, Range{Value: v, From: i, To: last, End: After, Why: Unknown})
		}
	}
	return out
}
