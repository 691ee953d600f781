"""transformers' Trainer with one of its switches that change memory."""

import json
import sys

import tiny
import torch
from transformers import AutoModelForCausalLM, DataCollatorForSeq2Seq, Trainer, TrainingArguments

given = json.loads(sys.argv[1])
grouped = given.get("train_sampling_strategy") == "group_by_length"  # rows of one length need no groups
lengths = [16 + 16 * (i % 4) if grouped else 64 for i in range(16)]
rows = [{"input_ids": list(range(n)), "labels": list(range(n))} for n in lengths]
model = AutoModelForCausalLM.from_pretrained(tiny.folder(torch.float32))
arguments = TrainingArguments(
    tiny.output(),
    **{"per_device_train_batch_size": 4, "max_steps": 3, "report_to": [], "save_strategy": "no"} | given,
)
padded = DataCollatorForSeq2Seq(tiny.tokenizer()) if grouped else None
trainer = Trainer(model, arguments, train_dataset=rows, eval_dataset=rows, data_collator=padded)
trainer.train()
if arguments.do_eval:
    trainer.evaluate()
print(torch.cuda.max_memory_allocated())
