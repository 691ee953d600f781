package suite

import (
	"context"
	"fmt"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/spec"
	"github.com/memspec/memspec/engine/units"
)

// MostValue is the largest value of a dim that a search tries where nobody says another.
const MostValue = 1 << 16

// EndValue bounds what a search may be asked to try: beyond any dim, and far from where doubling
// leaves int64.
const EndValue = 1 << 40

// mostScanned bounds a search that has to try one value after the other.
const mostScanned = 1 << 13

// At makes a case with a value of the dim that is searched.
type At func(value int64) (spec.Case, error)

// A Fitted is the answer of a search: the largest value of a dim at which a run fits its budgets
// and its device.
type Fitted struct {
	Largest int64   // 0: not even 1 fits
	Next    *Limit  // what breaks at the next value; nil where the search ended at its bound
	Tried   int     // values that were run
	Scanned bool    // fitting came and went with growing values, so one after the other was tried
	Holes   []int64 // of a recorded case: smaller values that were run and do not fit

	Quality report.Quality // of the figures at the largest value, or at 1 where none fits
}

// Largest searches the largest value up to most at which a case fits: its run ends within the
// device's memory, and no budget is broken or unknown.
//
// It doubles until a value does not fit and halves the gap. That is right where more never takes
// less. It is not taken for granted: values on both sides of the answer are tried, and where one
// contradicts, every value up to the largest that may fit is. A case that is predicted from a
// recording of each value takes fewer runs (guided).
func (ms *Models) Largest(ctx context.Context, at At, most int64) (*Fitted, error) {
	if most < 1 || most > EndValue {
		return nil, fmt.Errorf("got a search up to %d, want one up to a number from 1 to %d", most, int64(EndValue))
	}
	s := newSearch(ctx, ms, at)
	first, err := at(1)
	if err == nil && first.Captured() != "" {
		s.serves = first.Program.Serves()
		low, holes := s.guided(most)
		return s.found(low, most, &Fitted{Largest: low, Holes: holes})
	}
	return s.largest(most)
}

// largest is the largest value up to most that fits.
func (s *search) largest(most int64) (*Fitted, error) {
	low, high := int64(0), int64(1) // low fits, high may not
	for high <= most && s.fits(high) {
		low, high = high, high*2
	}
	if high > most {
		if s.fits(most) {
			low = most
		}
		high = most + 1
	}
	low = s.between(low, high)
	scanned := false
	if s.err == nil && s.contradicts(low, most) {
		scanned = true
		low = s.scan(low, most)
	}
	return s.found(low, most, &Fitted{Largest: low, Scanned: scanned})
}

// found adds to an answer what breaks at the next value, and how it was found.
func (s *search) found(low, most int64, f *Fitted) (*Fitted, error) {
	if s.err != nil {
		return nil, s.err
	}
	f.Quality = s.quality[max(low, 1)]
	if low < most && !s.fits(low+1) {
		f.Next = s.tried[low+1]
	}
	f.Tried = len(s.tried)
	return f, s.err
}

func newSearch(ctx context.Context, ms *Models, at At) *search {
	return &search{ctx: ctx, models: ms, at: at, tried: map[int64]*Limit{}, quality: map[int64]report.Quality{},
		loads: map[int64]load{}, requests: map[int64]load{}}
}

type search struct {
	ctx    context.Context
	models *Models
	at     At
	tried  map[int64]*Limit // nil fits
	err    error
	serves bool // the case is an engine's command

	quality map[int64]report.Quality // of the figures at each value that was tried
	loads   map[int64]load           // of each value that was run

	requests map[int64]load // the same of what it asks for
}

// fits runs a value once.
func (s *search) fits(value int64) bool {
	if s.err != nil {
		return false
	}
	l, ok := s.tried[value]
	if !ok {
		if l, s.err = s.run(value); s.err != nil {
			return false
		}
		s.tried[value] = l
	}
	return l == nil
}

func (s *search) run(value int64) (*Limit, error) {
	if s.models.Bracket != nil {
		s.models.Bracket(s.bracket())
	}
	r, err := s.models.resultAt(s.ctx, s.at, value)
	if err != nil {
		return nil, err
	}
	s.quality[value], s.loads[value], s.requests[value] = r.Report.Quality, r.load(), r.requests()
	return r.Limit(value), nil
}

// between halves the gap between a value that fits and one that does not.
func (s *search) between(low, high int64) int64 {
	for high-low > 1 && s.err == nil {
		if mid := low + (high-low)/2; s.fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// contradicts tries values beside the answer and further off: whether one above fits, or one below
// does not.
func (s *search) contradicts(answer, most int64) bool {
	for _, step := range []int64{1, 2, 3, 4, 7, 8, answer / 8, answer / 4, answer / 2} {
		if above := answer + step; step > 0 && above <= most && s.fits(above) {
			return true
		}
		if below := answer - step; step > 0 && below > 0 && !s.fits(below) && s.err == nil {
			return true
		}
	}
	for value, l := range s.tried {
		if value > answer && l == nil || value < answer && l != nil {
			return true
		}
	}
	return false
}

// scan finds the largest value that fits, from the first that cannot fit downward. That one is
// where more is asked for at once than the limits allow, however it is laid out: what is asked for
// grows with a dim, whatever rounding, caching and splitting make of it.
func (s *search) scan(answer, most int64) int64 {
	low, high := max(answer, 1), max(answer, 1)
	for high <= most && !s.cannot(high) {
		low, high = high, high*2
	}
	for high-low > 1 && s.err == nil {
		if mid := low + (high-low)/2; s.cannot(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	for v := min(high-1, most); v > 0 && s.err == nil; v-- {
		if s.fits(v) {
			return v
		}
		if len(s.tried) > mostScanned {
			s.err = fmt.Errorf("got more than %d values between one that fits and one that cannot, want a narrower search "+
				"(--most)", mostScanned)
		}
	}
	return 0
}

// cannot says whether a run asks for more at once than the device or a budget allows.
func (s *search) cannot(value int64) bool {
	if s.err != nil {
		return true
	}
	c, err := s.at(value)
	if err != nil {
		s.err = err
		return true
	}
	limit := leastLimit(&c)
	c.Budgets, c.Fits, c.Platform.Device.Memory = nil, nil, 0
	r, err := s.models.Run(s.ctx, c)
	if err != nil {
		s.err = fmt.Errorf("at %d: %w", value, err)
		return true
	}
	return limit > 0 && r.Report.Peak.Requested > limit
}

// leastLimit is the least of a case's budgets of memory and what its device holds, 0 where neither
// is known.
func leastLimit(c *spec.Case) units.Bytes {
	limit := allocator.LimitOn(&c.Platform)
	for _, b := range c.Budgets {
		switch b.Metric {
		case report.Allocated, report.Reserved, report.Total:
			if limit == 0 || b.Limit < limit {
				limit = b.Limit
			}
		}
	}
	return limit
}
