package prim

import (
	"strings"

	"github.com/memspec/memspec/engine/ops"
)

// Operators on strings (torch/csrc/jit/runtime/register_string_ops.cpp).
var stringRules = []ops.Rule{
	{Schema: "aten::lower(str self) -> str", Host: strMap(strings.ToLower)},
	{Schema: "aten::upper(str self) -> str", Host: strMap(strings.ToUpper)},
	{Schema: "aten::strip(str self, str chars=\" \\n\\t\\f\\v\") -> str", Host: strStrip(true, true)},
	{Schema: "aten::lstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str", Host: strStrip(true, false)},
	{Schema: "aten::rstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str", Host: strStrip(false, true)},
	{Schema: "aten::replace(str self, str old, str new, int max=-1) -> str", Host: strReplace},
	{Schema: "aten::startswith(str self, str substr, int start=0, int end=-1) -> bool", Host: strStartswith},
	{Schema: "aten::endswith(str self, str substr, int start=0, int end=-1) -> bool", Host: strEndswith},
	{Schema: "aten::find(str self, str substr, int start=0, int end=-1) -> int", Host: strFind(false, false)},
	{Schema: "aten::rfind(str self, str substr, int start=0, int end=-1) -> int", Host: strFind(true, false)},
	{Schema: "aten::rindex(str self, str substr, int start=0, int end=-1) -> int", Host: strFind(true, true)},
	{Schema: "aten::join(str self, str[] values) -> str", Host: strJoin},
	{Schema: "aten::partition(str self, str separator) -> (str, str, str)", Host: strPartition(false)},
	{Schema: "aten::rpartition(str self, str separator) -> (str, str, str)", Host: strPartition(true)},
	{Schema: "aten::format(str self, ...) -> str", Host: strFormat},
	{Schema: "aten::str(t elem) -> str", Host: strOf},
	{Schema: "aten::split.str(str self, str? separator=None, int max=-1) -> str[]", Host: strSplit},
	{Schema: "aten::count(str self, str substr, int start=0, int end=-1) -> int", Host: strCount},
	{Schema: "aten::index.str(str self, str substr, int start=0, int end=-1) -> int", Host: strFind(false, true)},
	{Schema: "prim::StringIndex(str string, int index) -> str", Host: getItem},
}
