"""Models of torchvision, some with fewer layers."""

import torchvision


def resnet18():
    return torchvision.models.resnet18()


def mobilenet():
    return torchvision.models.mobilenet_v3_small()


def squeezenet():
    return torchvision.models.squeezenet1_1()


def vgg11():
    return torchvision.models.vgg11(num_classes=10)


def vit():
    return torchvision.models.VisionTransformer(224, 16, num_layers=3, num_heads=6, hidden_dim=384, mlp_dim=1536)


def swin():
    return torchvision.models.SwinTransformer([4, 4], 48, [1, 1], [3, 6], [7, 7])
