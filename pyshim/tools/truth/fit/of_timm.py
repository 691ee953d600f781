"""Models of timm."""

import timm


def resnet10t():
    return timm.create_model("resnet10t")


def convnext():
    return timm.create_model("convnext_atto")


def mixer():
    return timm.create_model("mixer_s32_224", num_classes=10)


def vit_tiny():
    return timm.create_model("vit_tiny_patch16_224", depth=3)
