"""Convolutions where cuDNN does not answer without a device: who answers in its place."""

import subprocess
from pathlib import Path

import pytest

from memshim.pretend import build, convolutions, support

CALL = {
    "op": "conv",
    "dtype": "float16",
    "input": [2, 8, 20, 30],
    "input_strides": [4800, 600, 30, 1],
    "weight": [16, 4, 3, 5],
    "weight_strides": [60, 15, 5, 1],
    "padding": [1, 2],
    "stride": [2, 1],
    "dilation": [1, 3],
    "groups": 2,
}

OLD = "unsigned long cudnnGetVersion(void) { return 90100; }\n" + "".join(
    f"int cudnnBackend{name}(void) {{ return 1; }}\n"
    for name in ("CreateDescriptor", "SetAttribute", "GetAttribute", "Finalize", "DestroyDescriptor")
)

ASKED = """
import ctypes, json, sys
from memshim.pretend import build, convolutions
from memshim.workspace import cudnn

ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
ours = ctypes.CDLL(build.LIBRARY)
seen = []

def answer(ordinal, direction, dtype, dims, numbers):
    seen.append(convolutions.call_of(direction, dtype, dims, numbers))
    return 4096

callback = convolutions.CALLBACK(answer)
library = cudnn.Library.of(ours)
out = {}
for direction in ("forward", "dgrad", "wgrad"):
    ours.memspec_pretend_convolutions(callback)
    out[direction] = list(library.plans(CALL | {"direction": direction}, ctypes.c_void_p(0)))[:2], seen.pop()
ours.memspec_pretend_convolutions(None)
try:
    plan = library.configurations(library.graph(CALL | {"direction": "forward"}), ctypes.c_void_p(0), cudnn.INSTANT)[0]
    library.workspace(plan, ctypes.c_void_p(0))
except cudnn.Refused as e:
    out["nobody"] = str(e)
graph = library._create(cudnn.OPERATION_GRAPH)
try:
    library._finalize(graph, "graph")
except cudnn.Refused as e:
    out["no convolution"] = str(e)
print(json.dumps(out))
"""


def test_a_cudnn_before_9_8_is_not_asked(play, tmp_path):
    """PyTorch's requests for plans get one whose workspace the Python side says, of the call as
    PyTorch has it in each direction, then one without any; what nobody answers is an error."""
    (tmp_path / "old.c").write_text(OLD)
    old = tmp_path / "libcudnn.so.9"
    command = [
        build.compiler(),
        "-shared",
        "-fPIC",
        "-Wl,-soname,libcudnn.so.9",
        "-o",
        str(old),
        str(tmp_path / "old.c"),
    ]
    subprocess.run(command, check=True)
    seen = play(f"CALL = {CALL}\n{ASKED}", "t4", str(old), fresh=True)
    for direction in ("forward", "dgrad", "wgrad"):
        assert seen[direction] == [[[0, 4096], [1, 0]], CALL | {"direction": direction}], direction
    assert seen["nobody"].startswith("finalising the plan: cudnnStatus_t 3000")
    assert seen["no convolution"] == "finalising the graph: cudnnStatus_t 3000"
    assert "a graph without a convolution before 9.8 of cuDNN" in seen.stderr
    assert "a convolution before 9.8, whose workspace nobody has by formula of cuDNN" in seen.stderr


def test_the_formula_is_memspecs(found_binary):
    """Each different call is asked once."""
    formula = convolutions.Formula()
    card = {"compute_capability": "8.6", "sms": 28, "allow_tf32": True}
    found = [formula.ask(card | CALL | {"direction": d}) for d in ("forward", "wgrad", "forward")]
    assert found[0] == found[2] and min(found) >= 0 and len(formula.known) == 2
    with pytest.raises((OSError, ValueError)):
        formula.ask(card | CALL | {"direction": "sideways"})


def folder(at: Path, version: str) -> Path:
    major, minor, patch = version.split(".")
    (at / "include").mkdir(parents=True)
    (at / "lib").mkdir()
    (at / "include" / "cudnn_version.h").write_text(
        f"#define CUDNN_MAJOR {major}\n#define CUDNN_MINOR {minor}\n#define CUDNN_PATCHLEVEL {patch}\n"
    )
    (at / "lib" / "libcudnn.so.9").touch()
    return at / "lib" / "libcudnn.so.9"


@pytest.mark.parametrize(
    "torch, own, named, found",
    [
        ("2.6.0", "9.1.0", "9.8.0", True),
        ("2.7.1", "9.5.1", "9.10.2", True),
        ("2.6.0", "9.1.0", "9.5.1", False),  # it does not answer either
        ("2.6.0", "9.1.0", "10.1.0", False),  # another major release
        ("2.6.0", "9.10.2", "9.8.0", False),  # somebody put a newer one in the place of torch's
        ("2.8.0", "9.10.2", "9.12.0", False),  # torch's answers
    ],
)
def test_which_cudnn_answers_in_the_place_of_another(tmp_path, monkeypatch, torch, own, named, found):
    monkeypatch.setattr(convolutions, "SYSTEM", ())
    here = support.Torch(torch, tmp_path / "site" / "torch")
    folder(tmp_path / "site" / "nvidia" / "cudnn", own)
    library = folder(tmp_path / "new" / "nvidia" / "cudnn", named)
    for given in (tmp_path / "new", library.parent, library.parent.parent):
        assert convolutions.stand_in(here, {convolutions.FOLDER: str(given)}) == (library if found else None)
    assert convolutions.stand_in(here, {}) is None


def test_a_folder_without_a_cudnn_is_an_error(tmp_path):
    with pytest.raises(support.Unsupported, match="MEMSPEC_CUDNN=.* without libcudnn.so.9"):
        convolutions.stand_in(support.Torch("2.6.0", tmp_path), {convolutions.FOLDER: str(tmp_path)})


def test_a_version_by_the_files_name(tmp_path):
    (tmp_path / "libcudnn.so.9.12.1").touch()
    (tmp_path / "libcudnn.so.9").symlink_to("libcudnn.so.9.12.1")
    assert convolutions.version(tmp_path / "libcudnn.so.9") == (9, 12, 1)
    (tmp_path / "libother.so").touch()
    assert convolutions.version(tmp_path / "libother.so") is None
