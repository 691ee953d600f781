package layout

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// at lays out at so many columns, and none of the lines may be wider.
func at(t *testing.T, columns int, fn func(*Printer)) string {
	t.Helper()
	var b strings.Builder
	p := To(Wide(&b, columns))
	fn(p)
	require.NoError(t, p.Err)
	for line := range strings.Lines(b.String()) {
		assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), columns, "%q", line)
	}
	return b.String()
}

func TestLines(t *testing.T) {
	assert.Equal(t, `PASS alexnet[B=1] on a10g: weights
  233.5 MiB of 236.0 MiB, delta 4.6 MiB
  of 6.0 MiB
  fits
    peak at aten::conv2d  layer3.5.conv2
      resnet.py:146

`, at(t, 40, func(p *Printer) {
		p.Line("%s: weights 233.5 MiB of 236.0 MiB, delta 4.6 MiB of 6.0 MiB", "PASS alexnet[B=1] on a10g")
		p.Line("  fits")
		p.Line("    peak at aten::conv2d  layer3.5.conv2  resnet.py:146")
		p.Line("")
	}))
}

func TestItems(t *testing.T) {
	assert.Equal(t, `  budget     memspec.yaml:14
             models.resnet50.cases[1] =
             2GiB
             and more
  predicted  1 B
`, at(t, 40, func(p *Printer) {
		p.Item("budget", "memspec.yaml:14  models.resnet50.cases[1] = 2GiB")
		p.Item("", "and more")
		p.Item("predicted", "%d B", 1)
	}))
}

// Where a text may be broken: not between a number and its unit of bytes.
func TestFirstWord(t *testing.T) {
	for text, want := range map[string]string{
		"":           "",
		"one two":    "one",
		" one":       "",        // a blank is no word's
		"5 MiB more": "5 MiB",   // a size
		"5 B":        "5 B",     // at the end
		"5 KiB, so":  "5 KiB,",  // what follows without a blank stays, too
		"5 B/2 B of": "5 B/2 B", // and a second size
		"5 Bytes":    "5",       // a word that begins as a unit does
		"5 B2":       "5",       // likewise
		"5 i":        "5",       // no unit
		"5 M":        "5",       // likewise, cut short
		"x MiB":      "x",       // no number
		"5  B":       "5",       // two blanks stand between columns
		"(5 GiB) is": "(5 GiB)", // in brackets
		"é5 TiB é":   "é5 TiB",  // beside what is not ASCII
	} {
		assert.Equal(t, want, firstWord(text), "%q", text)
	}
}

// A word longer than a line stays whole.
func TestLongWords(t *testing.T) {
	var b strings.Builder
	To(Wide(&b, 40)).Item("artifact", "in %s/model.pt now", strings.Repeat("/folder", 8))
	assert.Equal(t, "  artifact   in\n             "+strings.Repeat("/folder", 8)+"/model.pt\n             now\n",
		b.String())
}

// A command that is continued is the same command to a shell.
func TestCommands(t *testing.T) {
	words := []string{"printf", "'%s|'", "'resnet50[B=32, S=224] on the moon'", "--case", "'it'\\''s  two'",
		"../testdata/artifacts/torchvision/memspec.yaml", "-v"}
	got := at(t, 64, func(p *Printer) { p.Command("reproduce", strings.Join(words, " ")) })
	assert.Equal(t, `  reproduce  printf '%s|' 'resnet50[B=32, S=224] on the moon' \
               --case 'it'\''s  two' \
               ../testdata/artifacts/torchvision/memspec.yaml \
               -v
`, got)
	out, err := exec.Command("sh", "-c", strings.TrimPrefix(strings.TrimSpace(got), "reproduce  ")).Output()
	require.NoError(t, err)
	assert.Equal(t,
		"resnet50[B=32, S=224] on the moon|--case|it's  two|../testdata/artifacts/torchvision/memspec.yaml|-v|", string(out))
}

func TestTables(t *testing.T) {
	table := NewTable("rrll")
	table.Add("flat", "cum", "module", "what")
	table.Add("441.0 MiB", "441.0 MiB", "features.2.block.0.with.a.long.name", "activations ×2")
	table.Add("9.7 MiB", "450.7 MiB", "", "parameters ×142, buffers ×7 and more")
	assert.Equal(t, `         flat        cum  module                               what
    441.0 MiB  441.0 MiB  features.2.block.0.with.a.long.name  activations ×2
      9.7 MiB  450.7 MiB                                       parameters ×142, buffers ×7 and more
`, at(t, 100, func(p *Printer) { p.Table(4, table) }))
	assert.Equal(t, `         flat        cum  module            what
    441.0 MiB  441.0 MiB  features.2.       activations ×2
                          block.0.with.a.
                          long.name
      9.7 MiB  450.7 MiB                    parameters ×142,
                                            buffers ×7 and
                                            more
`, at(t, 60, func(p *Printer) { p.Table(4, table) }))
}

