package torchexport

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/tensor"
)

// Literals within containers are lowered as those outside; formats and layouts have the schema's
// numbers (torch/_export/serde/schema.py) and become c10's (torch/headeronly/core/Layout.h).
func TestLiteral(t *testing.T) {
	number := func(name string, n int64) argument { return argument{kind: intArg, name: name, n: n} }
	name := argument{kind: symbolArg, text: "s0"}
	for _, tt := range []struct {
		why  string
		a    argument
		want any
		err  string
	}{
		{"nothing", argument{}, nil, ""},
		{"a whole number", number("", 3), int64(3), ""},
		{"a real number", argument{kind: floatArg, f: 1.5}, 1.5, ""},
		{"true", argument{kind: boolArg, n: 1}, true, ""},
		{"a text", argument{kind: stringArg, text: "mean"}, "mean", ""},
		{"an operator's name", argument{kind: operatorArg, text: "aten.add"}, "aten.add", ""},
		{"a device", argument{kind: deviceArg, text: "cuda:0"}, program.Device("cuda:0"), ""},
		{"a dtype", argument{kind: dtypeArg, n: 7}, int64(tensor.Float32), ""},
		{"channels last", argument{kind: formatArg, n: 2}, int64(tensor.ChannelsLast), ""},
		{"a format of tomorrow", argument{kind: formatArg, n: 9}, nil, "got memory format 9, want one of torch.export's"},
		{"strided", argument{kind: layoutArg, n: 7}, int64(0), ""},
		{"by coordinates", argument{kind: layoutArg, n: 1}, int64(1), ""},
		{"by compressed rows", argument{kind: layoutArg, n: 2}, int64(2), ""},
		{"by compressed columns", argument{kind: layoutArg, n: 3}, int64(4), ""},
		{"by compressed rows of blocks", argument{kind: layoutArg, n: 4}, int64(5), ""},
		{"by compressed columns of blocks", argument{kind: layoutArg, n: 5}, int64(6), ""},
		{"of oneDNN", argument{kind: layoutArg, n: 6}, int64(3), ""},
		{"a layout of tomorrow", argument{kind: layoutArg, n: 9}, nil, "got layout 9, want one of torch.export's"},
		{"a complex number", argument{kind: complexArg, items: []argument{{f: 1}, {f: -2}}}, complex(1, -2), ""},
		{"a list", argument{kind: listArg, elem: intArg, items: []argument{number("", 1), number("", 2)}},
			&program.ListLit{Elem: intType, Items: []any{int64(1), int64(2)}}, ""},
		{"a list of names", argument{kind: listArg, elem: intArg, items: []argument{number("", 1), name}}, nil,
			`got the name "s0" where a literal is wanted`},
		{"a dict", argument{kind: dictArg, items: []argument{number("a", 1), number("b", 2)}},
			&program.DictLit{Keys: []any{"a", "b"}, Values: []any{int64(1), int64(2)}}, ""},
		{"a list in a dict", argument{kind: dictArg, items: []argument{{kind: listArg, name: "a", elem: intArg,
			items: []argument{number("", 1)}}}},
			&program.DictLit{Keys: []any{"a"}, Values: []any{&program.ListLit{Elem: intType, Items: []any{int64(1)}}}}, ""},
		{"a dict of names", argument{kind: dictArg, items: []argument{name}}, nil,
			`got the name "s0" where a literal is wanted`},
		{"a name", name, nil, `got the name "s0" where a literal is wanted`},
	} {
		got, err := new(lowerer).literal(&tt.a)
		if tt.err != "" {
			assert.EqualError(t, err, tt.err, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, got, tt.why)
	}
}
