package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memspec/memspec/engine/layout"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/suite"
	"github.com/memspec/memspec/internal/cli"
)

const (
	worldFlag = "world-size"
	anyWorld  = "1..1024"
	// nodeSize is how many ranks of a larger world a node has where nothing states it, as memshim run
	// has it.
	nodeSize = 8
	maxWorld = 1 << 20
	// mostServing is how many pretend GPUs an engine that serves a model may have.
	mostServing = 16
	tensorFlag  = "--tensor-parallel-size"
)

var worldRange = regexp.MustCompile(`^([0-9]{1,7})\.\.([0-9]{1,7})$`)

// fitWorld is the flag --world-size: the world sizes to search. It may stand alone, and its value
// may be the next word.
type fitWorld struct{ text string }

func newFitWorld(cmd *cobra.Command) *fitWorld {
	w := &fitWorld{}
	cmd.Flags().StringVar(&w.text, worldFlag, "",
		"the fewest GPUs on which a case with ranks: or serve: fits, of `FIRST..LAST` ("+anyWorld+")")
	cmd.Flags().Lookup(worldFlag).NoOptDefVal = anyWorld
	return w
}

// valueIn is the place of the flag's value among the arguments; -1 where it stands with the flag,
// or there is none.
func (w *fitWorld) valueIn(args []string) int {
	if w.text != anyWorld || len(args) < 2 {
		return -1
	}
	return slices.IndexFunc(args, worldRange.MatchString)
}

// want checks the arguments that are left without the flag's value.
func (w *fitWorld) want(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if at := w.valueIn(args); at >= 0 {
			args = slices.Delete(slices.Clone(args), at, at+1)
		}
		return check(cmd, args)
	}
}

// take takes the flag's value from the arguments.
func (w *fitWorld) take(args []string) []string {
	if at := w.valueIn(args); at >= 0 {
		w.text, args = args[at], slices.Delete(slices.Clone(args), at, at+1)
	}
	return args
}

