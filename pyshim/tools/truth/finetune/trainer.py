"""transformers' Trainer with one of its switches that change memory."""

import json
import sys

import tiny
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

rows = [{"input_ids": list(range(64)), "labels": list(range(64))} for _ in range(16)]
model = AutoModelForCausalLM.from_pretrained(tiny.folder(torch.float32))
arguments = TrainingArguments(
    tiny.output(),
    **{"per_device_train_batch_size": 4, "max_steps": 3, "report_to": [], "save_strategy": "no"}
    | json.loads(sys.argv[1]),
)
trainer = Trainer(model, arguments, train_dataset=rows, eval_dataset=rows)
trainer.train()
if arguments.do_eval:
    trainer.evaluate()
print(torch.cuda.max_memory_allocated())
