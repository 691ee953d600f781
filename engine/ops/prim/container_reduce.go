package prim

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
)

func truth(v any) bool {
	if s, ok := v.(string); ok {
		return s != ""
	}
	return ops.AsFloat(v) != 0
}

func allHost(c *ops.Call) (any, error) {
	for _, v := range list(c, 0).Items {
		if !truth(v) {
			return false, nil
		}
	}
	return true, nil
}

func anyHost(c *ops.Call) (any, error) {
	for _, v := range list(c, 0).Items {
		if truth(v) {
			return true, nil
		}
	}
	return false, nil
}

func sumHost(c *ops.Call) (any, error) {
	var n int64
	var f float64
	isFloat := c.Schema.Returns[0].Type.Kind == schema.Float
	for _, v := range list(c, 0).Items {
		i, _ := isInt(v)
		n += i
		f += ops.AsFloat(v)
	}
	if isFloat {
		return f, nil
	}
	return n, nil
}
