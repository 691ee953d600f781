"""Which allocations are libraries' workspace: by their C++ stacks, or by those of the same lines."""

import pytest

from memshim.allocator.events import Event
from memshim.attribution import generated_code, library_workspace
from memshim.attribution.operators import of_library
from memshim.frames import Frame, Stacks

TENSOR, LIBRARY, LINE = ("a.so", 0, "at::empty_generic"), ("b.so", 0, "cublas::run"), ("train.py", 3, "step")


class Region:
    def __init__(self, *events, stacks):
        self.events, self.stacks = events, stacks


@pytest.fixture
def stacks():
    return Stacks()


@pytest.fixture
def known():
    return library_workspace.Workspace()


def alloc(stacks, *frames, size=8, **more):
    return Event("alloc", 1, size, stack=stacks.add(list(frames)), **more)


@pytest.mark.parametrize(
    "names, library",
    [
        (["at::empty_generic", "at::add"], False),
        (["cublas::run"], True),
        (["step"], None),
        ([], None),
        (["step", "at::resize_bytes_cuda"], False),
    ],
)
def test_a_stack_says_whether_a_tensor_asked(names, library):
    assert library_workspace.of_library(iter(names)) is library
    assert of_library([Frame("", 0, n) for n in names]) is bool(library)


def test_an_allocation_of_the_same_lines_and_size_is_known_without_its_stack(known, stacks):
    assert known.learn(Region(alloc(stacks, LIBRARY, LINE), stacks=stacks)) is True
    assert known.kind(alloc(stacks, LINE)) is True
    for other in (
        alloc(stacks, LINE, size=16),
        alloc(stacks, LINE, tag="other"),
        alloc(stacks, LINE, stream=1),
        alloc(stacks, LINE, forward=stacks.add([("model.py", 4, "forward")])),
        alloc(stacks, ("train.py", 4, "step")),
        alloc(stacks),
    ):
        assert known.kind(other) is None


def test_a_stack_that_is_there_says_it_itself(known, stacks):
    known.learn(Region(alloc(stacks, LIBRARY, LINE), stacks=stacks))
    assert known.kind(alloc(stacks, TENSOR, LINE)) is False


def test_what_is_seen_again_is_nothing_new(known, stacks):
    seen = Region(alloc(stacks, TENSOR, LINE), stacks=stacks)
    assert [known.learn(seen), known.learn(seen)] == [True, False]
    assert known.learn(Region(Event("free_requested", 1, 8), alloc(stacks, LINE), stacks=stacks)) is False


def test_lines_that_ask_for_both_do_not_say_which(known, stacks):
    assert known.learn(Region(alloc(stacks, TENSOR, LINE), alloc(stacks, LIBRARY, LINE), stacks=stacks)) is True
    assert known.kind(alloc(stacks, LINE)) is None
    assert known.learn(Region(alloc(stacks, LIBRARY, LINE), stacks=stacks)) is True


def test_another_regions_stacks_have_other_numbers(known, stacks):
    known.learn(Region(alloc(stacks, LIBRARY, LINE), stacks=stacks))
    others = Stacks()
    assert known.learn(Region(stacks=others)) is False
    assert known.kind(alloc(others, LINE)) is None


WRITTEN = """\
def call(args):
    buf0 = empty_strided_cuda((4, 4), (4, 1), torch.float32)
    # Topologically Sorted Source Nodes: [x], Original ATen: [aten.addmm, aten.gelu]
    buf1 = buf0; del buf0  # reuse
    del buf0
    assert_size_stride(buf0, (4, 4))
    # buf0 is taken
    other(buf01)
    triton_poi_fused_addmm_0.run(arg0, buf0, 16)
    buf2 = empty_strided_cuda((4, 4), (4, 1), torch.float32)
    # Original ATen: [aten.relu]
    kernel.run(buf3)
    # Original ATen: []
    kernel.run(buf2)
    buf4 = empty_strided_cuda((4, 4), (4, 1), torch.float32)
    return (buf4, )
    # Original ATen: [aten.relu]
    kernel.run(buf4)
"""


def test_a_buffer_is_of_what_its_first_kernel_was_made_of(tmp_path):
    file = tmp_path / f"c{'a' * 51}.py"
    file.write_text(WRITTEN)
    assert generated_code.generated(str(file)) and not generated_code.generated("train.py")
    found = {line: generated_code.operators(str(file), line) for line in range(20)}
    assert {line: said for line, said in found.items() if said} == {2: "aten::addmm, aten::gelu"}


@pytest.mark.parametrize(
    "between, said",
    [
        ("", "aten::relu"),
        ("assert_size_stride(buf0, (4,))\n", "aten::relu"),
        ("buf1 = buf0; del buf0\n", "aten::relu"),
        ("del buf0\n", "aten::relu"),
        ("extern.mm(out=buf0)\n", ""),
        ("return buf0\n", ""),
    ],
)
def test_what_is_no_kernel_takes_no_buffer(tmp_path, between, said):
    file = tmp_path / "a.py"
    file.write_text(f"buf0 = empty_strided((4,), (1,))\n{between}# Original ATen: [aten.relu]\nkernel.run(buf0)\n")
    assert generated_code.operators(str(file), 1) == said


def test_an_overload_keeps_its_dot(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("x = empty_strided((4,), (1,))\n# Original ATen: [aten.add.Tensor, , prims.sum]\nkernel.run(x)\n")
    assert generated_code.operators(str(file), 1) == "aten::add.Tensor, prims::sum"


def test_code_that_is_gone_says_nothing(tmp_path):
    assert generated_code.operators(str(tmp_path / "gone.py"), 1) == ""


def test_a_buffer_that_no_kernel_takes(tmp_path):
    (tmp_path / "a.py").write_text("buf0 = empty_strided_cuda((4,), (1,))\n# Original ATen: [aten.relu]\n")
    assert generated_code.operators(str(tmp_path / "a.py"), 1) == ""
