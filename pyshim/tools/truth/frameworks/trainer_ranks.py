"""transformers' Trainer on several ranks: its arguments as JSON."""

import json
import sys

import tiny
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

rows = [{"input_ids": list(range(64)), "labels": list(range(64))} for _ in range(128)]
arguments = TrainingArguments(
    tiny.output(),
    **{"per_device_train_batch_size": 4, "max_steps": 3, "report_to": [], "save_strategy": "no", "bf16": True}
    | json.loads(sys.argv[1]),
)
model = AutoModelForCausalLM.from_config(tiny.config())
trainer = Trainer(model, arguments, train_dataset=rows, eval_dataset=rows[:16])
trainer.train()
if arguments.do_eval:
    trainer.evaluate()
print(torch.cuda.max_memory_allocated())
