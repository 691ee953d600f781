package suite

import (
	"math/big"
	"math/bits"
	"slices"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/units"
)

// mostLeap bounds how far a guess may lead beyond the largest value known to fit.
const mostLeap = 16

// A load is how near a run that fits comes to what it may take: the figure that is nearest to its
// limit. The zero value is not known.
type load struct{ figure, limit units.Bytes }

// guided is largest for cases that are recorded, where every value costs a run of the program. Peaks
// grow nearly linearly with a dim, so a few runs find the place. The answer and the next value are
// run, values around the answer are tried, and those below it that do not fit are holes.
func (s *search) guided(most int64) (largest int64, holes []int64) {
	low, high := int64(0), most+1 // low fits, high does not or is beyond the search
	if !s.fits(1) {
		return 0, nil
	}
	for low = 1; s.err == nil; {
		low = s.narrow(low, high)
		above := s.fitting(most, low+2, low+4, low+8)
		if above == 0 {
			break
		}
		low, high = above, most+1
	}
	for _, v := range []int64{low - 1, low - 2, low - 3, low - 5, low - 8, low - low/4, low / 2, low / 4} {
		if v > 0 {
			s.fits(v)
		}
	}
	for v, l := range s.tried {
		if v < low && l != nil {
			holes = append(holes, v)
		}
	}
	slices.Sort(holes)
	return low, holes
}

// fitting is the first of some values up to most that fits; 0 where none does.
func (s *search) fitting(most int64, values ...int64) int64 {
	for _, v := range values {
		if v <= most && s.fits(v) {
			return v
		}
	}
	return 0
}

// narrow closes the gap between a value that fits and one that does not. Guesses that gain little
// each time would take long: the least gain doubles with each such step, and each third step halves
// a gap.
func (s *search) narrow(low, high int64) int64 {
	least := int64(1)
	for step := 1; high-low > 1 && s.err == nil; step++ {
		v := s.guess(low)
		if v > low+least {
			least = 1
		} else {
			v, least = low+least, 2*least
		}
		if s.tried[high] == nil { // beyond the search
			v = min(v, low*mostLeap, high-1)
		} else if step%3 == 0 || v >= high {
			v = low + (high-low)/2
		}
		if s.fits(v) {
			low = v
		} else {
			high = v
		}
	}
	return low
}

// guess is where the line through two values that fit meets their limit: the largest with a known
// load, and the largest up to half of it, so that steps of the figures count little. It is twice
// low where there is no such line.
func (s *search) guess(low int64) int64 {
	var known []int64
	for v, l := range s.loads {
		if v <= low && l.limit > 0 {
			known = append(known, v)
		}
	}
	slices.Sort(known)
	if len(known) < 2 {
		return 2 * low
	}
	x1, x2 := known[0], known[len(known)-1]
	for _, v := range known {
		if v <= x2/2 {
			x1 = v
		}
	}
	a, b := s.loads[x1], s.loads[x2]
	if b.figure <= a.figure || b.limit != a.limit {
		return 2 * low
	}
	rise := new(big.Int).Mul(big.NewInt(int64(b.limit-b.figure)), big.NewInt(x2-x1))
	rise.Div(rise, big.NewInt(int64(b.figure-a.figure)))
	if !rise.IsInt64() || rise.Int64() > EndValue {
		return EndValue
	}
	return x2 + rise.Int64()
}

// load is the figure of a result that is nearest to its limit: of its budgets, and of the device.
func (r *Result) load() load {
	if r.Report.OOM != nil {
		return load{}
	}
	var out load
	add := func(figure, limit units.Bytes) {
		if l := (load{figure, limit}); limit > 0 && (out.limit == 0 || l.nearer(out)) {
			out = l
		}
	}
	for i := range r.Verdict.Findings {
		f := &r.Verdict.Findings[i]
		add(max(f.Predicted, f.Upper), f.Limit)
	}
	reserved := r.Report.Peak.Reserved
	if up := r.Report.Upper; up != nil {
		reserved = max(reserved, up.Reserved)
	}
	add(reserved, allocator.LimitOn(&r.Case.Platform))
	return out
}

// nearer says whether a load takes more of its limit than another does.
func (l load) nearer(than load) bool {
	high, low := bits.Mul64(uint64(l.figure), uint64(than.limit))
	h, o := bits.Mul64(uint64(than.figure), uint64(l.limit))
	return high > h || high == h && low > o
}
