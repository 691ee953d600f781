"""Training with the micro-batch of the command line, or with the one that DeepSpeed's autotuner finds.

The autotuner starts each try through its launcher, and stops where a larger batch is hardly faster; a
pretend GPU has no times. Here its search of the micro-batch runs alone, to its end: a try is a forked
process that trains with ZeRO 0, and each larger batch that runs counts as much faster."""

import os
import sys

os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # an import that asks for GPUs would keep CUDA from forks
import deepspeed
import token_model
import torch
from deepspeed.autotuning.autotuner import Autotuner

STEPS, MOST = 3, 1024


def train(batch_size):
    alone = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29512"}
    os.environ.update(alone)
    model = token_model.make()
    settings = {"train_micro_batch_size_per_gpu": batch_size, "zero_optimization": {"stage": 0}}
    engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters()), config=settings)
    for batch in torch.utils.data.DataLoader(token_model.Rows(STEPS * batch_size), batch_size=batch_size):
        engine.backward(engine(batch.cuda()).square().mean())
        engine.step()


class Search(Autotuner):
    """What its search of the micro-batch asks the autotuner for."""

    def __init__(self):
        self.user_config, self.records, self.exp_num_gpus, self.exp_num_nodes = {"gradient_clipping": 0.0}, {}, 1, 1

    def mp_size(self):
        return 1

    def min_train_micro_batch_size_per_gpu(self):
        return 1

    def max_train_micro_batch_size_per_gpu(self):
        return MOST

    def get_gas_from_user_config(self):
        return 1

    def get_val_from_user_args(self, name):
        return None

    def update_records(self, space, exp, value, count):
        self.records.setdefault(space, []).append((exp, value, count))

    def run_ds_config(self, config, name):
        size = config["train_micro_batch_size_per_gpu"]
        if (pid := os.fork()) == 0:
            try:
                train(size)
            except torch.cuda.OutOfMemoryError:
                os._exit(1)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code not in (0, 1):
            raise RuntimeError(f"a micro-batch of {size} ended with {code}")
        return {"ds_config": dict(config)}, 0 if code else 1.1**size


if len(sys.argv) > 1:
    train(int(sys.argv[1]))
else:
    print("found", Search().get_min_max_micro_batch_size(0, 0, MOST)[1])
