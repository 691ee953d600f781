package ptzip

import (
	"errors"
	"fmt"
	"math/bits"
)

// Inflating (RFC 1951) of whole records whose size is known. An archive holds hundreds of records of a few hundred bytes, and most of the time of
// a general decompressor goes into setting up for each; this one keeps its tables and writes straight into the result. FuzzInflate holds it against
// compress/flate.

var (
	errShort   = errors.New("got the end of the data in the middle")
	errCode    = errors.New("got a code that stands for nothing")
	errTree    = errors.New("got code lengths that make no prefix code")
	errDist    = errors.New("got a distance before the beginning")
	errBlock   = errors.New("got a block of a reserved kind")
	errStored  = errors.New("got a stored block whose length does not match its check")
	errLengths = errors.New("got a repetition of code lengths past their end")
)

// The limits of RFC 1951, 3.2.7.
const (
	maxLitLen   = 286
	maxDist     = 30
	maxCodeLen  = 15
	numCodeLens = 19
)

// The order in which the lengths of the code length codes are written.
var codeLenOrder = [numCodeLens]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// A code, in a table, is what it stands for: value, number of extra bits, kind, and its length. 0 is none.
type code uint32

const (
	kindValue   = 0 << 4 // a literal, or a code length
	kindBase    = 1 << 4 // a length or distance: a base and extra bits
	kindEnd     = 2 << 4
	kindSub     = 3 << 4 // go on in the subtable at value
	kindMask    = 3 << 4
	lengthMask  = 15
	extraShift  = 6
	extraMask   = 15
	valueShift  = 16
	primaryBits = 9 // of the first table; longer codes go on in a second
)

// codeTable decodes one prefix code.
type codeTable struct {
	first [1 << primaryBits]code
	sub   []code
	bits  uint // of first in use
	rest  uint // of each subtable
}

// symbols say what the symbols of the three codes stand for, length and kind aside.
var (
	litLenSymbols  = makeLitLen()
	distSymbols    = makeDist()
	codeLenSymbols = makeValues(numCodeLens)
	fixedLitLen    = makeFixed()
)

func makeValues(n int) []code {
	out := make([]code, n)
	for i := range out {
		out[i] = code(i)<<valueShift | kindValue
	}
	return out
}

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

// makeFixed is the code of blocks with fixed codes. Its last two symbols never occur.
func makeFixed() [288]uint8 {
	var lens [288]uint8
	for i := range lens {
		switch {
		case i < 144:
			lens[i] = 8
		case i < 256:
			lens[i] = 9
		case i < 280:
			lens[i] = 7
		default:
			lens[i] = 8
		}
	}
	return lens
}

// build makes the table of a canonical code from its lengths. A code of one symbol may be incomplete, and one of none is empty.
func (t *codeTable) build(lens []uint8, symbols []code) error {
	var count [maxCodeLen + 1]int
	longest := uint(0)
	for at := nextLength(lens, 0); at < len(lens); at = nextLength(lens, at+1) {
		count[lens[at]]++
		longest = max(longest, uint(lens[at]))
	}
	t.sub = t.sub[:0]
	t.bits = max(min(longest, primaryBits), 1)
	t.rest = 0
	first := t.first[:1<<t.bits]
	var next [maxCodeLen + 1]int
	word := 0
	for l := 1; l <= int(longest); l++ {
		word <<= 1
		next[l] = word
		word += count[l]
	}
	if longest > 0 && word != 1<<longest {
		if word != 1 || longest != 1 {
			return errTree
		}
		clear(first) // one code of one bit
	} else if longest == 0 {
		clear(first)
	}
	if longest > primaryBits {
		t.rest = longest - primaryBits
		clear(first) // subtables are made as their prefixes are met
	}
	for s := nextLength(lens, 0); s < len(lens); s = nextLength(lens, s+1) {
		n := lens[s]
		c := next[n]
		next[n]++
		e := code(n)
		if s < len(symbols) {
			e |= symbols[s]
		} else {
			e = 0
		}
		r := uint(bits.Reverse16(uint16(c))) >> (16 - uint(n))
		if uint(n) <= t.bits {
			for i := r; i < uint(len(first)); i += 1 << n {
				first[i] = e
			}
			continue
		}
		at := &first[r&(1<<primaryBits-1)]
		if *at == 0 {
			*at = code(len(t.sub))<<valueShift | kindSub | primaryBits
			t.sub = append(t.sub, make([]code, 1<<t.rest)...)
		}
		sub := t.sub[*at>>valueShift:][:1<<t.rest]
		for i := r >> primaryBits; i < uint(len(sub)); i += 1 << (uint(n) - primaryBits) {
			sub[i] = e
		}
	}
	return nil
}

