package trace_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/memspec/memspec/engine/trace"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/pickle"
	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// TestDamagedSnapshots holds what is said to a snapshot with one value another or missing:
// testdata/snapshot.txtar. The snapshot stands there as JSON, in which a list stands for a tuple
// too, and is pickled as PyTorch does.
func TestDamagedSnapshots(t *testing.T) {
	golden.Run(t, "testdata/snapshot.txtar", func(a *golden.Archive) {
		a.Want("said", []byte(golden.DamageJSON(a.T(), string(a.Input("snapshot.json")), func(text string) (string, error) {
			d := json.NewDecoder(strings.NewReader(text))
			d.UseNumber()
			var v any
			require.NoError(a.T(), d.Decode(&v))
			data, err := pickle.Encode(pickled(v))
			require.NoError(a.T(), err)
			recs, err := ReadSnapshot(data)
			if err != nil {
				return "", err
			}
			var out strings.Builder
			for i, r := range recs {
				fmt.Fprintf(&out, "%d: %d skipped, settings %+v\n", i, r.Skipped, r.Settings)
				for _, s := range r.Final {
					fmt.Fprintf(&out, "%+v\n", s)
				}
				out.WriteString(r.Trace.String())
			}
			tr, err := FromSnapshot(bytes.NewReader(data), 0)
			if err != nil {
				return out.String() + "device 0: " + err.Error(), nil
			}
			return out.String() + "rewound:\n" + tr.String(), nil
		})))
	})
}

// pickled is a JSON value as Python has it.
func pickled(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		out := list()
		for _, x := range v {
			out.Items = append(out.Items, pickled(x))
		}
		return out
	case map[string]any:
		out := dict()
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out.Keys, out.Values = append(out.Keys, k), append(out.Values, pickled(v[k]))
		}
		return out
	}
	return v
}
