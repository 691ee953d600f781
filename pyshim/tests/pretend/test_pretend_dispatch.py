"""What an operator on a pretend GPU costs beside PyTorch's own dispatch: as few ways through Python as can
be, one thread for what is computed, and each stack walked once."""

import json

import pretended


def ok(code: str, **options) -> None:
    p = pretended.run(code, **options)
    assert (p.returncode, p.stdout) == (0, "ok\n"), p.stderr


def test_results_are_computed_in_one_thread():
    ok("""
import torch
from memshim.pretend.values.keys import OnCPU
from memshim.pretend.values.operators import Operator
torch.set_num_threads(3)
seen, compute = [], Operator.on_cpu
Operator.on_cpu = lambda *a: (seen.append(torch.get_num_threads()), compute(*a))[1]
assert (torch.arange(4, device="cuda") + 1).tolist() == [1, 2, 3, 4]
assert seen and set(seen) == {1} and torch.get_num_threads() == 3, seen
try:
    with OnCPU():
        raise ValueError
except ValueError:
    pass
assert torch.get_num_threads() == 3
print("ok")
""")


def test_operators_that_are_made_of_others_pass_by():
    """Those that they are made of come to Python, so that values are followed."""
    ok("""
import torch
from memshim.pretend import values
from memshim.pretend.values import kinds
from memshim.pretend.values.operators import Operator
hook = values.installed()
x = torch.arange(6, device="cuda").view(2, 3)
assert torch.ops.aten.slice_backward(x, [2, 5], 1, 1, 4, 1).tolist() == [[0, 0, 1, 2, 0], [0, 3, 4, 5, 0]]
assert x.clone().tolist() == [[0, 1, 2], [3, 4, 5]] and x.sum().item() == 15 and x.float().mean().item() == 2.5
assert torch.stack([x[0], x[1]]).repeat(1, 2).tolist() == [[0, 1, 2] * 2, [3, 4, 5] * 2]
assert torch.nn.functional.embedding(x[0], x).shape == (3, 3) and x.new_zeros(2).tolist() == [0, 0]
assert x.new_full((2,), 7).tolist() == torch.full((2,), 7, device="cuda").tolist() == [7, 7]
assert torch.index_put(x[0], (x[0][:1],), x[1][2:]).tolist() == [5, 1, 2] and x.new_ones(1).item() == 1
names = {f"aten::{n}" for n in kinds.COMPOSED}
assert not names & {o.name for o in hook.operators.values()} - {"aten::sum", "aten::mean"}  # whose other overloads do
for name in names:
    op = getattr(torch.ops.aten, name.partition("::")[2]).default
    made = Operator(op, hook)
    assert made.kernel == made.forward and not made.alone, name
print("ok")
""")


def test_large_results_of_unknown_values_are_not_known():
    """Floats and integers read as they lie there; booleans are chosen, so that a read of them is noted once."""
    ok("""
import torch
from memshim.pretend import report
n = (1 << 20) + 1
a, zero = torch.randn(n, device="cuda"), torch.zeros(n, device="cuda")
for t in (a + 1, zero + a, torch.addcmul(zero, a, zero)):
    assert t[:2].tolist() == [0.0, 0.0]
assert not (a > 0).any().item()
assert report().as_json()["reads"]
assert (zero[:3] + 1).tolist() == [1.0] * 3, "what is known stays so"
print("ok")
""")


def test_a_stack_is_walked_once():
    ok("""
import sys
from memshim.attribution import forward_lines as lines

def stacks(n):
    return stacks(n - 1) if n else ((lines.stack()[0], plain()))
def plain():
    out, frame = [], sys._getframe(1)
    while frame:
        out.append(f"{frame.f_code.co_filename}:{frame.f_lineno}:{frame.f_code.co_name}\\n")
        frame = frame.f_back
    return "".join(out)
for n in (0, 5, 300):  # deeper than is kept
    for _ in range(2):
        found, wanted = stacks(n)
        assert found == wanted, (found, wanted)
def generated():
    while True:
        yield lines.stack()[0]
g = generated()
def first(): return next(g)
def second(): return next(g)
assert ":first\\n" in first() and ":second\\n" in second() and ":first\\n" in first()
one = [lines.stack()[0] for _ in range(2)]
assert one[0] is one[1] or sys.version_info < (3, 11)
lines.running = lambda: "layers.0"
named = [lines.stack()[0] for _ in range(2)]
assert all(s.startswith(f"{lines.MODULE}:0:layers.0\\n") for s in named)
print("ok")
""")


