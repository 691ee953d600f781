"""Which devices are pretended, by names and rows; what is borrowed of the likest one."""

import pytest

from memshim.pretend import activate, device
from memshim.sizes import GIB

ROWS = [
    {"name": name, "compute_capability": of, "sms": sms, "l2": l2}
    for name, of, sms, l2 in (("a", "7.5", 40, 1), ("b", "8.0", 108, 2), ("c", "8.6", 82, 3), ("d", "8.6", 10, 4))
] + [{"name": "e", "compute_capability": "8.6", "sms": 46, "l2": 0}]


@pytest.mark.parametrize(
    "of, sms, name",
    [((8, 6), 70, "c"), ((8, 6), 45, "d"), ((8, 6), 47, "c"), ((8, 7), 82, "c"), ((8, 1), 82, "b"), ((7, 0), 108, "a"),
     ((7, 9), 108, "a"), ((9, 0), 10, "d")],
    ids=str,
)  # fmt: skip
def test_a_figure_is_borrowed_of_the_likest_card_that_has_it(monkeypatch, of, sms, name):
    """Of the same major capability, the nearest minor one, then the nearest number of multiprocessors."""
    monkeypatch.setattr(device, "rows", lambda: ROWS)
    assert device.nearest(of, sms, "l2")["name"] == name


def test_one_or_several_devices():
    t4 = device.find("t4")
    assert activate.as_devices("t4") == activate.as_devices(t4) == [t4]
    assert activate.as_devices("t4", count=2) == [t4, t4]
    assert [d.name for d in activate.as_devices(["l4", t4], count=2)] == ["l4", "l4", "t4", "t4"]
    row = {"name": "mine", "memory": "8GiB", "compute_capability": "8.6", "sms": 20}
    assert [(d.name, d.memory) for d in activate.as_devices(row)] == [("mine", 8 * GIB)]


def test_another_size_of_memory():
    assert [d.memory for d in activate.as_devices(["t4", "l4"], memory="4GiB")] == [4 * GIB, 4 * GIB]
    assert activate.as_devices("t4")[0].memory > 4 * GIB
    with pytest.raises(device.UnknownDevice, match="want more than its context"):
        activate.as_devices("t4", memory=0)


def test_as_many_as_the_library_can_have():
    assert len(activate.as_devices("t4", count=16)) == len(activate.as_devices(["t4"] * 16)) == 16
    for wanted, count, found in (("t4", 17, 17), ("t4", 0, 0), (["t4", "l4"], 9, 18), ([], 1, 0)):
        with pytest.raises(ValueError, match=f"got {found} devices, want 1 to 16"):
            activate.as_devices(wanted, count=count)