// nextLength is the next symbol with a code, len(lens) where there is none. A text uses few of them, and those that it does not stand side by
// side.
func nextLength(lens []uint8, at int) int {
	for at < len(lens) && lens[at] == 0 {
		if at+8 <= len(lens) && le.Uint64(lens[at:]) == 0 {
			at += 8
			continue
		}
		at++
	}
	return at
}

// inflater inflates records of known size, and keeps its tables between them.
type inflater struct {
	in     []byte
	pos    int
	hold   uint64 // bits taken from in and not yet used
	held   uint   // how many
	litLen codeTable
	dist   codeTable
	codes  codeTable
	lens   [maxLitLen + maxDist]uint8
}

// inflate fills out exactly.
func (f *inflater) inflate(out, packed []byte) error {
	f.in, f.pos, f.hold, f.held = packed, 0, 0, 0
	defer func() { f.in = nil }()
	at := 0
	for {
		f.refill()
		last := f.take(1)
		kind := f.take(2)
		if f.held > 64 {
			return errShort
		}
		var err error
		switch kind {
		case 0:
			at, err = f.stored(out, at)
		case 1:
			if err = f.fixed(); err == nil {
				at, err = f.block(out, at)
			}
		case 2:
			if err = f.dynamic(); err == nil {
				at, err = f.block(out, at)
			}
		default:
			err = errBlock
		}
		if err != nil {
			return err
		}
		if last == 1 {
			break
		}
	}
	if at != len(out) {
		return fmt.Errorf("got %d bytes, want %d", at, len(out))
	}
	return nil
}

func tooLong(out []byte) error { return fmt.Errorf("got more than %d bytes", len(out)) }

// refill takes bits until at least 56 are held, or all there are.
func (f *inflater) refill() {
	if f.held >= 56 {
		return
	}
	if len(f.in)-f.pos >= 8 {
		f.hold |= le.Uint64(f.in[f.pos:]) << f.held
		n := (63 - f.held) >> 3
		f.pos += int(n)
		f.held += n * 8
		return
	}
	for f.held < 56 && f.pos < len(f.in) {
		f.hold |= uint64(f.in[f.pos]) << f.held
		f.pos++
		f.held += 8
	}
}

// take uses n bits. Where fewer are held, held wraps around to more than 64.
func (f *inflater) take(n uint) uint {
	v := uint(f.hold & (1<<n - 1))
	f.hold >>= n
	f.held -= n
	return v
}

// stored copies a stored block (3.2.4).
func (f *inflater) stored(out []byte, at int) (int, error) {
	f.take(f.held & 7)
	f.pos -= int(f.held / 8)
	f.hold, f.held = 0, 0
	if len(f.in)-f.pos < 4 {
		return at, errShort
	}
	n, check := le.Uint16(f.in[f.pos:]), le.Uint16(f.in[f.pos+2:])
	f.pos += 4
	switch {
	case n != ^check:
		return at, errStored
	case len(f.in)-f.pos < int(n):
		return at, errShort
	case len(out)-at < int(n):
		return at, tooLong(out)
	}
	copy(out[at:], f.in[f.pos:][:n])
	f.pos += int(n)
	return at + int(n), nil
}

func (f *inflater) fixed() error {
	if err := f.litLen.build(fixedLitLen[:], litLenSymbols); err != nil {
		return err
	}
	var five [32]uint8
	for i := range five {
		five[i] = 5
	}
	return f.dist.build(five[:], distSymbols)
}

// dynamic reads the codes of a block (3.2.7).
func (f *inflater) dynamic() error {
	f.refill()
	numLit, numDist, numCodes := int(f.take(5))+257, int(f.take(5))+1, int(f.take(4))+4
	if numLit > maxLitLen || numDist > maxDist {
		return errTree
	}
	var codeLens [numCodeLens]uint8
	for i := range numCodes {
		f.refill()
		codeLens[codeLenOrder[i]] = uint8(f.take(3))
	}
	if f.held > 64 {
		return errShort
	}
	if err := f.codes.build(codeLens[:], codeLenSymbols); err != nil {
		return err
	}
	lens := f.lens[:numLit+numDist]
	if err := f.codeLengths(lens); err != nil {
		return err
	}
	if err := f.litLen.build(lens[:numLit], litLenSymbols); err != nil {
		return err
	}
	return f.dist.build(lens[numLit:], distSymbols)
}

