package view

import "github.com/memspec/memspec/engine/ops"

// lacks is what these operators take on a device that their rules do not record:
// testdata/devices.txt has the calls that show it.
var lacks = map[string]func(*ops.Call) string{
	"aten::combinations":    ops.Always("parts of the operator"),
	"aten::_chunk_cat":      ops.Always("parts of the operator"),
	"aten::unfold_backward": ops.Always("parts of the operator"),
	"aten::resize":          ops.Always("parts of the operator"),
	"aten::resize_as":       ops.Always("parts of the operator"),
}
