package format

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/pickle"
)

// ReadablePickle prints a pickle, a line an entry of the lists that snapshots have.
func ReadablePickle(t testing.TB, data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	v, err := pickle.Decode(data, pickle.Options{})
	require.NoError(t, err)
	var b bytes.Buffer
	printPickle(&b, v, 0)
	b.WriteByte('\n')
	return b.Bytes()
}

func printPickle(b *bytes.Buffer, v any, depth int) {
	indent := "\n" + strings.Repeat("  ", depth+1)
	switch v := v.(type) {
	case *pickle.Dict:
		b.WriteString("{")
		for i, k := range v.Keys {
			if i > 0 {
				b.WriteString(", ")
			}
			if depth == 0 {
				b.WriteString(indent)
			}
			fmt.Fprintf(b, "%v: ", k)
			printPickle(b, v.Values[i], depth+1)
		}
		b.WriteString("}")
	case *pickle.List:
		b.WriteString("[")
		for _, item := range v.Items {
			if d, ok := item.(*pickle.Dict); ok && d.Lookup("filename") == nil {
				b.WriteString(indent)
			} else {
				b.WriteString(" ")
			}
			printPickle(b, item, depth+1)
		}
		b.WriteString("]")
	case string:
		b.WriteString(strconv.Quote(v))
	default:
		fmt.Fprint(b, v)
	}
}
