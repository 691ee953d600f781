"""Whether a live model runs its program's operators in other dtypes than the export's
(memshim.exporting.other_dtypes)."""

import json

import pytest

torch = pytest.importorskip("torch")

import memshim  # noqa: E402
from memshim.exporting import eager_program, other_dtypes  # noqa: E402

SAME = {"autocast": "", "dtype": ""}
UNDER = {
    "autocast": "eager runs nothing where the program has aten::_to_copy bfloat16[4, 4]",
    "dtype": "eager runs aten::_to_copy bfloat16[4, 4] where the program has aten::mm float32[4, 4]",
}


def net(body):
    scope = {}
    lines = "\n".join(f"        {line}" for line in body.split("; "))
    exec(
        f"import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        "
        f"self.l = torch.nn.Linear(4, 4)\n"
        f"        self.b = torch.nn.Buffer(torch.ones(4))\n    def forward(self, x):\n        y = self.l(x)\n{lines}\n",
        scope,
    )
    return scope["Net"]().eval()


@pytest.mark.parametrize(
    ("why", "body", "want"),
    [
        ("no cast", "return y.softmax(-1) @ y", SAME),
        ("a cast to what the text says", "return y.softmax(-1).to(torch.float64) @ y.double()", SAME),
        (
            "constants of the text's dtypes, and a buffer",
            "return torch.arange(4, dtype=torch.float32) * y + self.b + torch.tensor([1., 2, 3, 4])",
            SAME,
        ),
        ("a cast to what another tensor has", "return y.float().softmax(-1).to(y.dtype) @ y", UNDER),
        ("a cast to another's", "return y.float().softmax(-1).type_as(y) @ y", UNDER),
        (
            "a cast that had nothing to do is the tensor itself in a program",
            "z = y.float(); return z.softmax(-1) + y",
            dict.fromkeys(SAME, "eager copies in a float() that gave its tensor itself in the export"),
        ),
        ("a cast that has nothing to do here", "return y.to(torch.bfloat16) + 1", SAME),
        (
            "casts where the dtype is another",
            "return y + 1 if y.dtype == torch.float32 else y.bfloat16() + 1",
            dict.fromkeys(SAME, "eager casts 1 times, and 0 in the export"),
        ),
        (
            "a test of a dtype, which is no operator",
            "return y + 1 if y.dtype == torch.float32 else y - 1",
            {
                how: "eager runs aten::sub.Tensor bfloat16[4, 4] where the program has aten::add.Tensor bfloat16[4, 4]"
                for how in SAME
            },
        ),
        (
            "what cannot run in another",
            "return torch.linalg.inv(y) if y.dtype == torch.float32 else y.nothing",
            dict.fromkeys(SAME, "not compared: AttributeError: 'FakeTensor' object has no attribute 'nothing'"),
        ),
        ("data that is read", "return y + 1 if self.b.sum().item() else y", SAME),
    ],
)
def test_in_other_dtypes(why, body, want):
    model, args = net(body), (torch.randn(4, 4),)
    program, _ = eager_program.export(model, args, {}, None)
    assert other_dtypes.compare(model, program, args, {}) == want, why


@pytest.mark.parametrize("kind", ["export", "trace"])
def test_the_sidecar_has_it(tmp_path, kind):
    path = memshim.export(
        net("return y.float().softmax(-1).type_as(y) @ y"), tmp_path / "net.pt", torch.randn(4, 4), kind=kind
    )
    assert json.loads((tmp_path / f"{path.name}.inputs.json").read_text())["retyped"] == UNDER
