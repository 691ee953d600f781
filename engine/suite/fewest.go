package suite

import (
	"context"
	"errors"
	"slices"

	"github.com/memspec/memspec/engine/report"
)

// A Fewest is the answer of a search for the smallest value at which a case fits, where more of it,
// such as GPUs, leaves less for each device to hold.
type Fewest struct {
	Fewest int64   // 0: none of the values fits
	Before *Limit  // what breaks at the next smaller value, or at the largest where none fits; nil where the smallest fits
	Tried  int     // values that were run
	Holes  []int64 // larger values that were run and do not fit

	Quality report.Quality // of the figures at the smallest value that fits, or at the largest
}

// beside is how many values on each side of the smallest that fits are run.
const beside = 2

// Fewest searches the smallest of rising values at which a case fits. It leaps until one fits and
// halves the gap. Values on both sides of the answer are run: a smaller one that fits is the
// answer, and a larger one that does not is a hole.
func (ms *Models) Fewest(ctx context.Context, at At, values []int64) (*Fewest, error) {
	if len(values) == 0 {
		return nil, errors.New("got no values to search, want one or more")
	}
	s := newSearch(ctx, ms, at)
	last := len(values) - 1
	low, high := -1, 0 // low does not fit, high may
	for !s.fits(values[high]) && s.err == nil && high < last {
		low, high = high, min(2*high+1, last)
	}
	if s.err != nil {
		return nil, s.err
	}
	out := &Fewest{}
	if s.tried[values[high]] != nil {
		out.Before = s.tried[values[high]]
	} else {
		high = s.firstFit(values, low, high)
		out.Fewest = values[high]
		if high > 0 {
			out.Before = s.tried[values[high-1]]
		}
	}
	out.Quality = s.quality[values[high]]
	for v, l := range s.tried {
		if out.Fewest > 0 && v > out.Fewest && l != nil {
			out.Holes = append(out.Holes, v)
		}
	}
	slices.Sort(out.Holes)
	out.Tried = len(s.tried)
	return out, s.err
}

// firstFit is the index of the smallest value that was run and fits, with its neighbours run. Of
// the indices low does not fit, and high does.
func (s *search) firstFit(values []int64, low, high int) int {
	for high-low > 1 && s.err == nil {
		if mid := low + (high-low)/2; s.fits(values[mid]) {
			high = mid
		} else {
			low = mid
		}
	}
	for s.err == nil {
		from, to := max(high-beside, 0), min(high+beside, len(values)-1)
		s.try(values[from : to+1])
		first := slices.IndexFunc(values, func(v int64) bool {
			l, tried := s.tried[v]
			return tried && l == nil
		})
		if first == high {
			break
		}
		high = first
	}
	return high
}
