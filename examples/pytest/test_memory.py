"""Memory budgets beside the cases of memspec.yaml. Copy this folder beside your own tests and `pip install memshim`.

    pytest                                   every case, predicted; run for real where this machine has its GPU
    pytest -k 'mobilenet and not B:64'       -k takes no =, so write B:64
    pytest --memspec-require-gpu             what was not measured on its GPU fails
"""

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture
def model():
    models = pytest.importorskip("models")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return models.mobilenet().eval().to(device)


# Judged on a pretend T4, in a separate process: the CUDA allocator's peaks while the test runs. Without on= it is judged where there is a GPU.
@pytest.mark.memory_budget(allocated="64MiB", reserved="128MiB", on="t4")
def test_one_image(model):
    with torch.no_grad():
        model(torch.zeros(1, 3, 224, 224, device=next(model.parameters()).device))


# A part of a test may have its own budget, here beside the mark that says where: it must fit a T4. delta is what the part adds.
@pytest.mark.memory_budget(on="t4")
def test_nothing_is_kept(model, memshim):
    x = torch.zeros(1, 3, 64, 64, device=next(model.parameters()).device)
    with torch.no_grad(), memshim.budget(delta="16MiB"):
        model(x)
