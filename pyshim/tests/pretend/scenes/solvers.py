"""Solvers and decompositions, of one matrix and of three: cuSOLVER's and cuBLAS's calls. And the calls
of rows of testdata/measured/h100-solver.csv, which ROWS has as JSON: the allocator's events of each,
in that file's words."""

import json
import os

import cases
import torch
from cases import case

from memshim import pretend


@case
def calls():
    linalg, out = torch.linalg, {}
    for name, sizes in (("one", (8, 8)), ("three", (3, 8, 8)), ("large", (600, 600))):
        for dtype in (torch.float32, torch.complex128):
            x = torch.randn(sizes, device="cuda", dtype=dtype)
            for what, call in {
                "svd": lambda: linalg.svd(x),
                "gesvd": lambda: linalg.svd(x, driver="gesvd"),
                "gesvda": lambda: linalg.svd(x, driver="gesvda"),
                "eigh": lambda: linalg.eigh(x),
                "qr": lambda: linalg.qr(x),
                "lu": lambda: linalg.lu(x),
                "cholesky": lambda: linalg.cholesky(x),
                "cholesky_solve": lambda: torch.cholesky_solve(x, x),
                "solve": lambda: linalg.solve(x, x),
                "inv": lambda: linalg.inv(x),
                "det": lambda: linalg.det(x),
                "lstsq": lambda: linalg.lstsq(x, x),
                "pinv": lambda: linalg.pinv(x),
                "ldl": lambda: linalg.ldl_solve(*linalg.ldl_factor(x), x),
                "ormqr": lambda: torch.ormqr(*torch.geqrf(x), x),
                "lowrank": lambda: torch.svd_lowrank(x, q=4),
                "norm": lambda: linalg.matrix_norm(x, 2),
            }.items():
                try:
                    call()
                    out[f"{what} of {name}, {dtype}"] = "ran"
                except RuntimeError as e:
                    out[f"{what} of {name}, {dtype}"] = str(e).split("\n")[0]
    return out


RECORDED = {
    "svd": lambda x: torch.linalg.svd(x),
    "svdvals": lambda x: torch.linalg.svdvals(x),
    "gesvd": lambda x: torch.linalg.svd(x, driver="gesvd"),
    "eigh": lambda x: torch.linalg.eigh(x),
    "eigvalsh": lambda x: torch.linalg.eigvalsh(x),
    "qr": lambda x: torch.linalg.qr(x),
    "lu_factor": lambda x: torch.linalg.lu_factor(x),
    "cholesky": lambda x: torch.linalg.cholesky(x),
    "lstsq": lambda x, b: torch.linalg.lstsq(x, b),
    "ldl": lambda x: torch.linalg.ldl_factor(x),
    "ormqr": lambda x, tau, y: torch.ormqr(x, tau, y),
    "householder": lambda x, tau: torch.linalg.householder_product(x, tau),
    "lowrank": lambda x: torch.svd_lowrank(x, q=4),
}


@case
def recorded():
    out = []
    for row in json.loads(os.environ.get("ROWS", "[]")):
        call, n = RECORDED[row["call"]], int(row["size"])
        shapes = ((n, n), (n, 2) if row["call"] == "lstsq" else (n,), (n, n))
        given = [torch.randn(s, device="cuda", dtype=getattr(torch, row["dtype"])) for s in shapes]
        out.append(cases.events_of(lambda: call(*given[: call.__code__.co_argcount])))
    return out


@case
def wrong_pivots():
    """LAPACK checks none: a copy of this call on the CPU would write outside of its memory."""
    x = torch.ones(8, 8, device="cuda")
    return list(torch.linalg.ldl_solve(x, torch.full((8,), 1 << 20, dtype=torch.int32, device="cuda"), x).shape)


@case
def svd():
    return [list(t.shape) for t in torch.linalg.svd(torch.zeros(8, 8, device="cuda"))]


@case
def unsized():
    return [c.name for c in pretend.report().unsized]


@case
def estimated():
    return [c.name for c in pretend.report().estimated]


@case
def refused():
    return [c.name for c in pretend.report().refused]


if __name__ == "__main__":
    cases.run()
