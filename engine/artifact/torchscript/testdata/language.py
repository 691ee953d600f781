"""Makes frozen.pt, a frozen module; language.pt, a module that uses every construct of TorchScript; and language.graph, the graphs torch
makes of it when it loads the archive again: each node's kind, number of results, attribute, and line in this file.

    python language.py

The printed source stands in syntax/testdata/language.txtar.
"""
import enum
import os
import re
import warnings
from typing import *

import torch
from torch import Tensor, nn

warnings.filterwarnings("ignore")

class Color(enum.Enum):
    RED="r\"ed'"
    BLUE="b\n\tlue\u00e9"
class Num(enum.Enum):
    A=1
    B=-2
class Pair(NamedTuple):
    a: Tensor
    b: int = 3
@torch.jit.interface
class I1(nn.Module):
    def forward(self, x: Tensor, y: int = 3) -> Tensor:
        pass
@torch.jit.interface
class I2:
    def run(self, x: Tensor) -> Tensor:
        pass
class Impl(nn.Module):
    def forward(self, x: Tensor, y: int = 3) -> Tensor:
        return x + y
@torch.jit.script
class Ctx:
    def __init__(self, n: int):
        self.n = n
        self.t: Optional[Tensor] = None
    def __enter__(self):
        self.n += 1
        return self.n
    def __exit__(self, a: Any, b: Any, c: Any):
        self.n -= 1
    def run(self, x: Tensor) -> Tensor:
        return x * self.n
@torch.jit.script
class Acc:
    def __init__(self):
        self.d: Dict[str, int] = {}
        self.l: List[Optional[Tensor]] = []
    def run(self, x: Tensor) -> Tensor:
        return x
@torch.jit.script
def helper(x: Tensor, n: int = 2, f: float = 1e-5, s: str = "a'b", c: complex = 1j, o: Optional[int]=None, b: bool=True) -> Tuple[Tensor, int]:
    if n > 5:
        return x, n
    for i in range(n):
        if i == 3:
            continue
        if i == 4:
            break
        x = x + i
    return x * f, n
def kind(a: Any) -> int:
    if isinstance(a, (int, float)):
        return 1
    elif isinstance(a, str):
        return 2
    return 3
def forked(x: Tensor) -> Tensor:
    return torch.mm(x, x)
@torch.jit.script
def f0(n: int) -> float:
    return n / 2
class M(nn.Module):
    mod: I1
    opt: Optional[Tensor]
    __constants__=['k']
    def __init__(self):
        super().__init__()
        self.mod=Impl()
        self.k=7
        self.lin=nn.Linear(4,4)
        self.register_buffer('buf',torch.arange(5))
        self.register_buffer('nb',torch.zeros(3),persistent=False)
        self.seq=nn.Sequential(nn.Linear(4,4),nn.ReLU())
        self.ml=nn.ModuleList([nn.Linear(4,4),nn.Linear(4,4)])
        self.pl=[1,2,3]
        self.dd={'a':1,'b':2}
        self.tt=(1,'x',2.5,None)
        self.dev=torch.device('cpu')
        self.cplx=1+2j
        self.lt=[torch.ones(2),torch.zeros(2)]
        self.opt: Optional[Tensor]=None
        self.shared=self.lin.weight
        self.e=Num.B
        self.pair=Pair(torch.ones(1),4)
        self.w16=nn.Parameter(torch.ones(2,3,dtype=torch.bfloat16).t())
    def early(self, x: Tensor, n: int) -> Tensor:
        if n == 1:
            return x
        elif n == 2:
            return x + 1
        for i in range(n):
            if i == 7:
                return x + i
        return x + 2
    def forward(self, x: Tensor, y: Optional[Tensor]=None, k: int = 2):
        z = x
        if y is not None:
            z = z + y
        a, n = helper(z, k)
        inf = float('inf'); ninf=-float('inf'); nan=float('nan')
        v = [inf, ninf, nan, 1e-5, 1e20, 0.1, 5.0]
        d = {'a': z, 'b': a}
        d['c'] = a
        del d['a']
        for kk, vv in d.items():
            z = z + vv
        l = [i*2 for i in range(3)]
        l.append(4); l[0] = 3
        q = l[1:3]
        t = (1, 2, 3)
        u = t[0:2]
        for item in l:
            z = z + item
        for e0 in [z, a]:
            z = z + e0
        with Ctx(2) as c:
            z = z + c
            with torch.no_grad():
                z = z * 2
        p = Pair(z, 3)
        w = p.a + p.b
        s = "{} x".format(n)
        c1 = Color.RED
        if c1 == Color.BLUE:
            print("blue", c1.value, c1.name)
        if isinstance(y, Tensor):
            z = z + y
        fut = torch.jit.fork(forked, z)
        r = torch.jit.wait(fut)
        mx = max(n, 3); mn = min(2.5, f0(n)); ab = abs(n)
        m2, idx = torch.max(z, 1)
        h1, h2 = torch.chunk(z, 2, 1)
        try_assert = 1
        assert n > 0, "n must be positive"
        i = 0
        while i < 3:
            i += 1
            if i == 2: break
        x0: float = float(z.sum()) if n > 0 else 0.
        ti = int(z.sum()); tf = float(z.mean()); tb = bool(z.any())
        ll: List[int] = z.to(torch.int64).view(-1).tolist()
        st = str(n) + "q"
        st2 = st[0]
        aa: List[List[Tensor]] = [[z], [a]]
        zz = z[..., 0:2, None]
        z[0, 1] = 5
        z[:, 1] = a[:, 1]
        x1 = self.ml[1](z)
        for m in self.ml:
            x1 = m(x1)
        x1 = self.seq(x1)
        x1 = self.mod(x1, 4)
        self.opt = x1
        cm = complex(1.0, 2.0)
        gen = torch.tensor([1,2,3], device='cpu', dtype=torch.float32)
        flag = n > 2 and k < 4 or not (n == 7)
        n2 = n // 2 % 3
        y2 = -z @ z.t()
        em = torch.jit.annotate(List[Tensor], [])
        sorted_l = sorted(l)
        n2 += kind(z)
        en = list(enumerate(l)); zp = list(zip(l, l))
        if n > 100:
            raise ValueError("bad {}".format(n))
        acc = Acc()
        acc.d["x"] = 3
        it: I2 = Ctx(1)
        z = it.run(z)
        b = self.buf + self.shared.sum() + self.w16.sum() + self.lt[0].sum()
        return x1, w, r, m2, h1, s, v, u, q, x0, ti, tf, tb, ll, st2, aa, zz, cm, gen, flag, n2, em, sorted_l, en, zp, acc.d, b, self.early(z, n), mx, mn, ab, y2, self.e, self.dd, self.tt
