// Package units holds sizes in bytes: read, printed and added without surprises.
//
// Only binary (IEC) units are read and printed. A size prints in one of three ways: String for
// people (`2.31 GiB`), Exact for the line that must settle a question (`2480930816 B`), Compact for
// text that is parsed back (`4MiB`, `9408`).
package units

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Bytes is a size in bytes: every size in the project.
type Bytes int64

// The units.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
)

// Max is the largest size there is. Sums that do not fit end here.
const Max Bytes = math.MaxInt64

// unit is a name with its size and the decimals it is printed with.
type unit struct {
	name     string
	size     Bytes
	decimals int
}

var unitTable = []unit{{"TiB", TiB, 2}, {"GiB", GiB, 2}, {"MiB", MiB, 1}, {"KiB", KiB, 1}, {"B", 1, 0}}

// Parse reads a size that is not negative: `6 GiB`, `512B`, `1.5GiB`, `123`. A fraction of a byte
// is rounded to the nearest.
func Parse(s string) (Bytes, error) {
	text := strings.TrimSpace(s)
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	name := text[len(number):]
	number = strings.TrimSpace(number)
	size, err := unitSize(name)
	if err != nil {
		return 0, fmt.Errorf("size %q: %w", s, err)
	}
	whole, fraction, point := strings.Cut(number, ".")
	if !digits(whole) || point && (!digits(fraction) || len(fraction) > 18) {
		return 0, fmt.Errorf("size %q: got no number, want one such as 512, 1.5GiB or 6 GiB", s)
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("size %q: got more than %d bytes", s, int64(Max))
	}
	b, ok := Bytes(n).mul(int64(size))
	part := fractionOf(fraction, size)
	if !ok || b > Max-part {
		return 0, fmt.Errorf("size %q: got more than %d bytes", s, int64(Max))
	}
	return b + part, nil
}

// fractionOf returns 0.digits of the unit, rounded.
func fractionOf(digits string, size Bytes) Bytes {
	if digits == "" {
		return 0
	}
	n, _ := strconv.ParseUint(digits, 10, 64)
	scale := uint64(1)
	for range digits {
		scale *= 10
	}
	hi, lo := bits.Mul64(n, uint64(size))
	lo, carry := bits.Add64(lo, scale/2, 0)
	q, _ := bits.Div64(hi+carry, lo, scale)
	return Bytes(q)
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func unitSize(name string) (Bytes, error) {
	if name == "" {
		return 1, nil
	}
	for _, u := range unitTable {
		if u.name == name {
			return u.size, nil
		}
	}
	for _, u := range unitTable {
		// "MB", "M", "mib", "Mi": say which binary unit was meant, and that it is not the decimal one.
		if strings.EqualFold(name[:1], u.name[:1]) && len(name) <= 3 && strings.Trim(strings.ToLower(name[1:]), "ib") == "" {
			return 0, fmt.Errorf("got the unit %q, want %s (IEC: B, KiB, MiB, GiB, TiB)", name, u.name)
		}
	}
	return 0, fmt.Errorf("got the unit %q, want B, KiB, MiB, GiB or TiB", name)
}

// String prints for people: two decimals from 1 GiB up, one from 1 KiB up, whole bytes below.
func (b Bytes) String() string {
	sign, n := "", uint64(b)
	if b < 0 {
		sign, n = "-", -n
	}
	for i, u := range unitTable {
		if n < uint64(u.size) {
			continue
		}
		text := strconv.FormatFloat(float64(n)/float64(u.size), 'f', u.decimals, 64)
		if i > 0 && strings.HasPrefix(text, "1024") { // 1023.99 MiB is 1.00 GiB, not 1024.0 MiB
			up := unitTable[i-1]
			return sign + strconv.FormatFloat(1, 'f', up.decimals, 64) + " " + up.name
		}
		return sign + text + " " + u.name
	}
	return "0 B"
}

// Exact prints the bytes: `2480930816 B`.
func (b Bytes) Exact() string { return strconv.FormatInt(int64(b), 10) + " B" }

// Compact prints the size so that Parse reads the same back, in the largest unit it is a multiple
// of: `4MiB`, `9408`.
func (b Bytes) Compact() string {
	for _, u := range unitTable {
		if u.size > 1 && b != 0 && b%u.size == 0 {
			return strconv.FormatInt(int64(b/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// RoundUp returns the least multiple of step that is not below b. A step of zero or less changes
// nothing; what does not fit is Max.
func (b Bytes) RoundUp(step Bytes) Bytes {
	if step <= 0 {
		return b
	}
	rest := b % step
	if rest < 0 {
		return b - rest
	}
	if rest == 0 {
		return b
	}
	return b.Add(step - rest)
}

// Add returns the sum, or the nearest of Max and -Max where it does not fit.
func (b Bytes) Add(c Bytes) Bytes {
	switch {
	case c > 0 && b > Max-c:
		return Max
	case c < 0 && b < -Max-c:
		return -Max
	}
	return b + c
}

// Mul returns n times the size, or the nearest of Max and -Max where it does not fit.
func (b Bytes) Mul(n int64) Bytes {
	if r, ok := b.mul(n); ok {
		return r
	}
	if (b < 0) != (n < 0) {
		return -Max
	}
	return Max
}

func (b Bytes) mul(n int64) (Bytes, bool) {
	hi, lo := bits.Mul64(abs(int64(b)), abs(n))
	if hi != 0 || lo > uint64(Max) {
		return 0, false
	}
	if (b < 0) != (n < 0) {
		return -Bytes(lo), true
	}
	return Bytes(lo), true
}

func abs(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}
