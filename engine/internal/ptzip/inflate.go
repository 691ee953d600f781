package ptzip

import (
	"errors"
	"fmt"
	"sync"
)

// Inflating (RFC 1951) of whole records whose size is known. An archive holds hundreds of records
// of a few hundred bytes, and most of the time of a general decompressor goes into setting up for
// each; this one keeps its tables and writes straight into the result. FuzzInflate holds it against
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

// inflater inflates records of known size, and keeps its tables between them.
type inflater struct {
	in     []byte
	pos    int
	hold   uint64 // bits taken from in and not yet used
	held   uint   // how many
	litLen codeTable
	dist   codeTable
	codes  codeTable

	litLenLengths, distLengths lengths // the second also of the code lengths' own code
}

// inflaters are those at hand: one is some 25 KiB of tables, as much as all else that opening an archive takes.
var inflaters = sync.Pool{New: func() any { return new(inflater) }}

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
	if err := f.litLen.build(&f.litLenLengths, litLenSymbols, litLenBits); err != nil {
		return err
	}
	return f.dist.build(&f.distLengths, distSymbols, distBits)
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
		if i%14 == 0 { // 42 bits: held for the first 14, and for the others after another refill
			f.refill()
		}
		codeLens[codeLenOrder[i]] = uint8(f.take(3))
	}
	if f.held > 64 {
		return errShort
	}
	f.distLengths.reset()
	for i, n := range codeLens {
		if n > 0 {
			f.distLengths.add(i, n)
		}
	}
	if err := f.codes.build(&f.distLengths, codeLenSymbols, codeLenBits); err != nil {
		return err
	}
	if err := f.codeLengths(numLit, numLit+numDist); err != nil {
		return err
	}
	if err := f.litLen.build(&f.litLenLengths, litLenSymbols, litLenBits); err != nil {
		return err
	}
	return f.dist.build(&f.distLengths, distSymbols, distBits)
}

// codeLengths reads the lengths of both codes, which are packed themselves. A length takes at most
// 7 bits and 7 for a repetition.
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
		e := f.codes.first[hold&codeLenMask]
		n := uint(e & lengthMask)
		hold >>= n & 63
		v, repeat := uint8(e>>valueShift), 1
		switch {
		case e == noCode:
			return errCode
		case v < 16:
			last = v
		case v == 16:
			if i == 0 {
				return errLengths
			}
			repeat = 3 + int(hold&3)
			hold >>= 2
			n += 2
		case v == 17:
			last, repeat = 0, 3+int(hold&7)
			hold >>= 3
			n += 3
		default:
			last, repeat = 0, 11+int(hold&127)
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
		if last == 0 {
			i += repeat
			continue
		}
		for end := i + repeat; i < end; i++ {
			if i < numLit {
				f.litLenLengths.add(i, last)
			} else {
				f.distLengths.add(i-numLit, last)
			}
		}
	}
	f.hold, f.held = hold, held
	return nil
}

// matchBits is the most a match takes: 15 and 5 for its length, 15 and 13 for its distance.
const matchBits = 48

// block decodes literals and matches up to the end of the block. What it works on are locals, which
// the compiler keeps in registers. While eight bytes of input are left, enough bits are held for
// everything without asking.
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
		e := litLen[hold&litLenMask]
		if fast {
			for e&kindMask == kindValue { // as many literals as bits are held for, and for another code
				if uint(at) >= uint(len(out)) {
					return at, tooLong(out)
				}
				n := uint(e & lengthMask)
				hold >>= n
				held -= n
				out[at] = byte(e >> valueShift)
				at++
				if held < maxCodeLen {
					break
				}
				e = litLen[hold&litLenMask]
			}
			if held < matchBits {
				continue
			}
		}
		if e&kindMask == kindSub {
			e = f.litLen.sub[uint64(e>>valueShift)+hold>>litLenBits&(1<<f.litLen.rest-1)]
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
		d := dists[hold&distMask]
		if d&kindMask == kindSub {
			d = f.dist.sub[uint64(d>>valueShift)+hold>>distBits&(1<<f.dist.rest-1)]
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
		switch {
		case length <= 16 && dist >= 8 && len(out)-at >= 16: // most of them: what is copied too much is written over
			to, from := out[at:at+16], out[at-dist:]
			le.PutUint64(to, le.Uint64(from))
			le.PutUint64(to[8:], le.Uint64(from[8:]))
		case dist >= length:
			copy(out[at:at+length], out[at-dist:at])
		default:
			overlap(out, at, dist, length)
		}
		at += length
	}
}

// overlap copies length bytes from dist bytes before, fewer than that: what has been copied is
// copied again, twice as much each time.
func overlap(out []byte, at, dist, length int) {
	for end := at + length; at < end; {
		at += copy(out[at:end], out[at-dist:at])
		dist *= 2
	}
}
