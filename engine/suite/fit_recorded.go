package suite

import (
	"cmp"
	"fmt"
	"math/big"
	"math/bits"
	"slices"
	"strings"

	"github.com/memspec/memspec/engine/allocator"
	"github.com/memspec/memspec/engine/report"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// mostLeap bounds how far a guess may lead beyond the largest value known to fit.
const mostLeap = 16

// A load is how near a run that fits comes to what it may take: the figure that is nearest to its
// limit. The zero value is not known.
type load struct{ figure, limit units.Bytes }

// nearby bounds how far from the answer the values lie that are tried beside it.
const nearby = 16

// guided is largest for cases that are recorded, where every value costs a run of the program.
// Peaks grow nearly linearly with a dim, so a few runs find the place. Beside it memory is lost
// between blocks, now more and now less, so that a value may fit though the one before does not.
// Above the answer every value up to nearby is run that would fit if nothing were lost (reach), and
// four in any case. Below it eight are run, of which those that do not fit are holes; where one is,
// all down to nearby are run. Values that were run to find the place count.
//
// Of an engine that serves a model each run takes a minute or more, and what is left for its KV
// cache has no gaps between blocks: beside the answer fewer values are run.
func (s *search) guided(most int64) (largest int64, holes []int64) {
	above, below := int64(4), int64(5) // values that are run near the answer
	if s.serves {
		above, below = 1, 1
	}
	low, high := int64(0), most+1 // low fits, high does not or is beyond the search
	if !s.fits(1) {
		return 0, nil
	}
	for low = 1; s.err == nil; {
		low = s.narrow(low, high)
		end := min(low+nearby, most)
		larger := s.lacking(nil, min(above, end-low), low+1, min(low+8, most), low+1, low+2, low+4, low+8)
		if !s.serves {
			larger = s.untried(larger, low+1, min(s.reach(low), end))
		}
		s.try(larger)
		next := int64(0)
		if next, high = s.above(low, most); next == 0 {
			break
		}
		low = next
	}
	smaller := s.lacking(nil, below, max(low-8, 1), low-1, low-1, low-2, low-3, low-5, low-8)
	smaller = s.lacking(smaller, 1, low/2+1, low-low/8-1, low-low/4)
	smaller = s.lacking(smaller, 1, low/4+1, low/2, low/2)
	s.try(s.lacking(smaller, 1, low/16+1, low/4, low/4))
	holes = s.holes(low)
	if len(holes) > 0 && !s.serves {
		s.try(s.untried(nil, max(low-nearby, 1), low-1))
		holes = s.holes(low)
	}
	return low, holes
}

// holes are the values below the answer that were run and do not fit, in their order.
func (s *search) holes(answer int64) []int64 {
	var out []int64
	for v, l := range s.tried {
		if v < answer && l != nil {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// untried adds to values those from first to last that were not run.
func (s *search) untried(values []int64, first, last int64) []int64 {
	for v := first; v <= last; v++ {
		if _, tried := s.tried[v]; !tried && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// bracket is the largest value that fits and the next larger one that does not, by the dims of
// their cases; "" while nothing fits.
func (s *search) bracket() string {
	fits, breaks := s.above(0, EndValue)
	dims := func(value int64) string {
		c, _ := s.at(value) // it was made before
		var parts []string
		for _, d := range c.Dims {
			parts = append(parts, fmt.Sprintf("%s=%d", d.Name, d.Value))
		}
		return strings.Join(parts, " ")
	}
	switch {
	case fits == 0:
		return ""
	case breaks > EndValue:
		return dims(fits) + " fits"
	}
	return fmt.Sprintf("%s fits, %s does not", dims(fits), dims(breaks))
}

// lacking adds to values those that have to be run, in this order, so that together with what the
// search has run there are so many from first to last.
func (s *search) lacking(values []int64, count, first, last int64, candidates ...int64) []int64 {
	within := func(v int64) bool { return first <= v && v <= last }
	for v := range s.tried {
		if within(v) {
			count--
		}
	}
	for _, v := range values {
		if within(v) {
			count--
		}
	}
	for _, v := range candidates {
		if _, tried := s.tried[v]; count > 0 && within(v) && !tried && !slices.Contains(values, v) {
			values, count = append(values, v), count-1
		}
	}
	return values
}

// try runs values. Of those that have no recording all are reported, not the first alone.
func (s *search) try(values []int64) {
	if s.err != nil {
		return
	}
	var first error
	for _, v := range values {
		s.fits(v)
		first, s.err = cmp.Or(first, s.err), nil
	}
	s.err = first
}

// above is the largest value above low that was run and fits, 0 where none does, and the next
// larger one that does not, else one beyond the search.
func (s *search) above(low, most int64) (fits, high int64) {
	for v, l := range s.tried {
		if v > low && l == nil {
			fits = max(fits, v)
		}
	}
	high = most + 1
	for v, l := range s.tried {
		if v > fits && l != nil {
			high = min(high, v)
		}
	}
	return fits, high
}

// narrow closes the gap between a value that fits and one that does not. Guesses that gain little
// each time would take long: the least gain doubles with each such step, and each third step halves
// a gap. Where the line says that even high fits, which was run and does not, the answer is not far
// below it: what the line does not see are gaps between blocks.
func (s *search) narrow(low, high int64) int64 {
	least, down := int64(1), int64(0)
	for step := 1; high-low > 1 && s.err == nil; step++ {
		v, middle := s.guess(low), low+(high-low)/2
		switch {
		case s.tried[high] == nil: // beyond the search
			v = min(max(v, low+least), low*mostLeap, high-1)
			least *= 2
		case v >= high:
			down = max(2*down, high/64, 1)
			v = max(high-down, middle)
		case step%3 == 0:
			v = middle
		case v > low+least:
			least = 1
		default:
			v, least = min(low+least, high-1), 2*least
		}
		if s.fits(v) {
			low = v
		} else {
			high = v
		}
	}
	return low
}

// guess is where the loads meet their limit; where there is no line it is as far as one step may
// lead.
func (s *search) guess(low int64) int64 {
	if v, ok := meets(s.loads, low); ok {
		return v
	}
	return mostLeap * low
}

// reach is the largest value whose requests fit at their peak were nothing lost between blocks;
// where there is no line, the value itself.
func (s *search) reach(low int64) int64 {
	v, _ := meets(s.requests, low)
	return max(v, low)
}

// meets is where the line through two values meets their limit: the largest up to low with a known
// load, and the largest up to half of it, so that steps of the figures count little. False where
// there is no such line.
func meets(loads map[int64]load, low int64) (int64, bool) {
	var known []int64
	for v, l := range loads {
		if v <= low && l.limit > 0 {
			known = append(known, v)
		}
	}
	slices.Sort(known)
	if len(known) < 2 {
		return 0, false
	}
	x1, x2 := known[0], known[len(known)-1]
	for _, v := range known {
		if v <= x2/2 {
			x1 = v
		}
	}
	a, b := loads[x1], loads[x2]
	if b.figure <= a.figure || b.limit != a.limit {
		return 0, false
	}
	rise := new(big.Int).Mul(big.NewInt(int64(b.limit-b.figure)), big.NewInt(x2-x1))
	rise.Div(rise, big.NewInt(int64(b.figure-a.figure)))
	if !rise.IsInt64() || rise.Int64() > EndValue {
		return EndValue, true
	}
	return x2 + rise.Int64(), true
}

// requests is what a result asks for at its peak, with what it may take: the least of the device's
// memory and its budgets of memory. The zero value is not known.
func (r *Result) requests() load {
	if r.Report.OOM != nil || r.Report.Serving != nil {
		return load{}
	}
	return load{r.Report.Peak.Requested, leastLimit(&r.Case)}
}

// load is the figure of a result that is nearest to its limit: of its budgets, and of the device.
// Of the device it is what is allocated: near its end the allocator gives back what it has cached.
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
	if s := r.Report.Serving; s != nil {
		servingLoads(s, r.Verdict.Findings, add)
		return out
	}
	for i := range r.Verdict.Findings {
		f := &r.Verdict.Findings[i]
		add(max(f.Predicted, f.Upper), f.Limit)
	}
	allocated := r.Report.Peak.Allocated
	if up := r.Report.Upper; up != nil {
		allocated = max(allocated, up.Allocated)
	}
	add(allocated, allocator.LimitOn(&r.Case.Platform))
	return out
}

// whole is the limit of a load that is a share: of a number that is to be at least so much, what is
// wanted of what there is.
const whole units.Bytes = 1 << 40

// servingLoads adds the loads of an engine: of its limits, and of the one request of the longest
// length that it holds where it starts at all. Their numbers fall as a dim grows, so that each is
// the share of them that is wanted.
func servingLoads(s *report.Serving, findings []verdict.Finding, add func(figure, limit units.Bytes)) {
	if s.KV == nil {
		return
	}
	share := func(wanted, there units.Bytes) {
		if there > 0 {
			add(units.Bytes(float64(whole)*float64(wanted)/float64(there)), whole)
		}
	}
	share(units.Bytes(s.KV.MaxModelLen), units.Bytes(s.KV.Tokens))
	for i := range findings {
		switch f := &findings[i]; {
		case f.Metric == report.Concurrency: // in tokens, which rise and fall by blocks, not by requests
			share(f.Limit.Mul(s.KV.MaxModelLen), units.Bytes(s.KV.Tokens))
		case f.Metric.Counts():
			share(f.Limit, f.Predicted)
		default:
			add(f.Predicted, f.Limit)
		}
	}
}

// nearer says whether a load takes more of its limit than another does.
func (l load) nearer(than load) bool {
	high, low := bits.Mul64(uint64(l.figure), uint64(than.limit))
	h, o := bits.Mul64(uint64(than.figure), uint64(l.limit))
	return high > h || high == h && low > o
}
