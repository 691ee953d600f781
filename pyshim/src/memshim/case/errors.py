"""Why a case was not measured, and how the process that measures one says it."""

from __future__ import annotations


class MeasureError(Exception):
    """The case could not be measured. The text is for the user."""


class CaseError(MeasureError):
    """The case cannot be built as it says: a mistake in memspec.yaml."""


class NothingToRun(MeasureError):
    """The case says nothing that could be run: no source, and no artifact with its weights."""


class NoGPU(MeasureError):
    """A GPU was required, and there is none."""


class NoTorch(MeasureError):
    """There is no PyTorch to run anything with."""


class ModelError(MeasureError):
    """The model was there and failed when it was built or run."""


TIMEOUT = 1800.0  # seconds for one case
TORCH_MISSING = "got no torch, want PyTorch installed for this Python: python -m pip install torch"

# How a process that measures one case ends.
FAILED, USAGE, UNSURE, NO_TORCH, NOTHING = 1, 2, 3, 4, 5
KINDS: dict[int, type[MeasureError]] = {
    FAILED: ModelError,
    USAGE: CaseError,
    UNSURE: NoGPU,
    NO_TORCH: NoTorch,
    NOTHING: NothingToRun,
}