// Names bring neither line ends nor control characters.
func TestNamesStayOnTheirLine(t *testing.T) {
	got := at(t, 80, func(p *Printer) {
		p.Line("a\nb\x1b[31m \u202ec")
		table := NewTable("l")
		table.Add("x\ny")
		p.Table(0, table)
		p.Command("reproduce", "a 'b\nc'")
	})
	assert.Equal(t, "a�b�[31m �c\nx�y\n  reproduce  a 'b�c'\n", got)
}

func TestWidthOfWriters(t *testing.T) {
	var b strings.Builder
	assert.Equal(t, 80, Columns(&b))
	assert.Equal(t, 120, Columns(Wide(&b, 120)))
	assert.Equal(t, 40, Columns(Wide(&b, 3)), "narrower is not laid out")
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestTheFirstErrorStays(t *testing.T) {
	p := To(full{})
	p.Line("a")
	p.Item("a", "b")
	p.Table(0, NewTable("l"))
	assert.ErrorIs(t, p.Err, errFull)
}

// once fails the first time, and takes what is written then.
type once struct {
	failed bool
	text   strings.Builder
}

func (o *once) Write(p []byte) (int, error) {
	if !o.failed {
		o.failed = true
		return 0, errFull
	}
	return o.text.Write(p)
}

func TestNothingIsWrittenBehindAnError(t *testing.T) {
	to := &once{}
	p := To(to)
	p.Line("")
	table := NewTable("l")
	table.Add("a")
	for _, write := range []func(){func() { p.Table(0, table) }, func() { p.Line("") }, func() { p.Line("a") },
		func() { p.Item("a", "b") }, func() { p.Command("a", "b") }} {
		write()
		assert.ErrorIs(t, p.Err, errFull)
		assert.Empty(t, to.text.String())
	}
}

// A name that is longer than its column leaves its first line less.
func TestItemsOfLongNames(t *testing.T) {
	assert.Equal(t, "  a name of 17 let  one two three four\n             five six seven eight nine\n             ten\n",
		at(t, 40, func(p *Printer) { p.Item("a name of 17 let", "one two three four five six seven eight nine ten") }))
}

func ExamplePrinter_Item() {
	var b strings.Builder
	p := To(&b)
	p.Item("peak at", "aten::conv2d  layer3.5.conv2  resnet.py:146 (forward, first pass)")
	fmt.Print(b.String())
	// Output:
	//   peak at    aten::conv2d  layer3.5.conv2  resnet.py:146 (forward, first pass)
}

// Numbers are never broken: a table of them stays wider than its page, and so does one whose words
// are as narrow as may be.
func TestTablesThatDoNotFit(t *testing.T) {
	table := NewTable("rr")
	table.Add("441.0 MiB", "441.0 MiB")
	assert.Equal(t, []int{9, 9}, table.widths(10))
	table = NewTable("rl")
	table.Add("441.0 MiB", strings.Repeat("a", leastCell+3))
	assert.Equal(t, []int{9, leastCell}, table.widths(12))
	assert.Equal(t, []int{9, leastCell + 3}, table.widths(9+gap+leastCell+3))
	assert.Equal(t, []int{9, leastCell + 2}, table.widths(9+gap+leastCell+2))
	table = NewTable("lll")
	table.Add(strings.Repeat("a", leastCell+4), strings.Repeat("b", leastCell+4), "c")
	assert.Equal(t, []int{leastCell + 4, leastCell + 3, 1}, table.widths(2*leastCell+8+1+2*gap-1),
		"of equals the last gives way first")
}

// A path of a file with its line is not broken, whatever the page's width; other words give way.
func TestPathsStayWhole(t *testing.T) {
	for _, page := range []int{20, 40, 60, 80} {
		var b strings.Builder
		p := To(Wide(&b, page))
		table := NewTable("rll")
		table.Add("4.0 MiB", "transformers/loss/loss_utils.py:42 (forward)",
			"model.layers.0.self_attention.projection.weight")
		table.Add("2.0 MiB", "train.py:7", "activations and what is beside them")
		p.Table(2, table)
		require.NoError(t, p.Err)
		assert.Contains(t, b.String(), "transformers/loss/loss_utils.py:42", page)
		assert.Contains(t, b.String(), "train.py:7", page)
	}
}