# Allocations, what was read, and values, of a program with and without gradients: printed as one line.
PROGRAM = """
import json, sys, torch
from torch import nn
from torch.nn import functional as F
from memshim.pretend import report, values
hook = values.installed()
if sys.argv[1] == "closed":
    hook.gate.close()
torch.cuda.memory._record_memory_history(stacks="python")
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n, self.a, self.b = nn.LayerNorm(256), nn.Linear(256, 1024), nn.Linear(1024, 256)
        self.norm, self.out = nn.BatchNorm1d(64), nn.Linear(256, 256, bias=False)
    def forward(self, x):
        q = self.out(self.n(x)).view(8, 64, 4, 64).transpose(1, 2)
        x = x + F.scaled_dot_product_attention(q, q, q).transpose(1, 2).reshape(x.shape)
        return self.norm(x + self.b(F.dropout(F.gelu(self.a(x)), 0.1, self.training)))
net = nn.Sequential(nn.Embedding(4000, 256), Block(), Block(), nn.Linear(256, 4000)).cuda()
optimizer = torch.optim.AdamW(net.parameters(), foreach=True)
ids = (torch.arange(512) * 7 % 4000).view(8, 64).cuda()
seen = []
for step in range(3):
    with torch.autocast("cuda", torch.bfloat16, enabled=step == 2, cache_enabled=False):
        loss = F.cross_entropy(net(ids).flatten(0, 1), ids.flatten())
    loss.backward()
    seen.append(float(nn.utils.clip_grad_norm_(net.parameters(), 1.0)))
    optimizer.step()
    optimizer.zero_grad(set_to_none=step != 1)
    seen.append(loss.item())
net.eval()
with torch.no_grad():
    out = net(ids)
    seen += [out.argmax(-1).flatten()[:3].tolist(), bool(out.isfinite().all()), (out[0, 0] > 0).sum().item()]
mask = torch.tril(torch.ones(64, 64, device="cuda"))
known = torch.arange(6, dtype=torch.float32, device="cuda").view(2, 3)
w = torch.ones(3, 2, device="cuda", requires_grad=True)
(known @ w).sum().backward()
big = torch.zeros(1 << 21, device="cuda")
big += torch.randn(1 << 21, device="cuda")
counts = [big.add_(1)[:2].tolist(), known.add_(big[:6].view(2, 3)).tolist(), (known * 2).tolist()]
seen += [mask.sum().item(), w.grad.tolist(), counts, net[1].norm.num_batches_tracked.item(), ids.sum().item()]
events = [
    (e["action"], e["size"], [(f["filename"], f["line"]) for f in e.get("frames", ()) if "memshim" not in f["filename"]
                              and not f["filename"].endswith("_ops.py")])
    for e in torch.cuda.memory._snapshot()["device_traces"][0]
]
said = report().as_json()
reads, pid = said.pop("reads"), said.pop("pid")
print(json.dumps([seen, reads, events, said], default=str))
"""


def test_what_passes_by_python_changes_nothing():
    """The same allocations from the same lines, the same values and reads as where all operators come to Python."""
    found = [pretended.run(PROGRAM, way) for way in ("open", "closed")]
    assert [p.returncode for p in found] == [0, 0], found[0].stderr + found[1].stderr
    seen, wanted = (json.loads(p.stdout) for p in found)
    assert seen[0] == wanted[0] and seen[0][-5:-3] == [2080.0, [[3.0, 3.0], [5.0, 5.0], [7.0, 7.0]]]
    assert seen[1] == wanted[1] and seen[1]
    assert len(seen[2]) > 500 and seen[2] == wanted[2]
    assert seen[3] == wanted[3]


def test_a_training_step_hardly_comes_to_python():
    ok("""
import torch
from torch import nn
from memshim.pretend import values
hook = values.installed()
assert hook.gate.opened, "this PyTorch's operators are not read in C"
called = []
net = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.LayerNorm(2048), nn.Linear(2048, 512)).cuda()
optimizer = torch.optim.AdamW(net.parameters())
x = torch.randn(512, 512, device="cuda")
def step():
    net(x).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
step(), step()
for operator in hook.operators.values():
    def counted(*a, operator=operator, kernel=operator.kernel):
        called.append(operator.name)
        return kernel(*a)
    operator.kernel = counted
step()
assert len(called) < 4, called
known = torch.ones(2, 2, device="cuda")
assert (known @ known).tolist() == [[2, 2], [2, 2]] and "aten::mm" in called, "what is known comes to Python"
print("ok")
""")


def test_numbers_of_every_type_are_read_in_c():
    ok("""
import torch
from memshim.pretend import values
gate = values.installed().gate
names = "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool bfloat16"
types = [getattr(torch, name) for name in names.split()]
for dtype in types:
    a = torch.empty(3, dtype=dtype)
    assert gate.agrees_on(torch.ops.aten._foreach_mul.Scalar, ([a], 2), [a]), dtype
print("ok")
""")


def test_an_error_in_an_operator_that_passes_by():
    """It leaves the thread as it was, and is the error that PyTorch raises."""
    ok(
        """
import torch
from memshim.pretend import values
operators = vars(values.installed())["library"].operators
a = torch.randn(4096, 4096, device="cuda")
a @ a, a * a, a.relu()
for wrong, kind in ((lambda: a @ a[:3], RuntimeError), (lambda: a * a[:3], RuntimeError),
                    (lambda: torch.cat([a] * 200), torch.OutOfMemoryError)):
    try:
        wrong()
        raise SystemExit("no error")
    except kind:
        pass
    assert operators().value == 0
assert (torch.arange(3, device="cuda") * 2).tolist() == [0, 2, 4]
print("ok")
""",
        memory="4GiB",
    )


def test_a_read_in_an_operator_that_passes_by_is_noted():
    ok("""
import torch
from memshim.pretend import report, values
gate = values.installed().gate
a = torch.randn(2048, 2048, device="cuda")
a @ a
pointer, = (at for at, name in gate.names.items() if name == "aten::mm")
gate._noted(pointer, 4)
read, = report().as_json()["reads"]
assert (read["op"], read["bytes"]) == ("aten::mm", 4), read
print("ok")
""")


def test_a_gate_that_reads_otherwise_stays_closed():
    """All operators come to Python then."""
    ok("""
import torch
from memshim.pretend import values
from memshim.pretend.values import gate
hook = values.installed()
hook.gate.close()
span, gate.span = gate.span, lambda t: span(t) + 1
hook.gate.open()
assert not hook.gate.opened
gate.span = span
hook.gate.open()
assert hook.gate.opened
print("ok")
""")
