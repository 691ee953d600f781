"""Five classifiers, one image, float32, the first pass: what is allocated before it and at its peak, and what is reserved then. Bytes."""

import gc

import cases
import torch
import torchvision

MODELS = ("alexnet", "mobilenet_v3_small", "resnet50", "resnet101", "vgg16")


def first_pass(name):
    model = getattr(torchvision.models, name)().eval().cuda()
    x = torch.randn(1, 3, 224, 224).cuda()
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    base = torch.cuda.memory_allocated()
    with torch.no_grad():
        model(x)
    torch.cuda.synchronize()
    return [base, torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()]


for name in MODELS:  # one a process: what a model before it left in the cache would count
    cases.CASES[name] = lambda name=name: first_pass(name)

if __name__ == "__main__":
    cases.run()
