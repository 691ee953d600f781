"""A source whose module is compiled."""

import torch


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.vocabulary = torch.nn.Linear(768, 50257, bias=False, dtype=torch.bfloat16)

    def forward(self, x):
        return self.vocabulary(torch.nn.functional.gelu(x))


def head():
    return torch.compile(Head())
