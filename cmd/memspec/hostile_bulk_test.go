//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// bulky are archives of a few MB whose records are long lists of small things: each of them becomes
// a value of a hundred bytes and more.
func bulky(t testing.TB) []hostileFile {
	return append(bulkyScripts(newArchiver(t)), bulkyPrograms(t, archiverOf(t, "exported", "half.pt2"))...)
}

func bulkyScripts(a *archiver) []hostileFile {
	// The noise is the text of a last statement.
	file := func(name string, slow bool, parameters, classes, members, lines func() string) hostileFile {
		return hostileFile{name: name, slow: slow, args: estimateX, data: func() []byte {
			text := lines()
			text = classes() + scriptHead + members() + "  def forward(self: __torch__.addmm.Model,\n    " +
				parameters() + ") -> Tensor:\n" + text
			text += `    noise = "` + noiseText(1+len(text)/200) + "\"\n    return x\n"
			return a.with(map[string][]byte{a.code: []byte(text)})
		}}
	}
	nothing, x := func() string { return "" }, func() string { return "x: Tensor" }
	body := func(name string, slow bool, lines func() string) hostileFile {
		return file(name, slow, x, nothing, nothing, lines)
	}
	repeated := func(text string, n int) func() string { return func() string { return strings.Repeat(text, n) } }
	one := func(begin, text string, n int, end string) func() string {
		return func() string { return begin + strings.Repeat(text, n) + end }
	}
	numbered := func(format string, n int) func() string {
		return func() string {
			return strings.Join(many(n, func(i int) string { return fmt.Sprintf(format, i) }), "")
		}
	}
	return []hostileFile{
		body("long-list.pt", true, one("    l = [", "0,", 40000000, "0]\n")),
		body("half-list.pt", true, one("    l = [", "0,", 2000000, "0]\n")),
		body("long-dict.pt", true, one("    d = {", "0: 0, ", 15000000, "}\n")),
		body("half-dict.pt", true, one("    d = {", "0: 0, ", 1000000, "}\n")),
		body("long-targets.pt", true, one("    ", "a, ", 30000000, " = x\n")),
		body("half-targets.pt", true, one("    ", "a, ", 2000000, " = x\n")),
		body("long-statements.pt", true, repeated("    torch.relu(x)\n", 5000000)),
		body("half-statements.pt", true, repeated("    torch.relu(x)\n", 580000)),
		body("long-names.pt", true, numbered("    a%d = torch.relu(x)\n", 3000000)),
		body("half-names.pt", true, numbered("    a%d = torch.relu(x)\n", 460000)),
		body("blank.pt", true, repeated("\n", 100000000)),
		body("long-text.pt", true, one(`    s = "`, "a", 100000000, "\"\n")),
		body("escapes.pt", true, one(`    s = "`, `\n`, 50000000, "\"\n")),
		body("parentheses.pt", true, one("    s = ", "(", 50000000, "\n")),
		body("minus.pt", true, one("    s = ", "-", 50000000, "1\n")),
		body("attributes-of-attributes.pt", true, one("    s = x", ".T", 50000000, "\n")),
		body("long-number.pt", true, one("    s = ", "1", 100000000, "\n")),
		file("long-type.pt", true, one("x: Tuple[", "int,", 10000000, "int]"), nothing, nothing, nothing),
		file("half-type.pt", true, one("x: Tuple[", "int,", 2000000, "int]"), nothing, nothing, nothing),
		file("deep-type.pt", true, func() string {
			return "x: " + strings.Repeat("List[", 1000000) + "int" + strings.Repeat("]", 1000000)
		}, nothing, nothing, nothing),
		file("classes.pt", true, x, repeated("class A(Module):\n  pass\n", 3000000), nothing, nothing),
		file("attributes.pt", true, x, nothing, numbered("  a%d : Tensor\n", 3000000), nothing),
		file("half-attributes.pt", true, x, nothing, numbered("  a%d : Tensor\n", 1300000), nothing),
		file("methods.pt", true, x, nothing,
			numbered("  def f%d(self: __torch__.addmm.Model) -> int:\n    return 1\n", 2000000), nothing),
	}
}

// packed are archives of many records, and of records that are slow to compress.
func packed(a *archiver) []hostileFile {
	files := func(n int, name string, data []byte) func() []byte {
		return func() []byte {
			changed := map[string][]byte{}
			b := *a
			b.order = slices.Clone(a.order)
			for i := range n {
				record := a.record(fmt.Sprintf(name, i))
				b.order = append(b.order, record)
				changed[record] = data
			}
			return b.with(changed)
		}
	}
	pairs := noise(4 << 20)
	for i := range pairs {
		pairs[i] = 'A' + pairs[i]&1
	}
	strip := []string{"strip", "-o", "out.pt"}
	return []hostileFile{
		{name: "records.pt", slow: true, args: strip, data: files(60000, "extra/f%d", []byte("x"))},
		{name: "weights.pt", slow: true, args: strip, data: files(60000, "data/%d", []byte("x"))},
		{name: "pairs.pt", slow: true, args: strip, data: files(60, "extra/f%d", pairs)},
		{name: "zeros-in-records.pt", slow: true, args: strip, data: files(1000, "extra/f%d", make([]byte, 1<<20))},
		{name: "records-to-read.pt", slow: true, args: estimateX, data: files(400000, "extra/f%d", []byte("x"))},
	}
}

