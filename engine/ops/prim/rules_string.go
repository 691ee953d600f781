package prim

import (
	"strings"

	"github.com/memspec/memspec/engine/ops"
)

// Operators on strings (torch/csrc/jit/runtime/register_string_ops.cpp).
var stringRules = []ops.Rule{
	{Schema: "aten::capitalize(str self) -> str", Host: strMap(capitalize)},
	{Schema: "aten::lower(str self) -> str", Host: strMap(strings.ToLower)},
	{Schema: "aten::upper(str self) -> str", Host: strMap(strings.ToUpper)},
	{Schema: "aten::swapcase(str self) -> str", Host: strMap(swapcase)},
	{Schema: "aten::title(str self) -> str", Host: strMap(title)},
	{Schema: "aten::center(str self, int width, str fillchar=\" \") -> str", Host: strPad(0)},
	{Schema: "aten::ljust(str self, int width, str fillchar=\" \") -> str", Host: strPad(-1)},
	{Schema: "aten::rjust(str self, int width, str fillchar=\" \") -> str", Host: strPad(1)},
	{Schema: "aten::zfill(str self, int width) -> str", Host: strZfill},
	{Schema: "aten::expandtabs(str self, int tabsize=8) -> str", Host: strExpandtabs},
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
	{Schema: "aten::rsplit(str self, str separator=\" \", int max=-1) -> str[]", Host: strRsplit},
	{Schema: "aten::splitlines(str self, bool keepends=False) -> str[]", Host: strSplitlines},
	{Schema: "aten::partition(str self, str separator) -> (str, str, str)", Host: strPartition(false)},
	{Schema: "aten::rpartition(str self, str separator) -> (str, str, str)", Host: strPartition(true)},
	{Schema: "aten::format(str self, ...) -> str", Host: strFormat},
	{Schema: "aten::percentFormat(str self, ...) -> str", Host: strPercent},
	{Schema: "aten::str(t elem) -> str", Host: strOf},
	{Schema: "aten::ord(str string) -> int", Host: strOrd},
	{Schema: "aten::chr(int i) -> str", Host: strChr},
	{Schema: "aten::hex(int i) -> str", Host: strBase(16, "0x")},
	{Schema: "aten::oct(int i) -> str", Host: strBase(8, "0o")},
	{Schema: "aten::bin(int i) -> str", Host: strBase(2, "0b")},
	{Schema: "aten::isalnum(str self) -> bool", Host: strIs(isAlnum)},
	{Schema: "aten::isalpha(str self) -> bool", Host: strIs(isAlpha)},
	{Schema: "aten::$1(str self) -> bool", For: "isdecimal isdigit isnumeric", Host: strIs(isDigit)},
	{Schema: "aten::isspace(str self) -> bool", Host: strIs(isSpace)},
	{Schema: "aten::isupper(str self) -> bool", Host: strCase(true)},
	{Schema: "aten::islower(str self) -> bool", Host: strCase(false)},
	{Schema: "aten::isprintable(str self) -> bool", Host: strPrintable},
	{Schema: "aten::isidentifier(str self) -> bool", Host: strIdentifier},
	{Schema: "aten::istitle(str self) -> bool", Host: strIstitle},
	{Schema: "aten::split.str(str self, str? separator=None, int max=-1) -> str[]", Host: strSplit},
	{Schema: "aten::count(str self, str substr, int start=0, int end=-1) -> int", Host: strCount},
	{Schema: "aten::index.str(str self, str substr, int start=0, int end=-1) -> int", Host: strFind(false, true)},
	{Schema: "prim::StringIndex(str string, int index) -> str", Host: getItem},
}
