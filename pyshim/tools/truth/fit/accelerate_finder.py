"""Training with the batch size of the command line, or with the one that accelerate finds. In its
default it leaves a tenth out each time that memory does not suffice.

It empties PyTorch's cache while the error still holds what the failed try had, so that the next try
begins with that, cached in blocks of other sizes. The word emptied: each try empties the cache."""

import sys

import accelerate
import token_model
import torch

STEPS = 3


def train(batch_size):
    if "emptied" in sys.argv:
        torch.cuda.empty_cache()
    accelerator = accelerate.Accelerator()
    model = token_model.make()
    optimizer = torch.optim.AdamW(model.parameters())
    batches = torch.utils.data.DataLoader(token_model.Rows(STEPS * batch_size), batch_size=batch_size)
    model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
    for batch in batches:
        accelerator.backward(model(batch).square().mean())
        optimizer.step()
        optimizer.zero_grad()
    return batch_size


if sys.argv[1:] not in ([], ["emptied"]):
    train(int(sys.argv[1]))
else:
    print("found", accelerate.utils.find_executable_batch_size(train, starting_batch_size=1024)())
