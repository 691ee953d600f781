package torchexport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// A document's values take a bounded number of bytes, however short their text is.
func TestValuesOfADocumentAreBounded(t *testing.T) {
	read := func(text string, made int) error {
		r := newReader([]byte(text))
		*r.made = made
		(&document{}).read(r)
		return r.Err()
	}
	within := func(text string) string { return `{"graph_module": {"graph": {` + text + `}}}` }
	for _, text := range []string{
		within(`"inputs": [{"as_int": 1}]`),
		within(`"outputs": [{"as_int": 1}]`),
		within(`"nodes": [{}]`),
		within(`"nodes": [{"inputs": [{"arg": {"as_int": 1}}]}]`),
		within(`"nodes": [{"outputs": [{"as_int": 1}]}]`),
		within(`"nodes": [{"inputs": [{"arg": {"as_ints": [1]}}]}]`),
		within(`"nodes": [{"inputs": [{"arg": {"as_string_to_argument": {"a": {"as_int": 1}}}}]}]`),
		within(`"tensor_values": {"x": {}}`),
		within(`"tensor_values": {"x": {"sizes": [{"as_int": 1}]}}`),
		within(`"tensor_values": {"x": {"strides": [{"as_int": 1}]}}`),
		within(`"sym_int_values": {"s0": {"as_int": 1}}`),
		`{"graph_module": {"signature": {"input_specs": [{}]}}}`,
		`{"graph_module": {"signature": {"output_specs": [{}]}}}`,
		`{"graph_module": {"module_call_graph": [{"signature": {"forward_arg_names": ["x"]}}]}}`,
		`{"range_constraints": {"s0": {}}}`,
		`{"verifiers": ["x"]}`,
	} {
		require.NoError(t, read(text, 0), text)
		assert.ErrorContains(t, read(text, maxMade), "got more than 134217728 bytes of values, want fewer", text)
	}
}

func TestSymbolsOfADocumentAreBounded(t *testing.T) {
	ranges := func(n int) error {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"s%d":{}`, i)
		}
		r := newReader([]byte(`{"range_constraints": {` + b.String()[1:] + `}}`))
		(&document{}).read(r)
		return r.Err()
	}
	require.NoError(t, ranges(maxSymbols))
	assert.ErrorContains(t, ranges(maxSymbols+1), "got more than 100000 symbols, want fewer")
}

func TestNodesOfADocumentAreBounded(t *testing.T) {
	golden.NeedsWhole(t, "400,000 nodes")
	nodes := func(n int) error {
		r := newReader([]byte(`{"graph_module": {"graph": {"nodes": [{}` + strings.Repeat(",{}", n-1) + `]}}}`))
		(&document{}).read(r)
		return r.Err()
	}
	require.NoError(t, nodes(maxNodes))
	assert.ErrorContains(t, nodes(maxNodes+1), "got more than 400000 nodes, want fewer")
}

func TestTreespecIsBounded(t *testing.T) {
	_, err := readTree("[1, " + strings.Repeat(" ", maxTreeText) + `{"type": null}]`)
	assert.ErrorContains(t, err, "want at most 4194304")
}