@torch.jit.script
def f0(n: int) -> float:
    return n / 2
torch.manual_seed(0)
here = os.path.dirname(os.path.abspath(__file__))
torch.jit.script(M()).save(os.path.join(here, "language.pt"))


def line(node):
    m = re.search(r'File "(.*?)", line (\d+)', node.sourceRange())
    return "-" if not m or not m.group(1).endswith("language.py") else m.group(2)


def block(b, depth, out):
    for n in b.nodes():
        if n.kind() == "prim::Constant":
            continue
        name = " " + n.s("name") if n.kind() in ("prim::GetAttr", "prim::SetAttr", "prim::CallMethod") else ""
        out.write(f"{'  ' * depth}{n.kind()} {n.outputsSize()}{name} {line(n)}\n")
        if n.kind() == "prim::fork":
            continue
        for c in n.blocks():
            out.write(f"{'  ' * depth}  block {len(list(c.inputs()))} {len(list(c.outputs()))}\n")
            block(c, depth + 2, out)


cu = torch._C.CompilationUnit()
torch._C.import_ir_module(cu, os.path.join(here, "language.pt"), torch.device("cpu"), {}, False)
with open(os.path.join(here, "language.graph"), "w") as f:
    for fn in sorted(cu.get_functions(), key=lambda f: f.qualified_name):
        f.write(f"func {fn.qualified_name}\n")
        block(fn.graph, 1, f)


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.l(x)


torch.jit.freeze(torch.jit.script(Frozen().eval())).save(os.path.join(here, "frozen.pt"))


import struct, zipfile  # noqa: E402 -- here, because language.graph holds the line numbers above


def neutral(path):
    """Names the places of the sources in an archive without the folders of this machine."""
    root = os.path.abspath(os.path.join(here, "..", "..", "..", ".."))
    lib = os.path.dirname(os.path.dirname(os.path.dirname(torch.__file__)))
    place = re.compile(b"^(?:" + re.escape(lib.encode()) + b"|" + re.escape(root.encode()) + b")(?=/)")
    text = re.compile(rb"X(....)(?=" + re.escape(lib.encode()) + b"/|" + re.escape(root.encode()) + b"/)", re.S)
    with zipfile.ZipFile(path) as z:
        records = [(i, z.read(i)) for i in z.infolist()]
    with zipfile.ZipFile(path, "w") as z:
        for info, data in records:
            at, out = 0, b""
            while info.filename.endswith(".debug_pkl") and (m := text.search(data, at)):
                (n,) = struct.unpack("<I", m[1])
                name = place.sub(b"/opt/python", data[m.end() : m.end() + n])
                out += data[at : m.start()] + b"X" + struct.pack("<I", len(name)) + name
                at = m.end() + n
            copy = zipfile.ZipInfo(info.filename)
            copy.compress_type = info.compress_type
            z.writestr(copy, out + data[at:])


for name in ("language.pt", "frozen.pt"):
    neutral(os.path.join(here, name))
