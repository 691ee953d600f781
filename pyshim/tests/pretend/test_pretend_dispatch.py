"""What an operator on a pretend GPU costs beside PyTorch's own dispatch: as few ways through Python as can
be, one thread for what is computed, and each stack walked once."""

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