// sizes are the world sizes to search: the numbers of ranks into which a node divides, and whole
// nodes.
func (w *fitWorld) sizes(c *spec.Case, multiple int64) ([]int64, error) {
	m := worldRange.FindStringSubmatch(w.text)
	if m == nil {
		return nil, fmt.Errorf("--world-size: got %q, want a range such as 1..64", w.text)
	}
	first, _ := strconv.ParseInt(m[1], 10, 64)
	last, _ := strconv.ParseInt(m[2], 10, 64)
	if first < 1 || last < first || last > maxWorld {
		return nil, fmt.Errorf("--world-size: got %s, want a range such as 1..64, up to %d", w.text, maxWorld)
	}
	if c.Program.Serves() {
		last = min(last, mostServing)
	} else if c.Program == nil || c.Program.Ranks == nil {
		return nil, fmt.Errorf("--world-size: got the case %s without ranks:, want a program with ranks: {world_size: N}",
			c.Name)
	}
	node := nodeOf(c)
	var out []int64
	for n := first; n <= last; n++ {
		if (n%node == 0 || n < node && node%n == 0) && n%multiple == 0 {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("--world-size: got %s without a part of a node of %d GPUs or whole nodes, want a wider range",
			w.text, node)
	}
	return out, nil
}

// nodeOf is how many ranks a node has.
func nodeOf(c *spec.Case) int64 {
	if r := c.Program.Ranks; r != nil && r.NProcPerNode > 0 {
		return int64(r.NProcPerNode)
	}
	return nodeSize
}

// inWorld is the case in another world. A world smaller than a node is a part of one. An engine
// that serves a model takes the number of GPUs as a word, of which the last counts.
func inWorld(c *spec.Case) suite.At {
	return func(n int64) (spec.Case, error) {
		if c.Program.Serves() {
			return c.WithWords(tensorFlag, strconv.FormatInt(n, 10)), nil
		}
		return c.WithLines(fmt.Sprintf("ranks: {world_size: %d, nproc_per_node: %d}", n, min(n, nodeOf(c))))
	}
}

// worldText is the world of a case in the words that state it.
func worldText(c *spec.Case) string {
	if p := c.Program; p.Serves() {
		return strings.Join(p.Args[len(p.Args)-2:], " ")
	}
	return fmt.Sprintf("world_size: %d", c.Program.Ranks.WorldSize)
}

type fitWorldJSON struct {
	Fewest int64     `json:"fewest"` // 0: none fits
	Before *nextJSON `json:"before"` // what breaks at the next smaller world; null where the smallest fits
	Tried  int       `json:"tried"`
	Holes  []int64   `json:"holes,omitempty"` // larger worlds that were run and do not fit

	Quality report.Quality `json:"quality,omitempty"` // of the figures at the fewest

	first, last, node int64
}

// searchWorld finds the fewest GPUs.
func (j *fitJSON) searchWorld(cmd *cobra.Command, s *cli.Subject, models *suite.Models, sizes []int64) error {
	found, err := models.Fewest(cmd.Context(), inWorld(&s.Base), sizes)
	var missing *origin.Uncaptured
	if errors.As(err, &missing) {
		command := fmt.Sprintf("python -m memshim fit %s %s --world-size=%d..%d", layout.ShellQuote(s.Base.Name),
			layout.ShellQuote(s.Base.Pos.File), sizes[0], sizes[len(sizes)-1])
		return &cli.Exit{Code: cli.ExitUnsure, Err: fmt.Errorf("got no recording of %s at %s (%s), "+
			"want the ones that this makes: %s", s.Base.Name, worldText(missing.Case), missing.Path, command)}
	}
	if err != nil {
		return err
	}
	j.World = &fitWorldJSON{Fewest: found.Fewest, Tried: found.Tried, Holes: found.Holes, Quality: found.Quality,
		first: sizes[0], last: sizes[len(sizes)-1], node: nodeOf(&s.Base)}
	if b := found.Before; b != nil {
		j.World.Before = nextOf(b)
	}
	return nil
}

// exit is 0 where a world fits, 1 where none does, and 3 where that cannot be said.
func (f *fitWorldJSON) exit() int {
	switch {
	case f.Fewest > 0:
		return cli.ExitOK
	case f.Before != nil && f.Before.Unsure:
		return cli.ExitUnsure
	}
	return cli.ExitBroken
}

func (f *fitWorldJSON) write(w io.Writer, name string, s *cli.Subject) error {
	p := layout.To(w)
	switch {
	case f.Fewest > 0:
		p.Line("%s: the fewest GPUs on which it fits: %d", name, f.Fewest)
	case f.exit() == cli.ExitUnsure:
		p.Line("%s: whether it fits on %d GPUs is unknown", name, f.last)
	default:
		p.Line("%s: it does not fit even on %d GPUs", name, f.last)
	}
	p.Item("budgets", "%s", budgetsText(s))
	switch b := f.Before; {
	case b != nil && f.Fewest > 0:
		p.Item("before", "%d: %s", b.Value, b)
	case b != nil:
		p.Item("at", "%d: %s", b.Value, b)
	default:
		p.Item("before", "nothing smaller was asked for (--world-size)")
	}
	if len(f.Holes) > 0 {
		p.Item("holes", "%s: larger worlds that do not fit", strings.Trim(fmt.Sprint(f.Holes), "[]"))
	}
	p.Item("tried", "%d worlds from %d to %d, each in separate runs: parts and multiples of a node of %d", f.Tried,
		f.first, f.last, f.node)
	if words := report.QualityWords(f.Quality); words != "" {
		p.Item("quality", "%s", words)
	}
	return p.Err
}

// refuseBesideWorld refuses what has no meaning beside --world-size.
func refuseBesideWorld(cmd *cobra.Command, s *cli.Subject) error {
	if len(s.Open) > 0 {
		return fmt.Errorf("--world-size: got --dim %s beside it, want it with a value: one of them is searched", s.Open[0])
	}
	for _, name := range []string{"most", "devices"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--world-size: got --%s beside it, want it without", name)
		}
	}
	return nil
}
