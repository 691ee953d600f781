package workspace

import (
	"encoding/csv"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorded is what an H100 recorded of an operator: the rows of testdata/measured/h100-NAME.csv,
// without its header.
func recorded(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open("../../testdata/measured/h100-" + name + ".csv")
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	return rows[1:]
}
