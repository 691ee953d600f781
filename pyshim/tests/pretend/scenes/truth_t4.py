"""Training steps that were measured on a Tesla T4 (testdata/pretend/measured.csv): 16-bit autocast,
AdamW, no scaler, gradients set to none, the second step. All in one process and in the order in
which they were measured, behind what was measured before them: what that left in the allocator's
cache and its workspaces counts."""

import importlib.util

import cases
import torch
from torch import nn
from torch.nn import functional as F


def warm_up():
    a = torch.randn(256, 256, device="cuda")
    (a @ a).sum().item()
    conv = torch.nn.Conv2d(3, 16, 3, padding=1).cuda()
    conv(torch.randn(1, 3, 64, 64, device="cuda")).sum().backward()


def second_step(model, loss_of):
    """[allocated, reserved] at its peak."""
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-5)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16):
            loss, *held = loss_of(model)  # what the measured step's names hold through the backward pass
        loss.backward()
        optimizer.step()

    step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    return [torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()]


class Layer(nn.Module):
    """Of a transformer: norms first, four projections without a fused one."""

    def __init__(self, width, heads, hidden, dropout, fused):
        super().__init__()
        self.heads, self.fused, bias = heads, fused, dropout > 0
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.projections = nn.ModuleList(nn.Linear(width, width, bias=bias) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, hidden, bias=bias), nn.Linear(hidden, width, bias=bias)
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()

    def attend(self, x):
        batch, length, width = x.shape
        x = self.norms[0](x)
        q, k, v = (project(x).view(batch, length, self.heads, -1).transpose(1, 2) for project in self.projections[:3])
        if self.fused:
            out = F.scaled_dot_product_attention(q, k, v)
        else:
            out = self.dropout(torch.softmax((q @ k.transpose(-2, -1)) / (width // self.heads) ** 0.5, -1)) @ v
        return self.projections[3](out.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.dropout(self.attend(x))
        return x + self.dropout(self.narrow(F.gelu(self.wide(self.norms[1](x)))))


BEFORE = (  # layers, width, heads, hidden, batch, length, dropout, fused attention
    (4, 512, 8, 2048, 4, 256, 0.0, False),
    (6, 768, 12, 3072, 8, 512, 0.1, False),
    (6, 768, 12, 3072, 4, 1024, 0.0, True),
    (12, 768, 12, 3072, 2, 512, 0.0, False),
    (4, 1024, 16, 4096, 2, 1024, 0.0, True),
)


def stack(layers, width, heads, hidden, batch, length, dropout, fused):
    model = nn.Sequential(*[Layer(width, heads, hidden, dropout, fused) for _ in range(layers)]).cuda()
    x = torch.randn(batch, length, width, device="cuda")
    return second_step(model, lambda m: (m(x).float().pow(2).mean(),))


def image_model(batch):
    import torchvision

    model = torchvision.models.resnet50().cuda()
    x, y = torch.randn(batch, 3, 224, 224, device="cuda"), torch.randint(0, 1000, (batch,), device="cuda")
    return second_step(model, lambda m: (F.cross_entropy(m(x), y),))


def text_model(name, batch, length):
    import transformers as t

    model = {
        "gpt2": lambda: t.AutoModelForCausalLM.from_config(t.GPT2Config()),
        "bert-base-uncased": lambda: t.AutoModel.from_config(t.BertConfig()),
        "distilbert-base-uncased": lambda: t.AutoModel.from_config(t.DistilBertConfig()),
    }[name]().cuda()
    ids = torch.randint(0, model.config.vocab_size - 1, (batch, length), device="cuda")

    def loss_of(m):
        out = m(input_ids=ids, labels=ids) if name == "gpt2" else m(input_ids=ids)
        return out.loss if name == "gpt2" else out.last_hidden_state.float().pow(2).mean(), out

    return second_step(model, loss_of)


TEXT = {
    f"{name} {batch}x{length}": (text_model, name, batch, length)
    for name in ("gpt2", "distilbert-base-uncased", "bert-base-uncased")
    for batch, length in ((4, 128), (8, 256))
}
IMAGES = {f"resnet50 {batch}": (image_model, batch) for batch in (16, 32)}
START = {"warm up": (warm_up,)} | {f"stack {i}": (stack, *sizes) for i, sizes in enumerate(BEFORE)}


def run(f, *arguments):
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return f(*arguments)


if __name__ == "__main__":
    for row, what in (START | TEXT | IMAGES).items():
        cases.CASES[row] = lambda what=what: run(*what)
    if not importlib.util.find_spec("transformers"):
        for row in TEXT:
            del cases.CASES[row]
    cases.run()
