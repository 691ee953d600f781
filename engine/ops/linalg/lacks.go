package linalg

import "github.com/memspec/memspec/engine/ops"

// lacks is what these operators take on a device that their rules do not record:
// testdata/devices.txt has the calls that show it.
var lacks = map[string]func(*ops.Call) string{
	"aten::_linalg_det":                ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::addbmm_":                    ops.OfStrided("the order of its copies, and that of its result"),
	"aten::addmm":                      ofAnotherDType,
	"aten::_linalg_eigvals":            ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_matrix_sqrth":        ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_polar":               ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::bmm":                        ofStridedInto,
	"aten::baddbmm_":                   ops.OfStrided("the order of its copies, and that of its result"),
	"aten::_linalg_slogdet":            ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_inv_ex":              ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_cholesky_ex":         ofSeveral,
	"aten::linalg_cholesky":            ofSeveral,
	"aten::cholesky_inverse":           ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::cholesky_solve":             ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_lu_factor_ex":        ofSeveral,
	"aten::linalg_lu_factor":           ofSeveral,
	"aten::_lu_with_info":              ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_lu":                  ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::lu_unpack":                  ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_lu_solve":            ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::lu_solve":                   ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_ldl_factor_ex":       ofSeveral,
	"aten::linalg_ldl_solve":           ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::_linalg_solve_ex":           ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_solve_triangular":    ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::triangular_solve":           ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_eig":                 ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_eigvals":             ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::_linalg_eigh":               ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_qr":                  ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::geqrf":                      ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_householder_product": ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::ormqr":                      ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::_linalg_svd":                ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_pinv":                ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::matrix_exp":                 ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_matrix_exp":          ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::linalg_lstsq":               ops.Always("what cuSOLVER, MAGMA and their batches of addresses take"),
	"aten::bilinear":                   ops.Always("a product for each feature, and its sum"),
	"aten::tensordot":                  ops.Always("the way of a product of one element"),
}

// ofSeveral says it of calls with several matrices: of one the workspace has a rule.
func ofSeveral(c *ops.Call) string {
	if len(c.Self().Sizes) == 2 {
		return ""
	}
	return "what cuSOLVER, MAGMA and their batches of addresses take"
}

// ofAnotherDType is of products whose result is of a given dtype.
func ofAnotherDType(c *ops.Call) string {
	if c.Schema.ArgIndex("out_dtype") >= 0 {
		return "whether cuBLAS or cuBLASLt computes it"
	}
	return ""
}

// ofStridedInto is a call with out=.
func ofStridedInto(c *ops.Call) string {
	if c.T("out") == nil {
		return ""
	}
	return ops.OfStrided("the order of its copies, and that of its result")(c)
}
