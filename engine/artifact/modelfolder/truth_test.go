package modelfolder

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// builtRow is one config, with what transformers makes of it: elements by dtype, or by how a cache
// grows.
type builtRow struct {
	Config            json.RawMessage
	Parameters, Cache map[string]int64
}

// TestTransformers compares the rules with what transformers itself makes of configs: parameters on
// the meta device, and the caches of a forward pass, to the element. None of these configs took
// part in finding the rules. A rule may say that it does not know; it may not be wrong. Which it
// does not know is in testdata/coverage.txt.
func TestTransformers(t *testing.T) {
	equalRows, unknownRows := map[string]int{}, map[string]int{}
	for n, row := range builtRows(t) {
		what, want := "parameters", row.Parameters
		if row.Cache != nil {
			what, want = "cache", row.Cache
		}
		name, got, err := ruled(t, row.Config, what)
		switch {
		case errors.Is(err, errNoRule):
			unknownRows[what+" "+name]++
		case assert.NoError(t, err, "line %d: %s %s", n+1, name, row.Config):
			if assert.Equal(t, want, got, "line %d: %s %s", n+1, what, row.Config) {
				equalRows[what+" "+name]++
			}
		}
	}
	golden.File(t, "testdata/coverage.txt", coverage(equalRows, unknownRows))
}

func builtRows(t *testing.T) (rows []builtRow) {
	file, err := os.Open("testdata/transformers.jsonl")
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row builtRow
		require.NoError(t, json.Unmarshal(lines.Bytes(), &row))
		rows = append(rows, row)
	}
	require.NoError(t, lines.Err())
	return rows
}

// ruled is what the rules make of a config, by the kinds of its tensors.
func ruled(t *testing.T, config []byte, what string) (name string, elements map[string]int64, err error) {
	fields, err := readObject(config)
	require.NoError(t, err)
	name = fields["model_type"].(string)
	of := find(name)
	require.NotNil(t, of, name)
	rules := of.tensors
	if what == "cache" {
		rules = of.cache
	}
	elements = map[string]int64{}
	err = newConfig(fields, of).each(rules, func(t tensor) error {
		if t.elements*t.n > 0 {
			elements[t.rule.kind] += t.elements * t.n
		}
		return nil
	})
	return name, elements, err
}

// coverage lists for every architecture how many configs were equal, and what is not known.
func coverage(equalRows, unknownRows map[string]int) string {
	var b strings.Builder
	counts := map[string]int{}
	for _, name := range known() {
		of := find(name)
		for _, part := range []struct{ what, why string }{{"parameters", of.unknown}, {"cache", of.cacheless}} {
			key := part.what + " " + name
			switch {
			case part.why != "":
				fmt.Fprintf(&b, "%s: %s not known: %s\n", name, part.what, part.why)
				counts[part.what+" not known"]++
			case unknownRows[key] > 0:
				fmt.Fprintf(&b, "%s: %s of %d configs equal, of %d not known\n", name, part.what, equalRows[key], unknownRows[key])
				counts[part.what+" partly known"]++
			default:
				fmt.Fprintf(&b, "%s: %s of %d configs equal\n", name, part.what, equalRows[key])
				counts[part.what+" known"]++
			}
		}
	}
	var head strings.Builder
	for _, what := range []string{"parameters", "cache"} {
		fmt.Fprintf(&head, "# %s of %d architectures: %d known, %d partly, %d not\n", what, len(known()),
			counts[what+" known"], counts[what+" partly known"], counts[what+" not known"])
	}
	return head.String() + b.String()
}
