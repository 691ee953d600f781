"""Calls of the libraries that are not replaced: each is an error, and the process goes on."""

import cases
import torch
from cases import case


def zeros(*sizes, dtype=torch.float32):
    return torch.zeros(*sizes, device="cuda", dtype=dtype)


def tried(**calls):
    out = {}
    for name, call in calls.items():
        try:
            call()
            out[name] = "ran"
        except RuntimeError as e:
            out[name] = str(e)
    return out


@case
def cusparse():
    x = zeros(8, 8)
    return tried(
        coo=lambda: torch.sparse.mm(torch.eye(8).to_sparse().to("cuda"), x),
        csr=lambda: torch.eye(8).to_sparse_csr().to("cuda") @ x,
    )


@case
def goes_on():
    return (zeros(4) + 1).sum().item()


if __name__ == "__main__":
    cases.run()
