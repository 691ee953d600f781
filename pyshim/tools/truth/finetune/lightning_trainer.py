"""Lightning's Trainer, with one of its settings that change memory, or Fabric's loop."""

import json
import sys

import lightning
import tiny
import torch
from transformers import AutoModelForCausalLM


class Small(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = AutoModelForCausalLM.from_config(tiny.config())

    def training_step(self, batch, _):
        loss = self.model(**batch).loss
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        self.log("held out", self.model(**batch).loss)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-4)
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)]


rows = [{k: v[0] for k, v in tiny.batch(rows=1, device="cpu").items()} for _ in range(32)]
batches = torch.utils.data.DataLoader(rows, batch_size=4, num_workers=0, pin_memory=True)
if sys.argv[1] == "fabric":
    fabric = lightning.Fabric(accelerator="cuda", devices=1, precision="bf16-mixed")
    fabric.launch()
    module = Small()
    model, optimizer = fabric.setup(module.model, torch.optim.AdamW(module.parameters(), lr=1e-4))
    for batch in fabric.setup_dataloaders(batches):
        fabric.backward(model(**batch).loss)
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
else:
    trainer = lightning.Trainer(
        **{"max_epochs": 1, "default_root_dir": tiny.output(), "logger": False} | json.loads(sys.argv[1])
    )
    trainer.fit(Small(), batches, batches)
