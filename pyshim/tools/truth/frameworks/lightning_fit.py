"""Lightning's Trainer: DDP, FSDP or ModelParallel (FSDP2 and tensor parallel) over N devices, with a
checkpoint at the end or without one."""

import sys

import pytorch_lightning as lightning
import tiny
import torch
from pytorch_lightning.strategies import FSDPStrategy, ModelParallelStrategy
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

strategy, devices, checkpoint = sys.argv[1], int(sys.argv[2]), sys.argv[3:] == ["checkpoint"]


class Language(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = AutoModelForCausalLM.from_config(tiny.config())

    def configure_model(self):
        if strategy != "model_parallel" or self.device_mesh is None:
            return
        sharded, tensor = self.device_mesh["data_parallel"], self.device_mesh["tensor_parallel"]
        for layer in self.model.model.layers:
            if tensor.size() > 1:
                plan = {"gate_proj": ColwiseParallel(), "up_proj": ColwiseParallel(), "down_proj": RowwiseParallel()}
                parallelize_module(layer.mlp, tensor, plan)
            fully_shard(layer, mesh=sharded)
        fully_shard(self.model, mesh=sharded)

    def training_step(self, batch):
        loss = self.model(**batch).loss
        self.log("loss", loss, sync_dist=True)
        return loss

    def validation_step(self, batch):
        self.log("validation", self.model(**batch).loss, sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4)


kinds = {
    "ddp": "ddp",
    "fsdp": FSDPStrategy(auto_wrap_policy={LlamaDecoderLayer}),
    "model_parallel": ModelParallelStrategy(data_parallel_size=devices // 2 or 1, tensor_parallel_size=min(devices, 2)),
}
rows = [{"input_ids": torch.arange(64), "labels": torch.arange(64)} for _ in range(128)]
trainer = lightning.Trainer(
    accelerator="gpu",
    devices=devices,
    strategy=kinds[strategy],
    precision="bf16-true",
    max_steps=3,
    limit_val_batches=1,
    logger=False,
    default_root_dir=tiny.output(),
    enable_checkpointing=checkpoint,
    enable_progress_bar=False,
)
trainer.fit(Language(), DataLoader(rows, batch_size=4), DataLoader(rows[:32], batch_size=4))
print(trainer.global_rank, trainer.world_size)
