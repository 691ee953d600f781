"""A loop of accelerate on one GPU, with mixed precision, accumulation or a batch size that it finds;
or a model whose weights it keeps on the host or on disk."""

import sys

import accelerate
import tiny
import torch
from transformers import AutoModelForCausalLM


def train(batch_size=4, **settings):
    accelerator = accelerate.Accelerator(**settings)
    model = AutoModelForCausalLM.from_pretrained(tiny.folder(torch.float32))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    rows = [{k: v[0] for k, v in tiny.batch(rows=1, device="cpu").items()} for _ in range(6 * batch_size)]
    batches = torch.utils.data.DataLoader(rows, batch_size=batch_size)
    model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
    for batch in batches:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    print(accelerator.gather(torch.ones(1, device=accelerator.device)).sum().item())
    accelerator.free_memory()


match sys.argv[1]:
    case "find":
        accelerate.utils.find_executable_batch_size(train, starting_batch_size=2048)()
    case "accumulate":
        train(gradient_accumulation_steps=2)
    case "cpu_offload" | "disk_offload" | "dispatch" as how:
        model = AutoModelForCausalLM.from_pretrained(tiny.folder()).eval()
        if how == "cpu_offload":
            accelerate.cpu_offload(model, torch.device("cuda"))
        elif how == "disk_offload":
            accelerate.disk_offload(model, tiny.output(), torch.device("cuda"))
        else:
            places = accelerate.infer_auto_device_map(
                model, max_memory={0: "4MiB", "cpu": "1GiB"}, no_split_module_classes=["LlamaDecoderLayer"]
            )
            model = accelerate.dispatch_model(model, places, offload_dir=tiny.output())
        with torch.no_grad():
            model(**tiny.batch())
            model.generate(tiny.batch(tokens=16)["input_ids"], max_new_tokens=4, do_sample=False)
    case precision:
        train(mixed_precision=precision)
print(torch.cuda.max_memory_allocated())
