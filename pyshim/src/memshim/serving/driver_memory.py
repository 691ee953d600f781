"""What a driver takes of a card while an engine starts, beside PyTorch's allocator: modules and
library handles. No rule gives these bytes. They are read off published logs, so that each is an
estimate with its source.
"""

from __future__ import annotations

from typing import NamedTuple

from memshim.sizes import MIB


class Taken(NamedTuple):
    """Bytes that the driver takes over an engine's profile run: what is charged, and the range that
    logs have. logged: the logs are of this release, this card and this number of GPUs."""

    bytes: int
    least: int
    most: int
    source: str
    logged: bool = True

    def as_json(self) -> dict[str, int | str]:
        return {"kind": "estimate", **self._asdict()}


CARD = "H100"  # in the names of the cards that the logs are of
EARLIER, LATER, SEVERAL = (0, 17), (0, 19), (2, 4)  # last releases of the logs, and their numbers of GPUs but one
# testdata/serving/logs.csv has the logs, with two decimals of a GiB, and says which of them a figure was
# read off: the others judge it. A range is of all.
_LATER = Taken(
    256 * MIB,
    246 * MIB,
    471 * MIB,
    "0.24 to 0.27 GiB, and 0.46 in 3 of 34, in public logs of vLLM 0.18 and 0.19 on one H100",
)
_EARLIER = Taken(133 * MIB, 128 * MIB, 138 * MIB, "0.13 GiB in public logs of vLLM up to 0.17 on one H100")
# With NCCL, whose own memory at the start is not among it.
_SEVERAL = Taken(2109 * MIB, 2109 * MIB, 2264 * MIB, "2.06 to 2.21 GiB in public logs of vLLM 0.19 on 2 and 4 H100")
# The stages of a pipeline exchange nothing over the profile run.
_STAGES = Taken(72 * MIB, 67 * MIB, 77 * MIB, "0.07 GiB for a stage in public logs of vLLM 0.19 on 2 and 4 H100")


# Of one batch size's CUDA graphs, piecewise and full, for each layer and one more: KiB. Read off Qwen3-8B's
# log, and of models with experts Qwen3-30B-A3B's; a range is of all logs.
_DENSE, _EXPERTS = (332, 301, 410), (447, 437, 846)


def graph_layer(experts: bool) -> int:
    """Bytes that are charged for a batch size and a layer."""
    return (_EXPERTS if experts else _DENSE)[0] * 1024


def graphs(charged: int, experts: bool, card: str) -> Taken:
    """What the driver takes for CUDA graphs that so many bytes were charged for, beside PyTorch's pool."""
    each, least, most = _EXPERTS if experts else _DENSE
    kind = "with experts" if experts else "without experts"
    source = f"public logs of models {kind} under vLLM 0.19 on H100"
    logged = CARD in card
    if not logged:
        source += f"; no log of {card}"
    return Taken(charged, charged * least // each, charged * most // each, source, logged)


STEP = 2 * MIB  # by which a driver's free memory falls, in every log


def sampled(graphs: Taken, sizes: int) -> Taken:
    """What an engine estimates of its graphs: it captures two of a kind and takes the second for each further
    batch size (vLLM's issue 45178). A driver gives memory in steps, so that the second is up to a step off."""
    off = 2 * STEP * max(sizes - 1, 0)  # of pieces, and of whole graphs
    source = f"{graphs.source}, and 2 MiB for each graph, as the engine measures one of a kind for all"
    return graphs._replace(least=max(graphs.least - off, 0), most=graphs.most + off, source=source)


def together(modules: Taken, graphs: Taken) -> Taken:
    """Both, where an engine takes its CUDA graphs off its KV cache as well."""
    return Taken(
        modules.bytes + graphs.bytes,
        modules.least + graphs.least,
        modules.most + graphs.most,
        f"{modules.source}; for CUDA graphs {graphs.source}",
        modules.logged and graphs.logged,
    )


def release(version: str) -> tuple[int, int]:
    """0, 19 of 0.19.0; 0, 0 of what is no release."""
    parts = version.split(".")
    numbers = [int(p) for p in parts[:2] if p.isdecimal()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)


def of(version: str, card: str, gpus: int = 1, tensor: int | None = None) -> Taken:
    """What is charged for a release of vLLM on each of some cards, by the driver's name of them. tensor:
    how many of the GPUs share each layer; all, where it is not given."""
    tensor = tensor or gpus
    at = release(version)
    one = _LATER if at > EARLIER else _EARLIER
    taken = one if gpus == 1 else _SEVERAL if tensor > 1 else _STAGES
    releases = {_LATER: ((0, 18), LATER), _EARLIER: ((0, 1), EARLIER)}
    first, last = releases.get(taken, (LATER, LATER))
    lacks = [
        what
        for what, logged in (
            (card, CARD in card),
            (f"vLLM {version}", first <= at <= last),
            (f"{gpus} GPUs", gpus == 1 or gpus in SEVERAL and tensor in (1, gpus)),
        )
        if not logged
    ]
    if lacks:
        return taken._replace(source=f"{taken.source}; no log of {', '.join(lacks)}", logged=False)
    return taken
