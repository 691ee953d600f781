package suite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/golden"
)

func TestBaselineCasesAreBounded(t *testing.T) {
	golden.NeedsWhole(t, "100,000 cases")
	read := func(text string) error {
		_, err := readBaseline(strings.NewReader(text), "b.json", maxBaseline)
		return err
	}
	one := `{"name":"a"},`
	most := strings.TrimSuffix(strings.Repeat(one, maxBaselineCases), ",")
	assert.NoError(t, read(`{"schema":1,"cases":[`+most+`]}`))
	assert.ErrorContains(t, read(`{"schema":1,"cases":[`+one+most+`]}`), "got more than 100000 cases")
	assert.ErrorContains(t, read(`{"schema":1,"cases":[{},{}]}`), "cases[0]: got no name")
}
