package pysource

import (
	"testing"
)

// FuzzRead reads any text as a function: no panic, and statements that lie inside the text, in
// order, properly nested.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"def f(self, x):\n    y = x\n    for i, (a, *b) in z:\n        y += g(a)\n    else:\n        del y\n    return y\n",
		"@d\ndef f(x): a = x; b = a\n", "def f():\n\tif x:\n        y = '''a\n'''\n\telif z: pass\n",
		"def f():\n  with a as b, c:\n    try:\n      x[0], y = z\n    except E:\n      raise\n",
		"def f(\n", "def f():\n  ((a)) = b", "def f():\n  forin in in", "def f():\n for:\n  x", "def f():\n in:\n  x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := Read(text)
		for i := range s.Stmts {
			st := &s.Stmts[i]
			switch {
			case st.Start < 0 || st.End < st.Start || st.End > len(text):
				t.Fatalf("statement %d: got [%d, %d), want a part of %d bytes", i, st.Start, st.End, len(text))
			case st.Parent >= i || st.Parent < -1 || st.After <= i || st.After > len(s.Stmts):
				t.Fatalf("statement %d: got parent %d and after %d of %d", i, st.Parent, st.After, len(s.Stmts))
			case !s.Within(i, st.Parent) || st.Parent >= 0 && st.After > s.Stmts[st.Parent].After:
				t.Fatalf("statement %d reaches out of %d", i, st.Parent)
			case len(st.Targets) > 0 && (st.Right < st.Start || st.Right > st.End):
				t.Fatalf("statement %d: got a right side at %d of [%d, %d)", i, st.Right, st.Start, st.End)
			}
			s.Comprehends(i)
			if from, to := s.Suite(i, 0); from > to || to > len(s.Stmts) {
				t.Fatalf("statement %d: got a suite of [%d, %d)", i, from, to)
			}
		}
		for off := range text {
			if at := s.At(off); at >= 0 && (off < s.Stmts[at].Start || off >= s.Stmts[at].End) {
				t.Fatalf("offset %d: got statement %d, which does not hold it", off, at)
			}
		}
	})
}
