"""What is in gpu/ runs on a pretend GPU: a separate process for each file, since the device is
there before torch is imported."""

import sys
from pathlib import Path

import pretended
import pytest
import warm

FILES = sorted((Path(__file__).parent / "gpu").glob("test_*.py"))


@pytest.mark.skipif(bool(pretended.os.environ.get(pretended.MARK)), reason="this is such a process")
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_on_a_pretend_gpu(file):
    if why := pretended.missing():
        pytest.skip(why)
    environment = pretended.environment()
    for name in [n for n in environment if n.startswith("PYTEST_")]:
        del environment[name]
    p = warm.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)], env=environment, timeout=600
    )
    if p.returncode:
        pytest.fail(
            f"{p.stdout}{p.stderr}\nreproduce: python pyshim/tests/pretended.py {file.relative_to(pretended.ROOT)}",
            pytrace=False,
        )
