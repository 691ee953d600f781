package program

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestEveryKindsShape: how many arguments, results, blocks and types each kind of node has, and
// what else it must report, as the package comment says.
func TestEveryKindsShape(t *testing.T) {
	want := strings.Fields(
		`aten::ComplexImplicit:1,1 aten::FloatImplicit:1,1 aten::IntImplicit:1,1 aten::ScalarImplicit:1,1
inductor::alias:1,1 inductor::assign:2,0 inductor::break:1,0,1blocks inductor::declare:0,1 inductor::empty_strided:0,1,recorded inductor::free:1,0
inductor::if:2,0,2blocks inductor::item:1,1 inductor::kernel:any,0 inductor::move:1,1 inductor::reinterpret_tensor:1,1,recorded inductor::size:2,0,text inductor::while:0,0,1blocks
prim::CallFunction:any,1,callee prim::CallMethod:1+,1,text prim::CreateObject:any,1,text prim::DictConstruct:any,1 prim::Enter:1,1 prim::EnumName:1,1 prim::EnumValue:1,1 prim::Exit:1,0 prim::GetAttr:1,1,text
prim::If:1,any,2blocks prim::ListConstruct:any,1 prim::ListUnpack:1,any prim::Loop:2+,any,1blocks prim::RaiseException:1,0 prim::Return:1,0 prim::SetAttr:2,0,text prim::TupleConstruct:any,1 prim::TupleUnpack:1,any
prim::Uninitialized:0,1 prim::fork:any,1,callee prim::isinstance:1,1,1types prim::tolist:1,1 prim::unchecked_cast:1,1,1types`)
	var got []string
	for op, s := range shapes {
		text := op + ":"
		switch {
		case s.maxArgs < 0 && s.minArgs == 0:
			text += "any"
		case s.maxArgs < 0:
			text += fmt.Sprintf("%d+", s.minArgs)
		case s.minArgs == s.maxArgs:
			text += fmt.Sprint(s.minArgs)
		default:
			text += fmt.Sprintf("%d-%d", s.minArgs, s.maxArgs)
		}
		if s.maxOuts < 0 {
			text += ",any"
		} else {
			text += fmt.Sprintf(",%d", s.maxOuts)
		}
		if s.blocks > 0 {
			text += fmt.Sprintf(",%dblocks", s.blocks)
		}
		if s.types > 0 {
			text += fmt.Sprintf(",%dtypes", s.types)
		}
		for word, has := range map[string]bool{"text": s.text, "callee": s.callee, "recorded": s.recorded} {
			if has {
				text += "," + word
			}
		}
		got = append(got, text)
	}
	slices.Sort(got)
	slices.Sort(want)
	assert.Equal(t, want, got)
}

// TestNodesAtTheirLimits: a node of each kind with as much as it may have is sound, and with one
// less or more of anything it is not.
func TestNodesAtTheirLimits(t *testing.T) {
	for op, s := range shapes {
		if s.callee || op == "prim::If" || op == "prim::Loop" || op == "prim::Return" ||
			strings.HasPrefix(op, "inductor::") && s.blocks > 0 {
			continue // they have more to say, and their own tests
		}
		said := func(args, outs, types int, text string, recorded bool) string {
			p := of(func(m *maker, x *Value) []*Node {
				n := &Node{Operation: &Operation{Op: op, Text: text, Meta: &NodeMeta{}}}
				for range args {
					n.Args = append(n.Args, lit(int64(1)))
				}
				for i := range outs {
					n.Outs = append(n.Outs, m.value(fmt.Sprint("y", i)))
				}
				for range types {
					n.Types = append(n.Types, &Type{Kind: IntType})
				}
				if recorded {
					n.Meta.Recorded = []*TensorMeta{{}}
				}
				return []*Node{n, ret(arg(x))}
			})
			if err := Check(p); err != nil {
				return err.Error()
			}
			return ""
		}
		outs := max(s.maxOuts, 0)
		text := map[bool]string{true: "a"}[s.text]
		assert.Empty(t, said(s.minArgs, outs, s.types, text, s.recorded), op)
		if s.minArgs > 0 {
			assert.Contains(t, said(s.minArgs-1, outs, s.types, text, s.recorded), fmt.Sprintf("%s: got %d arguments, want ", op,
				s.minArgs-1))
		}
		if s.maxArgs >= 0 {
			assert.Contains(t, said(s.maxArgs+1, outs, s.types, text, s.recorded), fmt.Sprintf("%s: got %d arguments, want ", op,
				s.maxArgs+1))
		}
		if s.maxOuts >= 0 {
			assert.Contains(t, said(s.minArgs, outs+1, s.types, text, false), fmt.Sprintf("%s: got %d results, want at most %d",
				op, outs+1, outs))
		}
		if s.text {
			assert.Contains(t, said(s.minArgs, outs, s.types, "", s.recorded), op+": got no text")
		}
		if s.types > 0 {
			assert.Contains(t, said(s.minArgs, outs, s.types-1, text, s.recorded), fmt.Sprintf("%s: got %d types, want %d", op,
				s.types-1, s.types))
		}
		if s.recorded {
			assert.Contains(t, said(s.minArgs, outs, s.types, text, false), op+": got no recorded tensor")
		}
	}
}
