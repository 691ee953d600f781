"""The models that memspec.yaml names."""

import torchvision


def mobilenet():
    return torchvision.models.mobilenet_v3_small(weights=None)
