package exec

import (
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
)

// ElemKind is the schema's word for a list's element type.
func ElemKind(t *program.Type) schema.Kind {
	if t == nil {
		return schema.Any
	}
	switch t.Kind {
	case program.TensorType:
		return schema.Tensor
	case program.IntType:
		return schema.Int
	case program.FloatType:
		return schema.Float
	case program.BoolType:
		return schema.Bool
	case program.StrType:
		return schema.Str
	case program.ComplexType:
		return schema.Complex
	case program.ListType:
		return schema.List
	case program.TupleType:
		return schema.Tuple
	case program.DictType:
		return schema.Dict
	}
	return schema.Any
}
