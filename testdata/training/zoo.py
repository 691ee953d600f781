import torchvision
def resnet(): return torchvision.models.resnet50()
