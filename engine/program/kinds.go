package program

import "fmt"

func span(from, to int) string {
	switch {
	case to < 0:
		return fmt.Sprintf("at least %d", from)
	case from == to:
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d to %d", from, to)
}

// HigherOrder begins the names of operators that run graphs of the program: their node's blocks.
const HigherOrder = "higher_order::"

// The node kinds of what inductor writes, beside the operators that it falls back to. What a name
// holds ends where the code says so, or with the function.
const (
	BufferEmpty = "inductor::empty_strided"      // a new storage, described by Recorded
	BufferView  = "inductor::reinterpret_tensor" // Args[0], seen as Recorded; a view without a dtype keeps it
	BufferAlias = "inductor::alias"              // Args[0], under another name
	// what Args[0] names, which then names nothing: a buffer that is used again
	BufferMove  = "inductor::move"
	BufferFree  = "inductor::free"   // Args[0] names nothing any more
	FusedKernel = "inductor::kernel" // a kernel that inductor made, on Args; it takes no memory
	// the operator Text without its arguments, which no C function stands for
	Proxied = "inductor::proxy_executor"

	BufferDeclare = "inductor::declare" // a name that names nothing yet
	BufferAssign  = "inductor::assign"  // Args[0] ends what it names, and takes over what Args[1] names
	// the one value of the tensor Args[0], which is the symbol Text where that is given
	ValueRead = "inductor::item"
	SizeRead  = "inductor::size"  // the symbol Text is the size of the tensor Args[0] in the dimension Args[1]
	Choice    = "inductor::if"    // Blocks[0] where the value Args[0] is the number Args[1], else Blocks[1]
	RoundsOf  = "inductor::while" // Blocks[0] again and again, until a LeaveLoop in it
	LeaveLoop = "inductor::break" // where the value Args[0] is nought: Blocks[0], and out of the loop
)

// shape is what a node kind must have.
type shape struct {
	minArgs, maxArgs int // -1 is no limit
	maxOuts          int // -1 is no limit
	blocks           int
	types            int
	text, callee     bool
	recorded         bool // a tensor
}

// shapes are the node kinds of the package comment.
var shapes = map[string]shape{
	"prim::GetAttr":         {minArgs: 1, maxArgs: 1, maxOuts: 1, text: true},
	"prim::SetAttr":         {minArgs: 2, maxArgs: 2, text: true},
	"prim::CallMethod":      {minArgs: 1, maxArgs: -1, maxOuts: 1, text: true},
	"prim::CallFunction":    {maxArgs: -1, maxOuts: 1, callee: true},
	"prim::fork":            {maxArgs: -1, maxOuts: 1, callee: true},
	"prim::CreateObject":    {maxArgs: -1, maxOuts: 1, text: true},
	"prim::TupleConstruct":  {maxArgs: -1, maxOuts: 1},
	"prim::ListConstruct":   {maxArgs: -1, maxOuts: 1},
	"prim::DictConstruct":   {maxArgs: -1, maxOuts: 1},
	"prim::TupleUnpack":     {minArgs: 1, maxArgs: 1, maxOuts: -1},
	"prim::ListUnpack":      {minArgs: 1, maxArgs: 1, maxOuts: -1},
	"prim::If":              {minArgs: 1, maxArgs: 1, maxOuts: -1, blocks: 2},
	"prim::Loop":            {minArgs: 2, maxArgs: -1, maxOuts: -1, blocks: 1},
	"prim::Return":          {minArgs: 1, maxArgs: 1},
	"prim::RaiseException":  {minArgs: 1, maxArgs: 1},
	"prim::Enter":           {minArgs: 1, maxArgs: 1, maxOuts: 1},
	"prim::Exit":            {minArgs: 1, maxArgs: 1},
	"prim::Uninitialized":   {maxOuts: 1},
	"prim::unchecked_cast":  {minArgs: 1, maxArgs: 1, maxOuts: 1, types: 1},
	"prim::isinstance":      {minArgs: 1, maxArgs: 1, maxOuts: 1, types: 1},
	"prim::tolist":          {minArgs: 1, maxArgs: 1, maxOuts: 1},
	"prim::EnumValue":       {minArgs: 1, maxArgs: 1, maxOuts: 1},
	"prim::EnumName":        {minArgs: 1, maxArgs: 1, maxOuts: 1},
	BufferEmpty:             {maxOuts: 1, recorded: true},
	BufferView:              {minArgs: 1, maxArgs: 1, maxOuts: 1, recorded: true},
	BufferAlias:             {minArgs: 1, maxArgs: 1, maxOuts: 1},
	BufferMove:              {minArgs: 1, maxArgs: 1, maxOuts: 1},
	BufferFree:              {minArgs: 1, maxArgs: 1},
	FusedKernel:             {maxArgs: -1},
	BufferDeclare:           {maxOuts: 1},
	BufferAssign:            {minArgs: 2, maxArgs: 2},
	ValueRead:               {minArgs: 1, maxArgs: 1, maxOuts: 1},
	SizeRead:                {minArgs: 2, maxArgs: 2, text: true},
	Choice:                  {minArgs: 2, maxArgs: 2, blocks: 2},
	RoundsOf:                {blocks: 1},
	LeaveLoop:               {minArgs: 1, maxArgs: 1, blocks: 1},
	"aten::IntImplicit":     {minArgs: 1, maxArgs: 1, maxOuts: 1},
	"aten::FloatImplicit":   {minArgs: 1, maxArgs: 1, maxOuts: 1},
	"aten::ComplexImplicit": {minArgs: 1, maxArgs: 1, maxOuts: 1},
	"aten::ScalarImplicit":  {minArgs: 1, maxArgs: 1, maxOuts: 1},
}
