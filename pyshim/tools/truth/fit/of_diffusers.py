"""U-Nets of diffusers with few channels."""

import torch
from diffusers import UNet2DConditionModel, UNet2DModel


class Fixed(torch.nn.Module):
    """A U-Net at one time step."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x, text=None):
        more = () if text is None else (text,)
        return self.net(x, 10, *more).sample


def unet():
    return Fixed(
        UNet2DModel(
            sample_size=64,
            layers_per_block=1,
            block_out_channels=(32, 64),
            down_block_types=("DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        )
    )


def unet_of_text():
    return Fixed(
        UNet2DConditionModel(
            sample_size=32,
            layers_per_block=1,
            block_out_channels=(32, 64),
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
            cross_attention_dim=128,
        )
    )
