"""Write which kernel PyTorch chooses for attention and for convolutions, on a described card of
each compute capability.

    python -m truth choices testdata/aten

asks torch._fused_sdp_choice and torch._C._select_conv_backend on pretend GPUs (memshim.pretend) and
writes testdata/aten/<torch>/choices/attention.txt, attention_forced.txt (2.15 alone has it) and
convolution.txt (format: testdata/aten/README.md). Needs a C compiler and no GPU; ten seconds a
card.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CARDS = {
    "7.5": "t4",
    "8.0": "a100-sxm-80gb",
    "8.6": "a10g",
    "8.9": "l4",
    "9.0": "h100-sxm-80gb",
    "10.0": "b200",
    "12.0": "rtx-5090",
}
BACKENDS = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn"}  # at::SDPBackend


def attention_calls() -> list[dict]:
    """Query, key and value as sizes (strides where they are not contiguous), and what else the
    choice looks at."""
    out: list[dict] = []

    def call(dtype: str, q: list[int], k: list[int], v: list[int] | None = None, **more: object) -> None:
        out.append({"dtype": dtype, "q": q, "k": k, "v": v or k, **more})

    for dtype in ("float16", "bfloat16", "float32", "float64"):
        for head in (4, 8, 12, 30, 32, 36, 60, 64, 72, 96, 100, 128, 136, 160, 192, 200, 256, 264, 512):
            call(dtype, [2, 4, 128, head], [2, 4, 128, head])
            call(dtype, [2, 4, 128, head], [2, 4, 128, head], mask=[2, 4, 128, 128])
        for q, k in itertools.product((1, 2, 63, 64, 128, 4096), repeat=2):
            call(dtype, [2, 4, q, 64], [2, 4, k, 64])
            call(dtype, [2, 4, q, 64], [2, 4, k, 64], causal=True)
        for mask in ([128, 128], [1, 1, 128, 128], [2, 1, 1, 128], [2, 4, 128, 128]):
            call(dtype, [2, 4, 128, 64], [2, 4, 128, 64], mask=mask)
            call(dtype, [2, 4, 128, 64], [2, 4, 128, 64], mask=mask, boolean=True)
        for heads in (1, 2, 3, 4):
            for gqa in (False, True):
                call(dtype, [2, 4, 128, 64], [2, heads, 128, 64], gqa=gqa)
        call(dtype, [2, 4, 128, 64], [2, 2, 128, 64], [2, 4, 128, 64], gqa=True)
        call(dtype, [2, 4, 128, 64], [2, 2, 128, 64], gqa=True, mask=[128, 128])
        for value in (32, 60, 128):
            call(dtype, [2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128, value])
        for (q, k), p in itertools.product(((128, 128), (1, 128)), (0.1, 0.03125, 0.1875, 0.25, 0.5, 0.9, 1.0)):
            call(dtype, [2, 4, q, 64], [2, 4, k, 64], dropout=p)
        call(dtype, [2, 4, 128, 64], [1, 4, 128, 64])
        call(dtype, [70000, 1, 8, 64], [70000, 1, 8, 64])
        call(dtype, [1, 70000, 8, 64], [1, 70000, 8, 64])
        call(dtype, [0, 4, 128, 64], [0, 4, 128, 64])
        call(dtype, [2, 4, 0, 64], [2, 4, 128, 64])
        call(dtype, [4, 128, 64], [4, 128, 64])
        call(dtype, [2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 64, 64])
        across = [32768, 64, 256, 1]  # [batch, length, heads, size], transposed
        call(dtype, [2, 4, 128, 64], [2, 4, 128, 64], strides=across)
        call(dtype, [2, 4, 128, 64], [2, 4, 128, 64], strides=[32768, 8192, 1, 128])
        call(dtype, [2, 4, 128, 64], [2, 4, 128, 64], deterministic=True)
        call(dtype, [2, 4, 128, 64], [2, 4, 128, 64], mask=[2, 4, 128, 128], deterministic=True)
    return out


def convolution_calls() -> list[dict]:
    """Input and weight, and how they are laid out."""
    out: list[dict] = []

    def call(dtype: str, x: list[int], w: list[int], groups: int = 1, **more: object) -> None:
        out.append({"dtype": dtype, "x": x, "w": w, "groups": groups, **more})

    for dtype in ("float32", "float16", "bfloat16", "float64"):
        for last in (False, True):
            for more in (
                {},
                {"dilation": 2},
                {"transposed": True},
                {"transposed": True, "stride": 2, "output_padding": 1},
                {"transposed": True, "dilation": 2, "output_padding": 1},
                {"off": True},
                {"off": True, "dilation": 2},
                {"off": True, "transposed": True},
            ):
                call(dtype, [2, 8, 16, 16], [8, 8, 3, 3], last=last, **more)
                call(dtype, [2, 8, 8, 8, 8], [8, 8, 3, 3, 3], last=last, **more)
                call(dtype, [2, 8, 16, 16], [8, 4, 3, 3], 2, last=last, **more)
            for multiple in (1, 2):
                call(dtype, [2, 8, 16, 16], [8 * multiple, 1, 3, 3], 8, last=last)
                call(dtype, [2, 8, 8, 8, 8], [8 * multiple, 1, 3, 3, 3], 8, last=last)
            call(dtype, [2, 1, 16, 16], [8, 1, 3, 3], last=last)
            call(dtype, [2, 8, 16, 16], [8, 1, 3, 3], 8, last=last, transposed=True)
            call(dtype, [0, 8, 16, 16], [8, 8, 3, 3], last=last)
        call(dtype, [2, 8, 16], [8, 8, 3])
        call(dtype, [2, 8, 16], [8, 1, 3], 8)
        call(dtype, [2, 64, 16], [64, 1, 3], 64)
    # check_cudnn_depthwise_workload_with_filter
    for batch, channels, width, kernel, stride in itertools.product(
        (1, 16, 17), (31, 32, 127, 128, 255, 256, 511, 512), (6, 7, 27, 28, 29), (1, 3, 7), (1, 2, 3)
    ):
        if kernel != 7 or (batch, width) == (1, 28):
            call("float16", [batch, channels, width, width], [channels, 1, kernel, kernel], channels, stride=stride)
    for kernel, stride in ((5, 1), (5, 2), (3, 1), (3, 2)):
        call("float16", [2, 512, 14, 14], [512, 1, kernel, kernel], 512, stride=stride, dilation=2)
        call("float16", [2, 512, 14, 14], [512, 1, kernel, 3], 512, stride=stride)
        call("float16", [2, 512, 20, 14], [512, 1, kernel, kernel], 512, stride=stride)
        call("float16", [2, 512, 1, 14], [512, 1, 1, kernel], 512, stride=stride)
    return out


def child(work: Path, card: str) -> None:
    """Prints what is chosen on a card, a line a call."""
    import memshim

    memshim.pretend(card)
    import torch

    def made(dtype: str, sizes: list[int], strides: list[int] | None = None, last: bool = False) -> torch.Tensor:
        x = torch.empty(sizes, dtype=getattr(torch, dtype), device="cuda")
        if strides:
            x = x.as_strided(sizes, strides)
        if last:
            x = x.contiguous(memory_format={4: torch.channels_last, 5: torch.channels_last_3d}[len(sizes)])
        return x

    from torch.nn.attention import SDPBackend, sdpa_kernel

    forced = {
        "f": [SDPBackend.FLASH_ATTENTION],
        "e": [SDPBackend.EFFICIENT_ATTENTION],
        "c": [SDPBackend.CUDNN_ATTENTION],
    }
    for a in attention_calls():
        q, k, v = (made(a["dtype"], a[name], a.get("strides")) for name in "qkv")
        mask = made("bool" if a.get("boolean") else a["dtype"], a["mask"]) if "mask" in a else None
        torch.use_deterministic_algorithms(a.get("deterministic", False))

        def choice() -> str:
            try:
                return BACKENDS.get(
                    torch._fused_sdp_choice(
                        q, k, v, mask, a.get("dropout", 0.0), a.get("causal", False), enable_gqa=a.get("gqa", False)
                    ),
                    "!",
                )
            except RuntimeError:
                return "!"

        work.joinpath("attention").open("a").write(choice() + "\n")
        takes = ""
        for letter, backends in forced.items():
            with sdpa_kernel(backends):
                takes += letter if choice() != "!" else ""
        work.joinpath("attention_forced").open("a").write((takes or "-") + "\n")
        torch.use_deterministic_algorithms(False)
    for a in convolution_calls():
        x, w = made(a["dtype"], a["x"], last=a.get("last", False)), made(a["dtype"], a["w"], last=a.get("last", False))
        n = len(a["x"]) - 2
        with torch.backends.cudnn.flags(enabled=not a.get("off", False)):
            chosen = torch._C._select_conv_backend(
                x,
                w,
                None,
                [a.get("stride", 1)] * n,
                [0] * n,
                [a.get("dilation", 1)] * n,
                a.get("transposed", False),
                [a.get("output_padding", 0)] * n,
                a["groups"],
            )
        work.joinpath("convolution").open("a").write(str(chosen).rpartition(".")[2] + "\n")


def words(call: dict) -> str:
    """A call as words: lists joined by commas, flags by their names."""
    parts = [call["dtype"]]
    for key, value in call.items():
        if isinstance(value, list):
            parts.append(f"{key}={','.join(map(str, value))}")
        elif value is True:
            parts.append(key)
        elif value is not False and key != "dtype" and not (key == "groups" and value == 1):
            parts.append(f"{key}={value}")
    return " ".join(parts)


def main() -> None:
    if sys.argv[1] == "--child":
        child(Path(sys.argv[2]), sys.argv[3])
        return
    import tempfile

    sys.path.insert(0, str(HERE))
    from dump_schemas import release

    folder = Path(sys.argv[1]) / release() / "choices"
    folder.mkdir(exist_ok=True)
    chosen: dict[str, list[list[str]]] = {"attention": [], "attention_forced": [], "convolution": []}
    for card in CARDS.values():
        with tempfile.TemporaryDirectory() as work:
            subprocess.run([sys.executable, __file__, "--child", work, card], check=True, stdout=subprocess.DEVNULL)
            for name, columns in chosen.items():
                columns.append((Path(work) / name).read_text().split())
    for name, calls, what in (
        ("attention", attention_calls(), "torch._fused_sdp_choice"),
        ("attention_forced", attention_calls(), "torch._fused_sdp_choice under sdpa_kernel(one)"),
        ("convolution", convolution_calls(), "torch._C._select_conv_backend"),
    ):
        lines = [
            f"# {what} of torch {release()} on pretend cards. By python -m truth choices",
            "cards: " + " ".join(f"{c}:{d}" for c, d in CARDS.items()),
        ]
        for call, row in zip(calls, zip(*chosen[name])):
            lines.append(words(call) + ": " + (row[0] if len(set(row)) == 1 else " ".join(row)))
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
        print(
            name,
            len(calls),
            json.dumps(
                {c: {w: column.count(w) for w in sorted(set(column))} for c, column in zip(CARDS, chosen[name])}
            ),
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
