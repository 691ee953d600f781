package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadCheckIsBounded(t *testing.T) {
	read := func(cases string) ([]checkedCase, error) {
		path := filepath.Join(t.TempDir(), "check.json")
		require.NoError(t, os.WriteFile(path, []byte(`{"schema":1,"exit":0,"cases":[`+cases+`]}`), 0o600))
		return readCheck(path)
	}
	one := `{"name":"a","why":"` + strings.Repeat("x", 120) + `"},`
	most := strings.TrimSuffix(strings.Repeat(one, maxChecked), ",")
	got, err := read(most)
	require.NoError(t, err)
	assert.Len(t, got, maxChecked)
	_, err = read(one + most)
	assert.ErrorContains(t, err, "check.json: got more than 100000 cases")
	_, err = read("{}")
	assert.ErrorContains(t, err, "check.json: cases[0]: got no name")
	_, err = read("{}" + strings.Repeat(",{}", 1<<20))
	assert.ErrorContains(t, err, "check.json: got 1048578 objects in 3145762 bytes, want at most")
	got, err = read("")
	require.NoError(t, err)
	assert.NotNil(t, got, "a check of no case is one")
}
