"""Programs whose allocator events are compared: with and without values, among others. Each case
returns its events in order."""

import cases
import torch
from cases import case


def recorded(run):
    """Every event of the allocator while run() runs: action, size, and where in its segment."""
    torch.cuda.memory._record_memory_history(stacks="python", context=None, max_entries=1 << 20)
    run()
    torch.cuda.synchronize()
    found = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(enabled=None)
    base = min((s["address"] for s in found["segments"]), default=0)
    events = [
        [e["action"], e["size"], e.get("addr", base) - base]
        for t in found["device_traces"]
        for e in t
        if e["action"] not in ("snapshot", "user_defined")
    ]
    return {
        "events": events,
        "allocated": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.max_memory_reserved(),
    }


def steps(model, loss_of, count=3, optimizer=torch.optim.AdamW, **autocast):
    opt = optimizer(model.parameters(), lr=1e-3)
    for _ in range(count):
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cuda", **{"enabled": False, "dtype": torch.float16} | autocast):
            loss = loss_of(model)
        loss.backward()
        opt.step()


@case
def convolutions():
    import torchvision

    def run():
        x, y = torch.randn(8, 3, 64, 64, device="cuda"), torch.randint(0, 1000, (8,), device="cuda")
        steps(torchvision.models.resnet18().cuda(), lambda m: torch.nn.functional.cross_entropy(m(x), y), enabled=True)

    return recorded(run)


@case
def channels_last():
    import torchvision

    def run():
        x = torch.randn(4, 3, 64, 64, device="cuda").to(memory_format=torch.channels_last)
        with torch.no_grad():
            torchvision.models.mobilenet_v3_small().cuda().eval().to(memory_format=torch.channels_last)(x)

    return recorded(run)


@case
def transformer():
    def run():
        layer = torch.nn.TransformerEncoderLayer(256, 4, 512, dropout=0.1, batch_first=True)
        model = torch.nn.TransformerEncoder(layer, 2).cuda()
        x = torch.randn(4, 64, 256, device="cuda")
        lengths = torch.tensor([64, 50, 3, 20])
        mask = torch.arange(64)[None, :].cuda() >= lengths[:, None].cuda()
        steps(model, lambda m: m(x, src_key_padding_mask=mask).float().pow(2).mean(), optimizer=torch.optim.SGD)

    return recorded(run)


@case
def scaled():
    def run():
        model = torch.nn.Sequential(*[torch.nn.Linear(300, 300) for _ in range(3)]).cuda()
        opt, scaler = torch.optim.Adam(model.parameters(), fused=True), torch.amp.GradScaler("cuda")
        for _ in range(3):
            with torch.autocast("cuda", torch.float16):
                loss = model(torch.rand(32, 300, device="cuda")).float().mean()
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()

    return recorded(run)


@case
def checkpointed():
    from torch.utils.checkpoint import checkpoint

    def run():
        model = torch.nn.ModuleList(
            [
                torch.nn.Sequential(torch.nn.Linear(200, 800), torch.nn.GELU(), torch.nn.Linear(800, 200))
                for _ in range(3)
            ]
        ).cuda()

        def loss(m):
            x = torch.rand(50, 200, device="cuda")
            for reentrant, part in zip((True, False, False), m):
                x = checkpoint(part, x.requires_grad_(), use_reentrant=reentrant)
            return x.sum()

        steps(model, loss)

    return recorded(run)


@case
def out_of_memory_and_on():
    """A program that catches it and goes on with less."""

    def run():
        free = torch.cuda.mem_get_info()[0]
        for n in (free, free // 2):
            try:
                x = torch.empty(n, dtype=torch.uint8, device="cuda") + 1
                del x
            except torch.OutOfMemoryError:
                torch.cuda.empty_cache()
                torch.zeros(1 << 20, device="cuda").add_(1)

    return recorded(run)


if __name__ == "__main__":
    cases.run()
