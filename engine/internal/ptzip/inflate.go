package ptzip

import (
	"errors"
	"fmt"
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

// A code, in a table, is what it stands for: value, number of extra bits, kind, and its length.
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
	primaryMask = 1<<primaryBits - 1

	noCode = kindEnd // bits that are no code: an end of length 0
)

// codeTable decodes one prefix code.
type codeTable struct {
	first [1 << primaryBits]code
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

// lengths are the symbols that have a code, in order, with its length: a text uses few of those there are.
type lengths struct {
	used  [maxLitLen + 2]symbol
	n     int
	count [maxCodeLen + 1]uint16 // by length
}

type symbol struct {
	symbol uint16
	length uint8
}

func (l *lengths) reset() {
	l.n = 0
	l.count = [maxCodeLen + 1]uint16{}
}

func (l *lengths) add(s int, length uint8) {
	if l.n < len(l.used) {
		l.used[l.n] = symbol{uint16(s), length}
		l.n++
		l.count[length&maxCodeLen]++
	}
}

// build makes the table of a canonical code. A code of one symbol may be incomplete, and one of none is empty. The table is made for codes of one
// bit, then doubled for those of two, and so on: what stands in it already, shorter codes, is then where it belongs.
func (t *codeTable) build(l *lengths, symbols []code) error {
	longest := maxCodeLen
	for longest > 0 && l.count[longest] == 0 {
		longest--
	}
	// Symbols by length, those of one length in order.
	var next [maxCodeLen + 2]uint16
	left := 1 // codes of the length at hand that are still free
	for n := 1; n <= longest; n++ {
		next[n+1] = next[n] + l.count[n]
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
	var sorted [maxLitLen + 2]symbol
	for _, u := range l.used[:l.n] {
		at := &next[u.length&maxCodeLen]
		if int(*at) < len(sorted) {
			sorted[*at] = u
		}
		*at++
	}
	word := uint(0) // the code, its first bit lowest
	if longest > primaryBits {
		t.rest = uint(longest - primaryBits)
	}
	for _, u := range sorted[:l.n] {
		e := code(noCode)
		if int(u.symbol) < len(symbols) {
			e = symbols[u.symbol] | code(u.length)
		}
		n := uint(u.length & maxCodeLen)
		if n <= primaryBits {
			for ; size < 1<<n; size *= 2 {
				copy(t.first[size:2*size], t.first[:size])
			}
			t.first[word&primaryMask] = e
		} else {
			t.long(word, n, &size, e)
		}
		// The next code: one more, counted from the first bit.
		bit := uint(1) << (n - 1)
		for bit > 0 && word&bit != 0 {
			word ^= bit
			bit >>= 1
		}
		word |= bit
	}
	for ; size < len(t.first); size *= 2 {
		copy(t.first[size:2*size], t.first[:size])
	}
	return nil
}

// long puts a code of n bits, more than the first table tells apart, into the subtable of its first bits.
func (t *codeTable) long(word, n uint, size *int, e code) {
	for ; *size < len(t.first); *size *= 2 {
		copy(t.first[*size:2**size], t.first[:*size])
	}
	at := &t.first[word&primaryMask]
	if *at&kindMask != kindSub {
		*at = code(len(t.sub))<<valueShift | kindSub | primaryBits
		t.sub = append(t.sub, make([]code, 1<<t.rest)...)
	}
	sub := t.sub[*at>>valueShift:][:1<<t.rest]
	for i := word >> primaryBits; i < uint(len(sub)); i += 1 << (n - primaryBits) {
		sub[i] = e
	}
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

	litLenLengths, distLengths, codeLenLengths lengths
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

// fixed makes the codes of a block with fixed ones (3.2.6).
func (f *inflater) fixed() error {
	f.litLenLengths.reset()
	for i := range 288 {
		n := uint8(8)
		switch {
		case i >= 144 && i < 256:
			n = 9
		case i >= 256 && i < 280:
			n = 7
		}
		f.litLenLengths.add(i, n)
	}
	f.distLengths.reset()
	for i := range 32 {
		f.distLengths.add(i, 5)
	}
	if err := f.litLen.build(&f.litLenLengths, litLenSymbols); err != nil {
		return err
	}
	return f.dist.build(&f.distLengths, distSymbols)
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
	f.codeLenLengths.reset()
	for i, n := range codeLens {
		if n > 0 {
			f.codeLenLengths.add(i, n)
		}
	}
	if err := f.codes.build(&f.codeLenLengths, codeLenSymbols); err != nil {
		return err
	}
	if err := f.codeLengths(numLit, numLit+numDist); err != nil {
		return err
	}
	if err := f.litLen.build(&f.litLenLengths, litLenSymbols); err != nil {
		return err
	}
	return f.dist.build(&f.distLengths, distSymbols)
}

// codeLengths reads the lengths of both codes, which are packed themselves. A length takes at most 7 bits and 7 for a repetition.
func (f *inflater) codeLengths(numLit, num int) error {
	f.litLenLengths.reset()
	f.distLengths.reset()
	hold, held := f.hold, f.held
	last := uint8(0)
	for i := 0; i < num; {
		if held < 14 {
			f.hold, f.held = hold, held
			f.refill()
			hold, held = f.hold, f.held
		}
		e := f.codes.first[hold&primaryMask]
		n := uint(e & lengthMask)
		hold >>= n & 63
		v, repeat := uint8(e>>valueShift), 1
		switch {
		case e == noCode:
			return errCode
		case v < 16:
		case v == 16:
			if i == 0 {
				return errLengths
			}
			v, repeat = last, 3+int(hold&3)
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
		if repeat > num-i {
			return errLengths
		}
		last = v
		if v == 0 {
			i += repeat
			continue
		}
		for range repeat {
			if i < numLit {
				f.litLenLengths.add(i, v)
			} else {
				f.distLengths.add(i-numLit, v)
			}
			i++
		}
	}
	f.hold, f.held = hold, held
	return nil
}

// matchBits is the most a match takes: 15 and 5 for its length, 15 and 13 for its distance.
const matchBits = 48

// block decodes literals and matches up to the end of the block. What it works on are locals, which the compiler keeps in registers. While eight
// bytes of input are left, enough bits are held for everything without asking.
func (f *inflater) block(out []byte, at int) (int, error) {
	in, pos, hold, held := f.in, f.pos, f.hold, f.held
	litLen, dists := &f.litLen.first, &f.dist.first
	for {
		fast := len(in)-pos >= 8
		if fast {
			hold |= le.Uint64(in[pos:]) << (held & 63)
			pos += int((63 - held) >> 3)
			held |= 56
		} else {
			for held < 56 && pos < len(in) {
				hold |= uint64(in[pos]) << (held & 63)
				pos++
				held += 8
			}
		}
		e := litLen[hold&primaryMask]
		for fast && e&kindMask == kindValue { // as many literals as bits are held for, and for another code
			if at >= len(out) {
				return at, tooLong(out)
			}
			out[at] = byte(e >> valueShift)
			at++
			hold >>= e & lengthMask
			if held -= uint(e & lengthMask); held < maxCodeLen {
				break
			}
			e = litLen[hold&primaryMask]
		}
		if fast && held < matchBits {
			continue
		}
		if e&kindMask == kindSub {
			e = f.litLen.sub[uint64(e>>valueShift)+hold>>primaryBits&(1<<f.litLen.rest-1)]
		}
		n := uint(e & lengthMask)
		if n > held {
			return at, errShort
		}
		hold >>= n
		held -= n
		switch e & kindMask {
		case kindValue:
			if at >= len(out) {
				return at, tooLong(out)
			}
			out[at] = byte(e >> valueShift)
			at++
			continue
		case kindEnd:
			if e == noCode {
				return at, errCode
			}
			f.pos, f.hold, f.held = pos, hold, held
			return at, nil
		}
		n = uint(e >> extraShift & extraMask)
		length := int(e>>valueShift) + int(hold&(1<<n-1))
		hold >>= n
		d := dists[hold&primaryMask]
		if d&kindMask == kindSub {
			d = f.dist.sub[uint64(d>>valueShift)+hold>>primaryBits&(1<<f.dist.rest-1)]
		}
		if d == noCode {
			return at, errCode
		}
		hold >>= d & lengthMask
		m := uint(d >> extraShift & extraMask)
		dist := int(d>>valueShift) + int(hold&(1<<m-1))
		hold >>= m
		if n += uint(d&lengthMask) + m; n > held {
			return at, errShort
		}
		held -= n
		if dist > at {
			return at, errDist
		}
		if length > len(out)-at {
			return at, tooLong(out)
		}
		match(out, at, dist, length)
		at += length
	}
}

// wide is how many bytes match copies at once: so many more may be written behind a match, where they are written again later.
const wide = 16

// match copies length bytes from dist bytes before.
func match(out []byte, at, dist, length int) {
	switch {
	case dist >= wide && len(out)-at >= length+wide:
		to, from := out[at:at+length+wide], out[at-dist:]
		for i := 0; i < length; i += wide {
			*(*[wide]byte)(to[i:]) = *(*[wide]byte)(from[i:])
		}
	case dist >= length:
		copy(out[at:at+length], out[at-dist:])
	case dist == 1:
		v := out[at-1]
		to := out[at : at+length]
		for i := range to {
			to[i] = v
		}
	default: // the copy reads what it writes
		to, from := out[at:at+length], out[at-dist:]
		for i := range to {
			to[i] = from[i]
		}
	}
}
