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


@pytest.mark.parametrize("name", ["T4", "NVIDIA  Tesla_T4", "tesla-t4"])
def test_a_device_is_found_as_people_spell_it(name):
    assert device.find(name).name == "t4"


def test_names_that_are_close_are_shown(monkeypatch):
    monkeypatch.setattr(device, "names", lambda: ["aaab", "aaac", "aaad", "aaae", "b-1", "b-2", "b-3", "b-4"])
    with pytest.raises(device.UnknownDevice) as e:
        device.find("aaaf")
    assert str(e.value).count(" or ") == 2, "three of them"
    with pytest.raises(device.UnknownDevice, match=r"got device 'b', .*: did you mean b-1 or b-2 or b-3 or b-4\?"):
        device.find("b")
    with pytest.raises(device.UnknownDevice, match=r"want a known device \(all: memspec devices\)$"):
        device.find("xyz")


@pytest.mark.parametrize("text", ["8", "8.x", "x.0", "", None, "8.6.1"])
def test_a_capability_is_two_numbers(text):
    with pytest.raises(device.UnknownDevice, match="want one such as 8.6"):
        device.capability(text)
    assert device.capability("12.0") == (12, 0)


ROW = {"name": "mine", "memory": "8GiB", "compute_capability": "8.6", "sms": 20}


@pytest.mark.parametrize(
    "change, said",
    [
        ({"cores": 3}, "mine: got 'cores', want name, memory, compute_capability, sms, context"),
        ({"memory": None}, "got device mine, which is no card"),
        ({"compute_capability": ""}, "got device mine, which is no card"),
        ({"sms": 0}, "mine: got sms 0, want a whole number from 1"),
        ({"sms": True}, "mine: got sms True"),
        ({"sms": 2.0}, "mine: got sms 2.0"),
        ({"compute_capability": "6.1"}, "mine: got compute capability 6.1, want one of 7.0, "),
        ({"name": "", "sms": 0}, "a device: got sms 0"),
    ],
)
def test_a_row_that_is_no_card(change, said):
    with pytest.raises(device.UnknownDevice) as e:
        device.of_row(ROW | change)
    assert str(e.value).startswith(said)


def test_a_row_borrows_what_it_does_not_say():
    found = device.of_row(ROW | {"sms": 1, "l2": 7, "context": "100MiB"})
    assert (found.sms, found.sm, found.l2, found.context, found.driver) == (1, 86, 7, 100 << 20, "mine")
    assert found.borrowed == ("clock_khz", "memory_clock_khz", "memory_bus_bits") and found.clock_khz > 0
    assert found.uncertain == 0 and device.of_row(ROW).context is None
    ranged = device.of_row(ROW | {"context_range": {"low": 5, "high": 9}, "driver": "Own"})
    assert (ranged.context, ranged.context_high, ranged.uncertain, ranged.driver) == (5, 9, 4, "Own")


def test_boards_that_nvlink_connects():
    linked = [n for n in device.names() if device.find(n).nvlink]
    assert {"a100-sxm-80gb", "h100-sxm-80gb", "b200"} <= set(linked) and "h100-pcie-80gb" not in linked
    assert device.find("h100-sxm-80gb").multicast and not device.find("a100-sxm-80gb").multicast
    assert not device.find("h100-pcie-80gb").multicast


def test_the_device_of_a_case_has_the_cases_memory():
    t4 = device.find("t4")
    case = {"name": "t4", "memory": t4.memory}
    assert device.of_case(case) == t4 and device.of_case(case | {"memory": 4 * GIB}).memory == 4 * GIB
    assert device.of_case(ROW | {"context": 0, "l2": None, "extra": 1} | dict.fromkeys(device.FIGURES)).name == "mine"
    with pytest.raises(device.UnknownDevice, match="got device t4, which is no card"):
        device.of_case({"name": "t4", "memory": 0})


def test_the_line_that_the_library_reads():
    found = device.of_row(ROW | {"driver": "A;B\nC"})
    said = dict(word.split("=") for word in found.describe(80).split(";"))
    assert (said["name"], said["major"], said["minor"], said["kernels"], said["sms"]) == ("A B C", "8", "6", "80", "20")
    assert (said["memory"], said["context"], said["multicast"]) == (str(8 * GIB), "0", "0")
    assert all(said[k] == str(getattr(found, k)) for k in device.LIMITS)
    assert "multicast=1" in device.find("h100-sxm-80gb").describe(90)
