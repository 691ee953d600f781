"""The model that memspec.yaml names. Only a measured run needs it."""

import torchvision


def resnet50():
    return torchvision.models.resnet50(weights=None)
