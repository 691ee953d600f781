package workspace

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// formulaErrors counts the answers of one kind of call by how the formula compares with them.
type formulaErrors struct {
	answers, exact, over, under            int
	allOver, allUnder, mostOver, mostUnder float64 // MiB
}

// smallestBlock is the allocator's (c10/cuda/CUDACachingAllocator.cpp kMinBlockSize): an error
// below it moves a peak by one block at most.
const smallestBlock = 512

func (s *formulaErrors) add(got, want int64) {
	const mib = 1 << 20
	s.answers++
	switch d := float64(got - want); {
	case max(d, -d) <= max(float64(want)/100, smallestBlock):
		s.exact++
	case d > 0:
		s.over++
		s.allOver += d / mib
		s.mostOver = max(s.mostOver, d/mib)
	default:
		s.under++
		s.allUnder -= d / mib
		s.mostUnder = max(s.mostUnder, -d/mib)
	}
}

func (s *formulaErrors) row(key string) string {
	share := func(n int) string { return fmt.Sprintf("%.1f", 100*float64(n)/float64(s.answers)) }
	return fmt.Sprintf("| %s | %d | %s | %s | %s | %.0f | %.0f | %.1f | %.1f |\n", key, s.answers, share(s.exact),
		share(s.over),
		share(s.under), s.allOver, s.allUnder, s.mostOver, s.mostUnder)
}

const errorColumns = "answers | met, % | over, % | under, % | over, MiB | under, MiB | most over | most under |\n"

// errorTable is a table of the formula's errors by the columns of a key.
func errorTable(answers []*answer, columns string, key func(*answer) string) string {
	total := map[string]*formulaErrors{}
	for _, a := range answers {
		for _, k := range []string{key(a), strings.Repeat("all | ", strings.Count(columns, "|")) + "all"} {
			if total[k] == nil {
				total[k] = &formulaErrors{}
			}
			total[k].add(int64(a.conv.CuDNN(a.platform, a.out, false)[0].Bytes), a.bytes)
		}
	}
	n := strings.Count(columns, "|") + 1
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %s|%s%s\n", columns, errorColumns, strings.Repeat("---|", n), strings.Repeat("---:|", 8))
	for _, k := range slices.Sorted(maps.Keys(total)) {
		b.WriteString(total[k].row(k))
	}
	return b.String()
}

// TestErrorsOfTheFormula: docs/accuracy.md has the formula's errors over all known answers, the
// answers that its limits were chosen on apart from the others; testdata/errors.md has them by
// device class.
func TestErrorsOfTheFormula(t *testing.T) {
	golden.NeedsWhole(t, "the tables are of all answers")
	fitted, held := []*answer{}, []*answer{}
	for _, a := range knownAnswers(t) {
		if a.fitted {
			fitted = append(fitted, a)
		} else {
			held = append(held, a)
		}
	}
	directions := map[string]string{"forward": "forward", "dgrad": "gradient of the input",
		"wgrad": "gradient of the weight"}
	kind := func(a *answer) string {
		return strings.Join([]string{directions[a.direction], a.conv.Input.DType.String(), a.layout}, " | ")
	}
	class := func(a *answer) string {
		return strings.Join([]string{a.direction, a.by.Class, a.conv.Input.DType.String(), a.layout}, " | ")
	}
	golden.File(t, filepath.Join("testdata", "errors.md"),
		"# Fitted\n\n"+errorTable(fitted, "direction | device class | dtype | layout", class)+
			"\n# Held out\n\n"+errorTable(held, "direction | device class | dtype | layout", class))

	page := filepath.Join("..", "..", "docs", "accuracy.md")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	got := string(text)
	for name, answers := range map[string][]*answer{"fitted": fitted, "held out": held} {
		begin, end := "<!-- formula, "+name+" -->\n", "<!-- end -->\n"
		from := strings.Index(got, begin)
		require.GreaterOrEqual(t, from, 0, begin)
		from += len(begin)
		to := from + strings.Index(got[from:], end)
		got = got[:from] + "\n" + errorTable(answers, "direction | dtype | layout", kind) + "\n" + got[to:]
	}
	if golden.Updating() {
		golden.Write(t, page, []byte(got))
	}
	assert.True(t, golden.Updating() || got == string(text), "MEMSPEC_UPDATE=1 rewrites the tables of docs/accuracy.md")
}
