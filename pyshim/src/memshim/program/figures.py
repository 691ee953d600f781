"""What a run on pretend GPUs came to, as `memshim run --json` writes it and memshim.run returns it.

Sizes are bytes. schemas/run.schema.json says the same for other languages.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Quality = Literal["exact", "bound", "estimate"]


class Range(TypedDict):
    low: int
    high: int


class Sizes(TypedDict):
    allocated: int
    reserved: int


class Iteration(Sizes):
    """From one step of the optimizer to the next: its peaks."""

    compiled: bool  # torch.compile compiled in it


class NCCL(Range):
    """What NCCL takes; both ends are the same where it is stated."""

    communicators: int


class _Device(TypedDict, total=False):
    nccl: NCCL  # missing where no communicator was made


class Device(_Device):
    """A pretend GPU as a process used it."""

    index: int
    name: str
    memory: int
    context: int  # what the driver takes, at the least
    allocated: int  # the peak by PyTorch's caching allocator
    reserved: int
    total: int  # reserved and context
    total_range: Range  # the same with all that the driver may take, and with NCCL
    managed: int  # by cudaMallocManaged
    iterations: list[Iteration]
    ooms: int  # how often memory ran out
    lines: dict[str, Any] | None  # who held the peak; None where these figures are the pretend GPU's own
    table: str  # the same for people


class Read(TypedDict):
    """A read of a value that no kernel computed."""

    file: str
    line: int
    function: str
    inner: str
    op: str
    bytes: int
    count: int
    assumed: float | int | bool | str | None
    given: str
    kind: str
    value: float | int | bool | None
    bounded: bool
    varied: bool
    endless: bool


class Call(TypedDict):
    name: str
    count: int


class Timed(TypedDict):
    """What a measured time decides on a card."""

    what: str
    file: str
    line: int
    count: int


class WithoutGradient(TypedDict):
    """Parameters that require a gradient and had none after a step."""

    bytes: int
    parameters: int
    modules: list[str]
    others: int


class File(TypedDict):
    path: str
    bytes: int


class Difference(TypedDict):
    """Ranks that take otherwise than each other."""

    why: str  # pipeline stage, uneven shards, experts, ZeroRedundancyOptimizer
    ranks: list[int]


class Dimension(TypedDict):
    """A rank's place in a dimension of the program's mesh."""

    name: str
    index: int
    size: int


class Place(TypedDict):
    """What a rank's process says of the rank."""

    rank: int
    world_size: int
    place: list[Dimension]
    stages: list[int]
    differ: list[Difference]


class _Process(TypedDict, total=False):
    without_gradient: WithoutGradient | None  # missing where the process left no report
    rank: Place  # of a rank alone


class Process(_Process):
    pid: int
    arguments: list[str]
    torch: str  # its release; "" where it left no report
    out_of_memory: str  # PyTorch's text; "" where memory sufficed
    missing: str
    devices: list[Device]
    host_pinned: int | None  # page-locked memory of the host; None where nobody knows
    exact: bool
    reads: list[Read]
    refused: list[Call]  # not emulated: they failed
    absent: list[Call]
    unsized: list[Call]  # emulated, and of no known size
    estimated: list[Call]
    timed: list[Timed]
    files: list[File]  # that it wrote
    kept_back: list[str]  # that it would have sent
    phases: list[str]  # seen: forward, backward, optimizer, evaluation, checkpoint, gathering of state dicts
    ended: str  # by what, where that was not its own end
    code: int | None
    failed: bool


class Peaks(Sizes):
    total: int


class End(TypedDict):
    """A run with other values in the place of those that no kernel computed."""

    values: str
    exit: int
    fits: bool | None
    failed: bool
    peaks: list[Peaks]  # of each device of each process


class _Run(TypedDict, total=False):
    ends: list[End]  # with check_values, where such values were read


class Run(_Run):
    """Of a program that is one process, or starts its own."""

    schema: int
    where: Literal["pretend"]
    on: list[str]
    program: list[str]
    exit: int
    fits: bool | None  # None where nobody can say
    out_of_memory: str
    exact: bool
    processes: list[Process]  # the program's own first
    values: str
    quality: Quality


class _Rank(TypedDict, total=False):
    ends: list[End]  # with check_values, where such values were read


class Rank(_Rank):
    """Of one rank; the sizes are those of the device of which it took most."""

    rank: int
    place: list[Dimension]
    stages: list[int]
    differ: list[Difference]
    phases: list[str]  # of the process that took it
    first: Sizes | None  # up to the last step in which something was compiled; None of no step
    later: Sizes | None
    allocated: int
    reserved: int
    total: int
    memory: int
    context: int
    total_range: Range
    exit: int
    fits: bool | None
    quality: Quality
    out_of_memory: str
    undecided: bool
    processes: list[Process]


class RanksRun(TypedDict):
    """Of single ranks of a world."""

    schema: int
    where: Literal["pretend"]
    on: list[str]
    program: list[str]
    world_size: int
    nproc_per_node: int
    steps: int
    ranks: list[Rank]  # that ran, in order
    worst: int  # the rank that takes most
    not_run: list[Difference]  # ranks that differ and did not run
    fits: bool | None
    quality: Quality
    exit: int  # the worst rank's
