package spec

import (
	"errors"
	"fmt"

	"github.com/memspec/memspec/engine/internal/expr"
)

// Expressions over the dims, wherever memspec.yaml takes a number of them.
type (
	Expr         = expr.Expr
	ExprError    = expr.Error
	UnboundError = expr.UnboundError // a dim that has no value
)

// Const is a plain number.
func Const(n int64) Expr { return expr.Const(n) }

// ParseExpr reads an expression. Sizes with a unit (12MiB) are bytes.
func ParseExpr(s string) (Expr, error) { return expr.Parse(s) }

// exprOffset is where in its text an expression is wrong.
func exprOffset(err error) int {
	if e, ok := err.(*UnboundError); ok {
		return e.Offset
	}
	return err.(*ExprError).Offset
}

// inFile says of an error what to write into memspec.yaml.
func inFile(err error) string {
	var unbound *UnboundError
	switch {
	case !errors.As(err, &unbound), unbound.Meant() != "":
		return err.Error()
	case len(unbound.Have) == 0:
		return fmt.Sprintf("%s, want it under dims:", err)
	}
	return fmt.Sprintf("%s or %s under dims:", err, unbound.Dim)
}
