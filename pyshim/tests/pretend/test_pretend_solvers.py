"""Solvers and decompositions on a pretend H100 ask for the workspaces that cuSOLVER asked for on an H100."""

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

MEASURED = Path(__file__).parents[3] / "testdata" / "measured" / "h100-solver.csv"
OTHER = "cuSOLVER's workspace: by a rule of cuSOLVER 12.0 on an H100"
SHAPE = "cuSOLVER's workspace of shapes that were not recorded: by a rule for others"
ITEM = {"float32": 4, "float64": 8, "complex64": 8, "complex128": 16}
UPPER = "100"  # a size for which a product of reflectors is given that of 128 columns
LEAST = 1 << 17  # bytes: what the calls of the second test want is more


def rows(*calls):
    with MEASURED.open() as f:
        return [row for row in csv.DictReader(f) if row["call"] in calls]


def played(play, chosen, device="h100-sxm-80gb"):
    seen = play("solvers", device, "recorded", "unsized", "estimated", environ={"ROWS": json.dumps(chosen)})
    return seen["recorded"], seen["unsized"], seen["estimated"]


def allocated(events, least=0):
    return Counter(n for n in (int(e[1:]) for e in events.split() if e[0] == "+") if n >= least)


def test_square_matrices_are_as_recorded(play):
    """Event for event."""
    chosen = rows("svd", "svdvals", "gesvd", "lu_factor", "cholesky", "ldl", "qr")
    chosen = [r for r in chosen if (r["call"], r["size"]) != ("qr", UPPER)]
    seen, unsized, estimated = played(play, chosen)
    assert len(chosen) == 366
    assert [(r, s) for r, s in zip(chosen, seen, strict=True) if s != r["events"]] == []
    assert unsized in ([], [OTHER]) and estimated == []


def test_products_of_reflectors_are_as_recorded(play):
    """Releases differ in which copies they make beside them."""
    chosen = [r for r in rows("lstsq", "ormqr", "householder", "lowrank") if r["size"] != UPPER]
    seen, unsized, _ = played(play, chosen)
    missing = [(r, s) for r, s in zip(chosen, seen, strict=True) if allocated(r["events"], LEAST) - allocated(s)]
    assert len(chosen) == 195 and missing == [] and set(unsized) <= {OTHER, SHAPE}


def test_sizes_that_no_formula_gives_are_no_less_than_recorded(play):
    chosen = [r for r in rows("qr", "householder") if r["size"] == UPPER]
    seen, unsized, _ = played(play, chosen)
    assert SHAPE in unsized and set(unsized) <= {OTHER, SHAPE}
    for row, events in zip(chosen, seen, strict=True):
        assert max(allocated(events)) >= max(allocated(row["events"])) and len(allocated(events)) > 2


EIGENVALUES = """
import ctypes, json, os
import torch
torch.zeros(1, device="cuda")
from memshim import pretend
solver = ctypes.CDLL("libcuda.so.1")
def wanted(n, dtype):
    if dtype == "float32" and 32 <= n <= 512:
        elements = ctypes.c_int()
        solver.cusolverDnSsyevj_bufferSize(*map(ctypes.c_size_t, (0, 0, 0, n, 0, n, 0)), ctypes.byref(elements), None)
        return 4 * elements.value
    kind = {"float32": 0, "float64": 1, "complex64": 4, "complex128": 5}[dtype]
    device, host = ctypes.c_size_t(), ctypes.c_size_t()
    places = map(ctypes.c_size_t, (0, 0, 0, 0, n, kind, 0, n, 0, 0, 0))
    solver.cusolverDnXsyevd_bufferSize(*places, ctypes.byref(device), ctypes.byref(host))
    return device.value
print(json.dumps({"sizes": [wanted(int(r["size"]), r["dtype"]) for r in json.loads(os.environ["ROWS"])]}))
"""


def test_eigenvalues_of_symmetric_matrices(play):
    """PyTorch calls syevj for float32 of 32 to 512, and syevd for others: newer releases a function that
    was not recorded. syevj is exact; syevd is at most 48 elements more, up to 600."""
    chosen = [r for r in rows("eigh") if int(r["size"]) <= 600]
    sizes = play(EIGENVALUES, "h100-sxm-80gb", environ={"ROWS": json.dumps(chosen)})["sizes"]
    for row, size in zip(chosen, sizes, strict=True):
        want = int(row["events"].split()[3][1:])
        jacobi = row["dtype"] == "float32" and 32 <= int(row["size"]) <= 512
        assert 0 <= size - want <= (0 if jacobi else 48 * ITEM[row["dtype"]]), row


@pytest.mark.parametrize("device", ["a100-sxm-40gb", "l40s"])
def test_another_card_is_not_known(play, device):
    seen, unsized, _ = played(play, rows("cholesky")[-1:], device)
    assert unsized == [OTHER] and allocated(seen[0]) == allocated(rows("cholesky")[-1]["events"])
