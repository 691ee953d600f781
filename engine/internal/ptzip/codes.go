package ptzip

import "math/bits"

// The tables that decode prefix codes (RFC 1951, 3.2).

// The limits of RFC 1951, 3.2.7.
const (
	maxLitLen   = 286
	maxDist     = 30
	maxCodeLen  = 15
	numCodeLens = 19
)

// The order in which the lengths of the code length codes are written.
var codeLenOrder = [numCodeLens]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// A code, in a table, is what it stands for: value, number of extra bits, kind, and its length.
type code uint32

const (
	kindValue  = 0 << 4 // a literal, or a code length
	kindBase   = 1 << 4 // a length or distance: a base and extra bits
	kindEnd    = 2 << 4
	kindSub    = 3 << 4 // go on in the subtable at value
	kindMask   = 3 << 4
	lengthMask = 15
	extraShift = 6
	extraMask  = 15
	valueShift = 16

	// Bits of the first tables; longer codes go on in a second.
	litLenBits  = 9
	distBits    = 7
	codeLenBits = 7 // the most there are
	litLenMask  = 1<<litLenBits - 1
	distMask    = 1<<distBits - 1
	codeLenMask = 1<<codeLenBits - 1

	noCode = kindEnd // bits that are no code: an end of length 0
)

// codeTable decodes one prefix code.
type codeTable struct {
	first [1 << litLenBits]code
	sub   []code
	rest  uint // bits of each subtable
}

// symbols say what the symbols of the three codes stand for, length and kind aside.
var (
	litLenSymbols  = makeLitLen()
	distSymbols    = makeDist()
	codeLenSymbols = makeValues(numCodeLens)
)

func makeValues(n int) []code {
	out := make([]code, n)
	for i := range out {
		out[i] = code(i)<<valueShift | kindValue
	}
	return out
}

// makeLitLen leaves out the last two of the 288: they never occur.
func makeLitLen() []code {
	out := makeValues(maxLitLen)
	out[256] = kindEnd
	base := 3
	for i := 257; i < 285; i++ {
		extra := max(0, (i-261)/4)
		out[i] = code(base)<<valueShift | code(extra)<<extraShift | kindBase
		base += 1 << extra
	}
	out[285] = 258<<valueShift | kindBase
	return out
}

func makeDist() []code {
	out := make([]code, maxDist)
	base := 1
	for i := range out {
		extra := max(0, i/2-1)
		out[i] = code(base)<<valueShift | code(extra)<<extraShift | kindBase
		base += 1 << extra
	}
	return out
}

// lengths are the symbols that have a code, by its length, those of one length in order.
type lengths struct {
	symbols [maxCodeLen + 1][maxLitLen + 2]uint16
	count   [maxCodeLen + 1]uint16
}

func (l *lengths) reset() { l.count = [maxCodeLen + 1]uint16{} }

func (l *lengths) add(s int, length uint8) {
	length &= maxCodeLen
	if at := l.count[length]; int(at) < maxLitLen+2 {
		l.symbols[length][at] = uint16(s)
		l.count[length] = at + 1
	}
}

// build makes the table of a canonical code. A code of one symbol may be incomplete, and one of
// none is empty. The table is made for codes of one bit, then doubled for those of two, and so on:
// what stands in it already, shorter codes, is then where it belongs.
func (t *codeTable) build(l *lengths, symbols []code, width uint) error {
	longest := uint(maxCodeLen)
	for longest > 0 && l.count[longest] == 0 {
		longest--
	}
	left := 1 // codes of the length at hand that are still free
	for n := uint(1); n <= longest; n++ {
		if left = left<<1 - int(l.count[n]); left < 0 {
			return errTree
		}
	}
	t.sub, t.rest = t.sub[:0], 0
	size := 1
	t.first[0] = noCode
	if left != 0 {
		if longest > 1 || longest == 1 && l.count[1] != 1 {
			return errTree
		}
		size = 2
		t.first[1] = noCode
	}
	if longest > width {
		t.rest = longest - width
	}
	next := uint16(0) // the next code, its first bit highest
	for n := uint(1); n <= longest; n++ {
		next <<= 1
		size = t.double(size, 1<<min(n, width))
		for _, s := range l.symbols[n][:l.count[n]] {
			e := code(noCode)
			if int(s) < len(symbols) {
				e = symbols[s] | code(n)
			}
			word := uint(bits.Reverse16(next) >> ((16 - n) & 15)) // its first bit lowest
			next++
			if n <= width {
				t.first[word&litLenMask] = e
			} else {
				t.long(word, n, width, e)
			}
		}
	}
	t.double(size, 1<<width)
	return nil
}

// double repeats what stands in the table until it is full.
func (t *codeTable) double(size, full int) int {
	for ; size < full; size *= 2 {
		copy(t.first[size:2*size], t.first[:size])
	}
	return size
}

// long puts a code of n bits, more than the first table reports apart, into the subtable of its first bits.
func (t *codeTable) long(word, n, bits uint, e code) {
	at := &t.first[word&(1<<bits-1)]
	if *at&kindMask != kindSub {
		*at = code(len(t.sub))<<valueShift | kindSub | code(bits)
		t.sub = append(t.sub, make([]code, 1<<t.rest)...)
	}
	sub := t.sub[*at>>valueShift:][:1<<t.rest]
	for i := word >> bits; i < uint(len(sub)); i += 1 << (n - bits) {
		sub[i] = e
	}
}
