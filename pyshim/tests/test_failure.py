"""What is said of an error in one line."""

import pytest

from memshim.run import failure


def test_triton_that_is_missing_is_named():
    """As PyTorch's compiler says it, and as Python does where the compiler imports it: each wrapped in an error of the compiler's own."""
    exc = pytest.importorskip("torch._inductor.exc")

    def refused(missing):
        try:
            try:
                raise missing
            except BaseException as e:
                raise exc.InductorError(e, None) from e
        except exc.InductorError as e:
            return failure.describe(e)

    said = "got no package triton, want one: torch.compile makes its kernels with it (pip install triton)"
    assert refused(exc.TritonMissing(None)).startswith(said)
    assert refused(ModuleNotFoundError("No module named 'triton'", name="triton")).startswith(said)
    assert refused(RuntimeError("ModuleNotFoundError: No module named 'triton'\n\nSet TORCHDYNAMO_VERBOSE=1")).startswith(said)
    assert "triton, want one" not in refused(ModuleNotFoundError("No module named 'tritonclient'", name="tritonclient"))
    assert "triton, want one" not in refused(RuntimeError("no triton in sight"))
