package exec

import (
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
)

var elemKinds = map[program.TypeKind]schema.Kind{
	program.TensorType: schema.Tensor, program.IntType: schema.Int, program.FloatType: schema.Float,
	program.BoolType: schema.Bool, program.StrType: schema.Str, program.ComplexType: schema.Complex,
	program.ListType: schema.List, program.TupleType: schema.Tuple, program.DictType: schema.Dict,
}

// ElemKind is the schema's word for a list's element type.
func ElemKind(t *program.Type) schema.Kind {
	if t != nil {
		if k, ok := elemKinds[t.Kind]; ok {
			return k
		}
	}
	return schema.Any
}
