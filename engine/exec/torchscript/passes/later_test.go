package passes

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTakenApartLater(t *testing.T) {
	for _, tt := range []struct{ why, graph, read string }{
		{"members that appends put in are read: PyTorch's later graph reads them without a list", `x: Tensor
l: List[Tensor] = prim::ListConstruct()
m = aten::append(l, x)
n = aten::append(l, x)
r = aten::__getitem__(l, 1)
prim::Return(r)
`, "aten::__getitem__"},
		{"a list with members to begin with, unpacked", `x: Tensor
l = prim::ListConstruct(x)
m = aten::append(l, x)
r, s = prim::ListUnpack(l)
prim::Return(r)
`, "prim::ListUnpack"},
		{"a small loop is unrolled", `x: Tensor
l = prim::ListConstruct()
prim::Loop(3, True)
  do i
    m = aten::append(l, x)
    -> True
r = aten::__getitem__(l, 0)
prim::Return(r)
`, "aten::__getitem__"},
		{"what joins all members holds the list as the first graph does", `x: Tensor
l = prim::ListConstruct()
m = aten::append(l, x)
r = aten::cat(l, 0)
prim::Return(r)
`, ""},
		{"a list that nothing is appended to is taken apart in the first graph, or in none", `x: Tensor
l = prim::ListConstruct(x, x)
r = aten::__getitem__(l, 1)
prim::Return(r)
`, ""},
		{"what is read between cannot be moved before an append", `x: Tensor
l = prim::ListConstruct(x)
r = aten::__getitem__(l, 0)
m = aten::append(l, r)
s = aten::__getitem__(l, 1)
prim::Return(s)
`, ""},
		{"an append in one way of a branch stays", `x: Tensor, c: bool
l = prim::ListConstruct(x)
prim::If(c)
  then
    m = aten::append(l, x)
  else
r = aten::__getitem__(l, 0)
prim::Return(r)
`, ""},
		{"a list that is written in another way is made", `x: Tensor
l = prim::ListConstruct(x)
m = aten::append(l, x)
n = aten::clear(l)
r = aten::__getitem__(l, 0)
prim::Return(r)
`, ""},
		{"lists of numbers hold no memory", `x: Tensor
l: List[int] = prim::ListConstruct(1)
m = aten::append(l, 2)
r = aten::__getitem__(l, 0)
prim::Return(r)
`, ""},
	} {
		t.Run(tt.why, func(t *testing.T) {
			g := read(t, tt.graph)
			ready(g)
			n := g.TakenApartLater()
			if tt.read == "" {
				assert.Nil(t, n)
				return
			}
			if assert.NotNil(t, n) {
				assert.Equal(t, tt.read, n.Op)
			}
		})
	}
}