// estimateHalf is how the model of half.pt2 is given.
var estimateHalf = []string{"estimate", "--device", "t4", "--input", "float32[64,32]"}

func bulkyPrograms(t testing.TB, a *archiver) []hostileFile {
	record := func(name string, slow bool, record, old string, with func() string) hostileFile {
		return hostileFile{name: name, slow: slow, args: estimateHalf, data: func() []byte {
			return a.edited(t, record, old, with())
		}}
	}
	model := func(name string, slow bool, old, begin, text string, n int, end string) hostileFile {
		return record(name, slow, "models/model.json", old, func() string { return begin + strings.Repeat(text, n) + end })
	}
	numbered := func(format string, n int) string {
		return strings.Join(many(n, func(i int) string { return fmt.Sprintf(format, i) }), "")
	}
	const (
		ints  = `{"as_ints": [1]}`
		nodes = `"nodes": [`
		sizes = `"sizes": [{"as_int": 100}`
		relu  = `{"target":"torch.ops.aten.relu.default","inputs":[{"arg":{"as_tensor":{"name":"x"}}}],"outputs":[{"as_tensor":{"name":"matmul"}}]},`
	)
	return []hostileFile{
		model("ints.pt2", true, ints, `{"as_ints": [`, "1,", 40000000, "1]}"),
		model("half-ints.pt2", true, ints, `{"as_ints": [`, "1,", 1500000, "1]}"),
		model("strings.pt2", true, ints, `{"as_strings": [`, `"",`, 1500000, `""]}`),
		model("long-string.pt2", true, ints, `{"as_string": "`, "ab", 50000000, `"}`),
		model("nodes.pt2", true, nodes, nodes, "{},", 10000000, ""),
		model("half-nodes.pt2", true, nodes, nodes, "{},", 900000, ""),
		model("calls.pt2", true, nodes, nodes, relu, 300000, ""),
		model("sizes.pt2", true, sizes, `"sizes": [`, `{"as_int":1},`, 2500000, `{"as_int": 100}`),
		model("sum.pt2", true, sizes, `"sizes": [{"as_expr":{"expr_str":"`, "1+", 20000000, `1"}}`),
		model("product.pt2", true, sizes, `"sizes": [{"as_expr":{"expr_str":"Mul(`, "Add(Symbol('a'),Symbol('b')),", 1000000,
			`1)"}}`),
		model("inputs.pt2", true, `"input_specs": [`, `"input_specs": [`, "{},", 10000000, ""),
		model("verifiers.pt2", true, `"verifiers": [`, `"verifiers": [`, `"",`, 8000000, ""),
		model("stacks.pt2", true, `"stack_trace": "`, `"stack_trace": "`, `File \"a\", line 1, in f\n`, 3000000, ""),
		model("modules.pt2", true, `"nn_module_stack": "`, `"nn_module_stack": "`, "a,b,c;", 15000000, ""),
		model("tree.pt2", true, `"in_spec": "`,
			`"in_spec": "[1, {\"type\":\"builtins.tuple\",\"context\":\"null\",\"children_spec\":[`, "{},", 10000000,
			`{}]}]","was":"`),
		model("half-tree.pt2", true, `"in_spec": "`,
			`"in_spec": "[1, {\"type\":\"builtins.tuple\",\"context\":\"null\",\"children_spec\":[`, "{},", 1300000,
			`{}]}]","was":"`),
		record("tensors.pt2", true, "models/model.json", `"tensor_values": {`, func() string {
			return `"tensor_values": {` + numbered(`"a%d":{},`, 3000000)
		}),
		record("ranges.pt2", true, "models/model.json", `"range_constraints": {`, func() string {
			return `"range_constraints": {` + strings.TrimSuffix(numbered(`"s%d":{"min_val":1,"max_val":2},`, 2000000), ",")
		}),
		record("config.pt2", true, "data/weights/model_weights_config.json", `{"config": {`, func() string {
			return `{"config": {` + numbered(`"%d":{},`, 3000000)
		}),
		record("stripped.pt2", true, ".memspec/stripped.json", `"records":{`, func() string {
			return `"records":{` + numbered(`"%d":1,`, 3000000)
		}),
	}
}
