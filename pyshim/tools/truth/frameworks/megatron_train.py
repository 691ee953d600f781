"""Megatron-core's GPT without its CUDA extensions: tensor parallel 2, two pipeline
stages, data parallel over the rest with the distributed optimizer, 1F1B of four microbatches."""

import os

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer import TransformerConfig
from megatron.core.transformer.module import Float16Module

TOKENS, VOCABULARY, STEPS = 128, 1024, 3
STAGES = 2 if int(os.environ["WORLD_SIZE"]) >= 4 else 1

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
parallel_state.initialize_model_parallel(tensor_model_parallel_size=2, pipeline_model_parallel_size=STAGES)
model_parallel_cuda_manual_seed(1)
config = TransformerConfig(
    num_layers=4,
    hidden_size=128,
    num_attention_heads=4,
    bf16=True,
    params_dtype=torch.bfloat16,
    pipeline_dtype=torch.bfloat16,
    tensor_model_parallel_size=2,
    pipeline_model_parallel_size=STAGES,
    gradient_accumulation_fusion=False,
    masked_softmax_fusion=False,
)
config.finalize_model_grads_func = finalize_model_grads
first, last = parallel_state.is_pipeline_first_stage(), parallel_state.is_pipeline_last_stage()
model = GPTModel(
    config,
    get_gpt_layer_local_spec(),
    VOCABULARY,
    TOKENS,
    pre_process=first,
    post_process=last,
    share_embeddings_and_output_weights=False,
    position_embedding_type="rope",
).cuda()
parallel = DistributedDataParallelConfig(use_distributed_optimizer=True)
model = DistributedDataParallel(config, parallel, Float16Module(config, model))
optimizer = get_megatron_optimizer(
    OptimizerConfig(optimizer="adam", lr=1e-4, bf16=True, use_distributed_optimizer=True), [model]
)


def forward(rows, model):
    tokens = next(rows)
    out = model(tokens, torch.arange(TOKENS, device="cuda").expand_as(tokens), None, labels=tokens)
    return out, loss


def loss(out):
    mean = out.float().mean()
    return mean, {"loss": mean.detach()}


for _ in range(STEPS):
    rows = iter([torch.randint(VOCABULARY, (2, TOKENS), device="cuda") for _ in range(4)])
    model.zero_grad_buffer()
    optimizer.zero_grad()
    get_forward_backward_func()(
        forward_step_func=forward,
        data_iterator=rows,
        model=model,
        num_microbatches=4,
        seq_length=TOKENS,
        micro_batch_size=2,
        forward_only=False,
    )
    optimizer.step()
