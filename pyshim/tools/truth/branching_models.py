"""Models whose compiled code does more than run straight on: it chooses, loops, reads a value,
makes what a value says, calls an operator of the model's own."""

from __future__ import annotations

from typing import Any


def branch() -> Any:
    import torch
    from torch import nn

    class Branch(nn.Module):
        """One way is a product, the other two."""

        def __init__(self) -> None:
            super().__init__()
            self.wide, self.down, self.up = nn.Linear(64, 128), nn.Linear(64, 512), nn.Linear(512, 128)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x.relu()
            return (
                torch.cond(
                    x.sum() > 0, lambda x: self.wide(x).sin(), lambda x: self.up(self.down(x).tanh()).cos(), (x,)
                )
                + 1
            )

    return Branch()


def loop() -> Any:
    import torch
    from torch import nn
    from torch._higher_order_ops.while_loop import while_loop

    class Loop(nn.Module):
        """Rounds of one product."""

        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            n = torch.zeros((), dtype=torch.int64, device=x.device)
            return while_loop(lambda n, x: n < 5, lambda n, x: (n + 1, self.one(x).relu()), (n, x))[1] * 2

    return Loop()


def read() -> Any:
    import torch
    from torch import nn

    class Read(nn.Module):
        """A value that is only computed with."""

        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Linear(64, 128)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.one(x) * x.sum().item()

    return Read()


def rows() -> Any:
    import torch
    from torch import nn

    class Rows(nn.Module):
        """Those rows that the data chooses."""

        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Linear(64, 128)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.one(x[(x[:, 0] > 0).nonzero().squeeze(1)]).relu().sum(0)

    return Rows()


def counted() -> Any:
    import torch
    from torch import nn

    class Counted(nn.Module):
        """As many rows as a value says, up to eight."""

        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Linear(64, 128)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            n = x.sum().to(torch.int64).item()
            torch._check(n >= 0)
            torch._check(n <= 8)
            return self.one(x), (x.new_zeros(n, 64) + 1).relu()

    return Counted()


def own_operator() -> Any:
    import torch
    from torch import nn

    @torch.library.custom_op("memspec_sample::scale", mutates_args=(), schema="(Tensor x, float by) -> Tensor")
    def scale(x: torch.Tensor, by: float) -> torch.Tensor:
        return x * by

    @torch.library.custom_op(
        "memspec_sample::pair", mutates_args=(), schema="(Tensor x, int times) -> (Tensor, Tensor)"
    )
    def pair(x: torch.Tensor, times: int) -> tuple[torch.Tensor, torch.Tensor]:
        return x * times, x[0] * times

    scale.register_fake(lambda x, by: torch.empty_like(x))
    pair.register_fake(lambda x, times: (torch.empty_like(x), torch.empty_like(x[0])))

    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Linear(64, 128)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            first, second = torch.ops.memspec_sample.pair(torch.ops.memspec_sample.scale(self.one(x), 2.0).relu(), 3)
            return first.sin() + second

    return Own()
