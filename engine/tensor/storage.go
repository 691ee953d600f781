package tensor

import "github.com/memspec/memspec/engine/units"

// StorageID numbers the storages of a run in the order they were made, from 0.
type StorageID int32

// Storage is the bytes behind tensors: what is allocated and freed.
type Storage struct {
	ID       StorageID
	NBytes   units.Bytes
	Device   string
	Category Category
}

// Tensor is a view of a storage.
type Tensor struct {
	Meta
	Storage *Storage
	View    bool  // an operator made it of another tensor, on that one's storage
	Data    *Data // values, where they are known: CPU tensors of at most MaxData elements
	Wrapped bool  // a Python number that was given for a tensor: it promotes as a number (TensorImpl::is_wrapped_number)
}

// MaxData is the most elements whose values are carried.
const MaxData = 64

// Data holds the elements of a small CPU tensor in row-major order of its sizes: Ints for integral
// and bool dtypes, Floats otherwise. It is immutable; an in-place write replaces it.
type Data struct {
	Ints   []int64
	Floats []float64
}

// Category says what a storage is for, in the words of PyTorch's memory profiler.
type Category uint8

// The categories.
const (
	Activation Category = iota
	Input
	Parameter
	Buffer
	Constant
	Gradient
	OptimizerState
	Temporary
	Workspace
	Untraced // nothing records what it is for
)

var categoryNames = [...]string{"activation", "input", "parameter", "buffer", "constant", "gradient", "optimizer_state",
	"temporary", "workspace", "untraced"}

func (c Category) String() string {
	if int(c) < len(categoryNames) {
		return categoryNames[c]
	}
	return "unknown"
}

// ParseCategory reads what String prints.
func ParseCategory(s string) (Category, bool) {
	for i, n := range categoryNames {
		if n == s {
			return Category(i), true
		}
	}
	return 0, false
}
