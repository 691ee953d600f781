package profile

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the scanner reads is what encoding/json reads; what it is not made for it leaves alone.
func TestScanReadsAsEncodingJSON(t *testing.T) {
	data, err := os.ReadFile("../../../memspec.workspace.json")
	require.NoError(t, err)
	got, ok := scan(data)
	require.True(t, ok)
	want, err := decode(data)
	require.NoError(t, err)
	require.Equal(t, want, got)

	entry :=
		`{"op":"conv","direction":"dgrad","dtype":"float32","input":[1,3,8],"input_strides":[24,8,1],"weight":[4,3,3],"weight_strides":[9,3,1],` +
			`"padding":[1],"stride":[1],"dilation":[1],"groups":1,"deterministic":true,"allow_tf32":false,"benchmark":true,"bytes":16,"engine":38,"most":20}`
	whole := `{"schema":1,"groups":[{"library":"cudnn","version":"9.10.2","class":"sm89","entries":[` + entry + `]}]}`
	for _, c := range []struct {
		what, from, to string
		ok             bool
	}{
		{"every key", "", "", true},
		{"another order", `"op":"conv","direction":"dgrad"`, `"direction":"dgrad", "op":"conv"`, true},
		{"white space", `{"op"`, "\n\t{ \"op\"", true},
		{"none of a list", `"padding":[1]`, `"padding":[]`, true},
		{"no groups", `[{"library":"cudnn","version":"9.10.2","class":"sm89","entries":[` + entry + `]}]`, `[]`, true},
		{"a key in capitals, which encoding/json takes", `"op"`, `"OP"`, false},
		{"a key twice, of which encoding/json takes the last", `"groups":1,`, `"groups":1,"groups":2,`, false},
		{"an escape", `"dgrad"`, `"dgr\u0061d"`, false},
		{"null, which encoding/json passes over", `"engine":38`, `"engine":null`, false},
		{"an unknown key", `"engine"`, `"engines"`, false},
		{"a fraction", `"engine":38`, `"engine":38.5`, false},
		{"a control character", `"dgrad"`, "\"dg\nrad\"", false},
		{"more behind it", `"schema":1`, `"schema":1}{"schema":1`, false},
		{"an end too early", `]}]}`, `]}]`, false},
	} {
		text := []byte(strings.Replace(whole, c.from, c.to, 1))
		got, ok := scan(text)
		require.Equal(t, c.ok, ok, c.what)
		if ok {
			want, err := decode(text)
			require.NoError(t, err, c.what)
			assert.Equal(t, want, got, c.what)
		}
	}
}

// Whatever the scanner takes, encoding/json takes, as the same.
func FuzzScan(f *testing.F) {
	f.Add(
		[]byte(
			`{"schema":1,"groups":[{"library":"cudnn","version":"9.10.2","class":"sm89","entries":[{"op":"conv","direction":"forward","dtype":"float32",` +
				`"input":[1,3,8],"input_strides":[24,8,1],"weight":[4,3,3],"weight_strides":[9,3,1],"padding":[],"stride":[1],"dilation":[1],"groups":1,"bytes":16,"engine":38}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := scan(data)
		if !ok || got.Schema != Schema {
			return
		}
		want, err := decode(data)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func BenchmarkParse(b *testing.B) {
	data, err := os.ReadFile("../../../memspec.workspace.json")
	require.NoError(b, err)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := Parse(data)
		require.NoError(b, err)
	}
}