// codeLengths reads the lengths of both codes, which are packed themselves. A length takes at most 7 bits and 7 for a repetition.
func (f *inflater) codeLengths(lens []uint8) error {
	mask := uint64(1)<<f.codes.bits - 1
	hold, held := f.hold, f.held
	for i := 0; i < len(lens); {
		if held < 14 {
			f.hold, f.held = hold, held
			f.refill()
			hold, held = f.hold, f.held
		}
		e := f.codes.first[hold&mask]
		n := uint(e & lengthMask)
		hold >>= n
		v, repeat := uint8(e>>valueShift), 1
		switch {
		case e == 0:
			return errCode
		case v < 16:
		case v == 16:
			if i == 0 {
				return errLengths
			}
			v, repeat = lens[i-1], 3+int(hold&3)
			hold >>= 2
			n += 2
		case v == 17:
			v, repeat = 0, 3+int(hold&7)
			hold >>= 3
			n += 3
		default:
			v, repeat = 0, 11+int(hold&127)
			hold >>= 7
			n += 7
		}
		if n > held {
			return errShort
		}
		held -= n
		if repeat > len(lens)-i {
			return errLengths
		}
		for range repeat {
			lens[i] = v
			i++
		}
	}
	f.hold, f.held = hold, held
	return nil
}

// matchBits is the most a match takes: 15 and 5 for its length, 15 and 13 for its distance.
const matchBits = 48

// block decodes literals and matches up to the end of the block. What it works on are locals, which the compiler keeps in registers.
func (f *inflater) block(out []byte, at int) (int, error) {
	in, pos, hold, held := f.in, f.pos, f.hold, f.held
	litLen, litMask := &f.litLen.first, uint64(1)<<f.litLen.bits-1
	dists, distMask := &f.dist.first, uint64(1)<<f.dist.bits-1
	for {
		if held < matchBits {
			if len(in)-pos >= 8 {
				hold |= le.Uint64(in[pos:]) << held
				n := (63 - held) >> 3
				pos += int(n)
				held += n * 8
			} else {
				for held < 56 && pos < len(in) {
					hold |= uint64(in[pos]) << held
					pos++
					held += 8
				}
			}
		}
		e := litLen[hold&litMask&(1<<primaryBits-1)]
		if e&kindMask == kindSub {
			e = f.litLen.sub[uint64(e>>valueShift)+hold>>primaryBits&(1<<f.litLen.rest-1)]
		}
		n := uint(e & lengthMask)
		if n > held {
			return at, errShort
		}
		hold >>= n & 63
		held -= n
		if e&kindMask == kindValue {
			if e == 0 {
				return at, errCode
			}
			if at >= len(out) {
				return at, tooLong(out)
			}
			out[at] = byte(e >> valueShift)
			at++
			continue
		}
		if e&kindMask == kindEnd {
			f.pos, f.hold, f.held = pos, hold, held
			return at, nil
		}
		n = uint(e >> extraShift & extraMask)
		length := int(e>>valueShift) + int(hold&(1<<(n&63)-1))
		hold >>= n & 63
		d := dists[hold&distMask&(1<<primaryBits-1)]
		if d&kindMask == kindSub {
			d = f.dist.sub[uint64(d>>valueShift)+hold>>primaryBits&(1<<f.dist.rest-1)]
		}
		if d == 0 {
			return at, errCode
		}
		hold >>= d & lengthMask
		m := uint(d >> extraShift & extraMask)
		dist := int(d>>valueShift) + int(hold&(1<<(m&63)-1))
		hold >>= m & 63
		if n += uint(d&lengthMask) + m; n > held {
			return at, errShort
		}
		held -= n
		switch {
		case dist > at:
			return at, errDist
		case length > len(out)-at:
			return at, tooLong(out)
		case dist >= 8 && len(out)-at >= length+8:
			// Words, up to seven bytes too many: what is behind is written later.
			to, from := out[at:at+length+8], out[at-dist:]
			for i := 0; i < length; i += 8 {
				le.PutUint64(to[i:], le.Uint64(from[i:]))
			}
		case dist >= length:
			copy(out[at:at+length], out[at-dist:])
		case dist == 1:
			v := out[at-1]
			for i := range out[at : at+length] {
				out[at+i] = v
			}
		default: // the copy reads what it writes
			to, from := out[at:at+length], out[at-dist:]
			for i := range to {
				to[i] = from[i]
			}
		}
		at += length
	}
}
