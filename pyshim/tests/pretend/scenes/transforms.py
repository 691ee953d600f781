"""Fourier transforms of rows of testdata/measured/h100-fft.csv: the allocator's events of each, in
that file's words. ROWS has the rows, as JSON."""

import json
import os

import cases
import torch
from cases import case

from memshim import pretend


def input_of(name, dtype, batch, sizes):
    real = {torch.complex64: torch.float32, torch.complex128: torch.float64}[dtype]
    if name.startswith("irfft"):
        sizes = [*sizes[:-1], sizes[-1] // 2 + 1]
    return torch.zeros(batch, *sizes, device="cuda", dtype=real if name.startswith("rfft") else dtype)


def seen(row):
    name, sizes = row["transform"], [int(n) for n in row["sizes"].split("x")]
    x = input_of(name, getattr(torch, row["dtype"]), int(row["batch"]), sizes)
    size = {"irfft": {"n": sizes[0]}, "irfft2": {"s": sizes}, "fftn": {"dim": (1, 2, 3)}}.get(name, {})
    return cases.events_of(lambda: getattr(torch.fft, name)(x, **size))


@case
def rows():
    return [seen(row) for row in json.loads(os.environ["ROWS"])]


@case
def notes():
    report = pretend.report()
    return {"unsized": [c.name for c in report.unsized], "estimated": [c.name for c in report.estimated]}


if __name__ == "__main__":
    cases.run()
