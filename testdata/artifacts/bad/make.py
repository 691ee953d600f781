"""Writes the archives beside it: what memspec must refuse, bound, or say it cannot know. Needs torch (2.15.0).

    python make.py [NAME.pt ...]    # as /opt/python/testdata/artifacts/bad/make.py, with torch below /opt/python too: archives name their files

endless.pt     a loop without an end
recursion.pt   a function that calls itself (written by hand into the archive: the compiler refuses it)
raises.pt      raises for inputs of fewer than three dimensions
overflow.pt    asks for a tensor whose size overflows int64
nonzero.pt     a size that depends on tensor data
branch.pt      a branch that depends on tensor data
loops.pt       loops and branches whose end depends on tensor data, one by number
numbers.pt     numbers that are read off tensors, one use by number
flood.pt       a loop without an end that allocates
custom.pt      an operator of a library that memspec does not know, beside one it knows
none.pt        calls None as if it were a module (traced, changed by hand)
foreign.pt     data.pkl names os.system
deep.pt        data.pkl nests a thousand tuples
bomb.pt        a code record that inflates to 256 MiB
noroot.pt      a zip without data.pkl
nocode.pt      the code record of the module is missing
syntax.pt      a code record that is no TorchScript
"""

import io
import linecache
import os
import pickle
import sys
import zipfile
from pathlib import Path
from typing import List

# Archives name their source file. So that they name the same one wherever they are made, this file runs itself under that name.
NAME = "/opt/python/testdata/artifacts/bad/make.py"
if __file__ != NAME:
    text = Path(__file__).read_text()
    linecache.cache[NAME] = (len(text), None, text.splitlines(True), NAME)
    exec(compile(text, NAME, "exec"), {"__name__": "__main__", "__file__": NAME, "HERE": Path(__file__).parent})
    raise SystemExit
HERE = globals().get("HERE") or Path(__file__).parent

import torch  # noqa: E402


