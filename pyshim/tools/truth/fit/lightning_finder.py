"""Training with the batch size of the command line, or with the one that Lightning finds by halving."""

import sys

import pytorch_lightning as lightning
import token_model
import torch
from pytorch_lightning.tuner import Tuner

STEPS = 3


class Model(lightning.LightningModule):
    def __init__(self, batch_size):
        super().__init__()
        self.batch_size, self.net = batch_size, token_model.make()

    def training_step(self, batch, _):
        return self.net(batch).square().mean()

    def train_dataloader(self):
        return torch.utils.data.DataLoader(token_model.Rows(STEPS * self.batch_size), batch_size=self.batch_size)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
trainer = lightning.Trainer(accelerator="gpu", devices=1, max_steps=STEPS, **quiet)
if len(sys.argv) > 1:
    trainer.fit(Model(int(sys.argv[1])))
else:
    model = Model(2)
    print("found", Tuner(trainer).scale_batch_size(model, mode="binsearch", steps_per_trial=STEPS, max_trials=40))
