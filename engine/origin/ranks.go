package origin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"github.com/memspec/memspec/engine/regular"
	"github.com/memspec/memspec/engine/spec"
)

// Ranks lists the recordings of a case of several ranks: it is written after them.
type Ranks struct {
	WorldSize int      `json:"world_size"`
	Ranks     []Rank   `json:"ranks"`             // that ran, in order
	NotRun    []Unlike `json:"not_run,omitempty"` // that take otherwise, as far as is known, and did not run
}

// Rank is one that ran.
type Rank struct {
	Rank   int    `json:"rank"`
	Place  string `json:"place,omitempty"` // in the program's meshes: dp 0 of 2, stage 1
	SHA256 string `json:"sha256"`          // of its recording
}

// Unlike are ranks that differ from others.
type Unlike struct {
	Why   string `json:"why"` // pipeline stage, uneven shards
	Ranks []int  `json:"ranks"`
}

// maxRanks bounds the file, in bytes, and the ranks that ran.
const maxRanksFile, maxRanks = 64 << 20, 4096

// ReadRanks reads the list of a case's ranks and compares the recordings with it. ranks are those
// that the case is of: all that ran, or its one. The error is an *Uncaptured where the list is not
// there, or where a recording is another one: the set is then of two runs.
func ReadRanks(c *spec.Case) (list *Ranks, ranks []int, err error) {
	all := *c
	all.Rank = nil
	path, err := Find(&all)
	if err != nil {
		return nil, nil, err
	}
	list, err = readRanks(path)
	if err != nil {
		return nil, nil, err
	}
	if want := c.Program.Ranks.WorldSize; list.WorldSize != want {
		return nil, nil, fmt.Errorf("%s: got world_size %d, want %d", path, list.WorldSize, want)
	}
	for _, rank := range list.Ranks {
		one := c.OfRank(rank.Rank)
		if err := rank.holds(&one); err != nil {
			return nil, nil, err
		}
		ranks = append(ranks, rank.Rank)
	}
	if c.Rank == nil {
		return list, ranks, nil
	}
	if !slices.Contains(ranks, *c.Rank) {
		return nil, nil, regular.Plain(fmt.Errorf("%s: got rank %d, want one that ran: %v", c.Name, *c.Rank, ranks))
	}
	return list, []int{*c.Rank}, nil
}

// readRanks reads a file that lists ranks.
func readRanks(path string) (*Ranks, error) {
	data, err := regular.Read(path, maxRanksFile)
	if err != nil {
		return nil, regular.Plain(err)
	}
	r := &Ranks{}
	if err = regular.CheckJSON(data, sidecarText); err == nil {
		err = json.Unmarshal(data, r)
	}
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func (r *Ranks) check() error {
	if len(r.Ranks) == 0 || len(r.Ranks) > maxRanks {
		return fmt.Errorf("got %d ranks, want 1 to %d", len(r.Ranks), maxRanks)
	}
	for i, one := range r.Ranks {
		switch {
		case one.Rank < 0 || one.Rank >= r.WorldSize:
			return fmt.Errorf("got rank %d of %d", one.Rank, r.WorldSize)
		case i > 0 && one.Rank <= r.Ranks[i-1].Rank:
			return fmt.Errorf("got rank %d after rank %d, want them in order", one.Rank, r.Ranks[i-1].Rank)
		case strings.ContainsFunc(one.Place, unprintable):
			return fmt.Errorf("got the place %q, want it printable", one.Place)
		}
	}
	for _, u := range r.NotRun {
		if len(u.Ranks) == 0 || strings.ContainsFunc(u.Why, unprintable) {
			return fmt.Errorf("not_run: got %q of %d ranks, want a printable reason and ranks", u.Why, len(u.Ranks))
		}
	}
	return nil
}

func unprintable(c rune) bool { return !unicode.IsPrint(c) }

// holds says whether the recording of a rank is the one that the list is of.
func (r *Rank) holds(c *spec.Case) error {
	path := c.Captured()
	f, _, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Uncaptured{Case: c, Path: path}
	}
	if err != nil {
		return regular.Plain(err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return regular.Plain(err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != r.SHA256 {
		return &Uncaptured{Case: c, Path: path, Other: true}
	}
	return nil
}

// Files are the files that a case is predicted from: its recording, or the list of its ranks and
// their recordings, as far as that can be read.
func Files(c *spec.Case) []string {
	path := c.Captured()
	if path == "" {
		return nil
	}
	files := []string{path}
	if !c.EveryRank() {
		return files
	}
	r, err := readRanks(path)
	if err != nil {
		return files // judging the case says so
	}
	for _, rank := range r.Ranks {
		one := c.OfRank(rank.Rank)
		files = append(files, one.Captured())
	}
	return files
}

// Unlike is how many ranks differ and did not run.
func (r *Ranks) Unlike() int {
	seen := map[int]bool{}
	for _, u := range r.NotRun {
		for _, rank := range u.Ranks {
			seen[rank] = true
		}
	}
	return len(seen)
}

// Why says why they differ, each reason once: "pipeline stage, experts".
func (r *Ranks) Why() string {
	var out []string
	for _, u := range r.NotRun {
		if !slices.Contains(out, u.Why) {
			out = append(out, u.Why)
		}
	}
	return strings.Join(out, ", ")
}
