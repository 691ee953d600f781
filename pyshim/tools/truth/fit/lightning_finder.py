"""Training with the batch size of the command line, or with the one that Lightning finds by halving.

Lightning tries all batch sizes in one process, the first of 2, and keeps the optimizer. Each try
begins with an emptied cache and with the optimizer's state there. In a process that begins with the
batch size, that state is made after the first backward, inside of blocks that this one has left. The
word begun, after a batch size: three steps of 2 rows and an emptied cache come before it, as of a try.

Lightning takes 5 % off what it finds; margin=0.0 shows what it found."""

import gc
import sys

import pytorch_lightning as lightning
import token_model
import torch
from pytorch_lightning.tuner import Tuner

STEPS = 3


class Model(lightning.LightningModule):
    def __init__(self, batch_size, begun=False):
        super().__init__()
        self.batch_size, self.begun, self.net = batch_size, begun, token_model.make()

    def on_train_batch_start(self, batch, index):
        if self.begun and index == STEPS:
            gc.collect()
            torch.cuda.empty_cache()

    def training_step(self, batch, _):
        return self.net(batch).square().mean()

    def train_dataloader(self):
        sizes = [2] * STEPS * self.begun + [self.batch_size] * STEPS
        ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        batches = [list(range(end - size, end)) for end, size in zip(ends, sizes)]
        return torch.utils.data.DataLoader(token_model.Rows(ends[-1]), batch_sampler=batches)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
if len(sys.argv) > 1:
    begun = sys.argv[2:] == ["begun"]
    trainer = lightning.Trainer(accelerator="gpu", devices=1, max_steps=STEPS * (1 + begun), **quiet)
    trainer.fit(Model(int(sys.argv[1]), begun))
else:
    trainer = lightning.Trainer(accelerator="gpu", devices=1, max_steps=STEPS, **quiet)
    found = Tuner(trainer).scale_batch_size(
        Model(2), mode="binsearch", steps_per_trial=STEPS, max_trials=40, margin=0.0
    )
    print("found", found)