class Endless(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        n = 0
        while n >= 0:
            n = n * 1
        return x + n


class Recursion(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x + 1


class Raises(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return self.check(x) * 2

    def check(self, x: torch.Tensor):
        if x.dim() < 3:
            raise ValueError("want at least three dimensions")
        return x


class Overflow(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        n = 1 << 31
        return torch.zeros([n, n, n, x.size(0)])


class Nonzero(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.nonzero(x) * 2


class Branch(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        if bool(x.sum() > 0):
            y = torch.cat([x, x, x])
        else:
            y = x + 1
        return y


class Loops(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = 0

    def forward(self, x: torch.Tensor, kind: int):
        out: List[torch.Tensor] = []
        n = 0
        if kind == 0:
            while bool(x.sum() > 0):  # the same each round
                x = x - 1
        elif kind == 1:
            while bool(x.sum() > 0):  # the same but for a count
                x = x - 1
                n += 1
        elif kind == 2:
            while bool(x.sum() > 0):  # holds more each round
                x = x - 1
                out.append(x)
        elif kind == 3:
            while n < 20 and bool(x.sum() > 0):  # holds more, and ends
                x = x - 1
                out.append(x)
                n += 1
        elif kind == 4:
            while True:
                x = x - 1
                if bool(x.sum() < 0):  # the same each round, by a break
                    break
        elif kind == 5:
            while True:
                x = torch.cat([x, x])
                if bool(x.sum() < 0):  # holds more each round, by a break
                    break
        elif kind == 6:
            for _ in range(int(x.sum())):  # the same each round
                x = x - 1
        elif kind == 7:
            for _ in range(int(x.sum())):  # holds more each round
                out.append(x - 1)
        elif kind == 8:
            for i in range(10):  # ends
                out.append(x + 1)
                if bool(x.sum() > i):
                    break
        elif kind == 9:
            keep = torch.zeros_like(x)
            for c in torch.unique(x):  # as often as there are elements, at most
                keep = keep + (x == c)
            x = keep
        elif kind == 10:
            while bool(x.sum() > 0):
                self.seen = self.seen + 1  # holds more each round, by an attribute
                x = x - torch.zeros([self.seen, 512], device=x.device).sum()
        elif kind == 11:
            if bool(x.sum() > 0):
                if bool(x.sum() > 1):  # a branch in a branch
                    x = torch.cat([x] * 10)
        elif kind == 12:
            for i in range(2):
                if bool(x.sum() > 0):
                    x = torch.cat([x, x])
            if bool(x.sum() > 1):
                x = torch.cat([x, x[:1]])
            if bool(x.sum() > 2):
                x = torch.cat([x, x[:1]])
            if bool(x.sum() > 3):
                x = torch.cat([x, x[:1]])
            if bool(x.sum() > 4):
                x = torch.cat([x, x[:1]])
            if bool(x.sum() > 5):
                x = torch.cat([x, x[:1]])
            if bool(x.sum() > 6):
                x = torch.cat([x, x[:1]])
            if bool(x.sum() > 7):
                x = torch.cat([x, x[:1]])
            if bool(x.sum() > 8):
                x = torch.cat([x, x[:1]])
        return torch.cat(out) if len(out) > 0 else x


class Numbers(torch.nn.Module):
    def forward(self, x: torch.Tensor, kind: int):
        v = float(x.sum())
        n = int(x.argmax())
        if kind == 0:
            return x * v
        elif kind == 1:
            return x.long() * n
        elif kind == 2:
            return torch.full([256, 512], v, dtype=torch.float16, device=x.device)
        elif kind == 3:
            return torch.where(x > 0, x, v)
        elif kind == 4:
            return x[n] + 1
        elif kind == 5:
            return x[:n] + 1
        elif kind == 6:
            return torch.zeros([n, 512], device=x.device)
        elif kind == 7:
            return x[:n] + x[1:]
        elif kind == 8:
            m = int(torch.tensor(n) + 1)  # a number that went through a tensor is as little known
            return torch.zeros([m, 512], device=x.device)
        return torch.dropout(x, v, True)


class Flood(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        n = 0
        while n >= 0:
            n = n * 1
            x = x + 1
        return x


LIBRARY = torch.library.Library("memspec_test", "DEF")
LIBRARY.define("twice(Tensor x) -> Tensor")


class Custom(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.ops.memspec_test.twice(torch.relu(x))


def saved(module):
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(module), buffer)
    return buffer.getvalue()


def rewrite(data, edit):
    """The archive with its records changed: edit(name, bytes) gives the new bytes, or None to leave the record out."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            name = info.filename.split("/", 1)[1]
            changed = edit(name, old.read(info.filename))
            if changed is not None:
                new.writestr(zipfile.ZipInfo("archive/" + name, (1980, 1, 1, 0, 0, 0)), changed)
    return out.getvalue()


def only(wanted, change):
    return lambda name, data: change(data) if name == wanted else data


class Foreign:
    def __reduce__(self):
        return os.system, ("true",)


def write(name, data):
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        return
    (HERE / name).write_bytes(data)


def main():
    for name, module in [("endless", Endless()), ("raises", Raises()), ("overflow", Overflow()), ("nonzero", Nonzero()), ("branch", Branch()),
                         ("loops", Loops()), ("numbers", Numbers()), ("flood", Flood()), ("custom", Custom())]:
        write(name + ".pt", rewrite(saved(module), lambda _, data: data))
    plain = saved(Recursion())
    code = next(n.split("/", 1)[1] for n in zipfile.ZipFile(io.BytesIO(plain)).namelist() if n.endswith(".py"))
    write("recursion.pt", rewrite(plain, only(code, lambda d: d.replace(b"torch.add(x, 1)", b"(self).forward(x, )"))))
    write("syntax.pt", rewrite(plain, only(code, lambda d: d.replace(b"return", b"return )"))))
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.trace(torch.nn.Sequential(torch.nn.ReLU()), torch.ones(4, 4)), buffer)
    write("none.pt", rewrite(buffer.getvalue(), lambda name, d: d.replace(b"(_0).forward(", b"(None).forward(")))
    write("nocode.pt", rewrite(plain, lambda name, data: None if name == code else data))
    write("noroot.pt", rewrite(plain, lambda name, data: None if name == "data.pkl" else data))
    write("foreign.pt", rewrite(plain, only("data.pkl", lambda _: pickle.dumps(Foreign(), protocol=2))))
    write("deep.pt", rewrite(plain, only("data.pkl", lambda _: b"\x80\x02" + b"(" * 1000 + b"K\x01" + b"t" * 1000 + b".")))
    bomb = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(plain)) as old, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for info in old.infolist():
            name = info.filename.split("/", 1)[1]
            record = zipfile.ZipInfo("archive/" + name, (1980, 1, 1, 0, 0, 0))
            record.compress_type = zipfile.ZIP_DEFLATED
            with new.open(record, "w") as f:
                if name != code:
                    f.write(old.read(info.filename))
                    continue
                for _ in range(256):
                    f.write(b" " * (1 << 20))
    write("bomb.pt", bomb.getvalue())


if __name__ == "__main__":
    main()
