"""A loop as timm's train script does it: mixed precision with its scaler, an average of the weights,
mixup, clipping, with one of its optimizers or with gradient checkpointing."""

import sys

import timm
import timm.data
import timm.loss
import timm.optim
import timm.scheduler
import timm.utils
import torch

model = timm.create_model("vit_tiny_patch16_224", num_classes=10, img_size=64, drop_path_rate=0.1).cuda()
if sys.argv[1] == "checkpointing":
    model.set_grad_checkpointing()
optimizer = timm.optim.create_optimizer_v2(model, opt="adamw" if sys.argv[1] == "checkpointing" else sys.argv[1])
average = timm.utils.ModelEmaV3(model, decay=0.99)
scaler = timm.utils.NativeScaler()
mixup = timm.data.Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=10)
loss_of = timm.loss.SoftTargetCrossEntropy().cuda()
schedule, _ = timm.scheduler.create_scheduler_v2(optimizer, num_epochs=1)
for step in range(3):
    images, labels = mixup(torch.randn(8, 3, 64, 64).cuda(), torch.arange(8).cuda())
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_of(model(images), labels)
    scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters())
    optimizer.zero_grad()
    average.update(model)
    schedule.step_update(step)
print(torch.cuda.max_memory_allocated())
