"""What is set on cuDNN's descriptors and read from them, with a library that writes it down."""

import ctypes
import json
from functools import partial
from types import SimpleNamespace

import pytest

from memshim.workspace import cudnn

CALL = {
    "op": "conv", "direction": "forward", "dtype": "float32",
    "input": [2, 3, 8, 9], "input_strides": [216, 72, 9, 1],
    "weight": [4, 3, 3, 2], "weight_strides": [18, 6, 2, 1],
    "padding": [1, 2], "stride": [2, 3], "dilation": [1, 4], "groups": 1, "allow_tf32": True,
}  # fmt: skip
ERROR = 2000
INT64, INT, FLOAT, DOUBLE, POINTER = (
    ctypes.c_int64,
    ctypes.c_int,
    ctypes.c_float,
    ctypes.c_double,
    ctypes.c_void_p,
)


class Backend:
    """refused: kinds of descriptors and attributes; None for a list of configurations that was counted.
    engines: by heuristics' mode the configurations, each (engine, notes, workspace); a workspace or a list
    of None is refused."""

    def __init__(self, engines=None, refused=()):
        self.engines, self.refused = engines or {}, refused
        self.kinds, self.set, self.ended, self.destroyed = {}, [], [], []
        self.mode, self.of_config, self.of_plan, self.engine = 0, {}, None, None
        self.library = SimpleNamespace(
            cudnnGetVersion=lambda: 92615,
            cudnnGetCudartVersion=lambda: 12999,
            cudnnBackendCreateDescriptor=partial(self.create_descriptor),
            cudnnBackendDestroyDescriptor=partial(self.destroy_descriptor),
            cudnnBackendFinalize=partial(self.finalize),
            cudnnBackendSetAttribute=partial(self.set_attribute),
            cudnnBackendGetAttribute=partial(self.get_attribute),
        )

    def create_descriptor(self, kind, out):
        if kind in self.refused:
            return ERROR
        out._obj.value = len(self.kinds) + 1
        self.kinds[out._obj.value] = kind
        return 0

    def destroy_descriptor(self, d):
        self.destroyed.append(d.value)

    def finalize(self, d):
        kind = self.kinds[d.value]
        self.ended.append(kind)
        if kind == 5:
            return 0 if self.of_config[self.of_plan][2] is not None else ERROR
        return 0 if kind != 4 or self.engines.get(self.mode, ()) is not None else ERROR

    def set_attribute(self, d, attribute, kind, count, array):
        kind_of = self.kinds[d.value]
        if isinstance(array, ctypes.c_char_p):
            assert len(array.value) == count
            values = [json.loads(array.value)]
        else:
            assert len(array) == count
            values = list(array)
        self.set.append((kind_of, attribute, kind, *values, type(array)._type_))
        if attribute == 200:
            self.mode = values[0]
        if attribute == 401:
            self.of_plan = values[0]
        return ERROR if attribute in self.refused else 0

    def get_attribute(self, d, attribute, kind, most, count, array):
        if attribute in self.refused:
            return ERROR
        if attribute == 202:
            found = self.engines.get(self.mode, ())
            count._obj.value = len(found)
            if most:
                assert most == len(array) == len(found) and {self.kinds[c] for c in array} == {3}
                if None in self.refused:
                    return ERROR
                self.of_config |= dict(zip(array, found, strict=True))
                if len(found) == 3:
                    count._obj.value = 2  # the third could not be made
        elif attribute == 300:
            assert (kind, most, self.kinds[array[0]]) == (15, 1, 2)
            self.engine = self.of_config[d.value]
        elif attribute == 1301:
            assert (kind, most) == (3, 1)
            array[0], count._obj.value = self.engine[0], 1
        elif attribute == 1303:
            assert (kind, most) == (11, 10)
            for i, note in enumerate(self.engine[1]):
                array[i] = note
            count._obj.value = len(self.engine[1])
        else:
            assert (attribute, kind, most) == (402, 3, 1)
            array[0], count._obj.value = self.of_config[self.of_plan][2], 1
        return 0


def library(*arguments, **named):
    backend = Backend(*arguments, **named)
    return cudnn.Library.of(backend.library), backend


@pytest.mark.parametrize("number, version", [(92615, (9, 26, 15)), (90000, (9, 0, 0)), (100100, (10, 1, 0))])
def test_the_version_is_taken_apart(number, version):
    lib, backend = library()
    backend.library.cudnnGetVersion = lambda: number
    assert (lib.version, lib.cuda) == (version, 12)


def test_a_device_is_described_by_its_properties():
    lib, backend = library()
    lib.device({"deviceVer": 860})
    assert backend.set == [(38, 2702, 24, {"deviceVer": 860}, "z")] and backend.ended == [38]
    lib, _ = library(refused=(2702,))
    with pytest.raises(cudnn.Refused, match="^describing the device: cudnnStatus_t 2000$") as e:
        lib.device({})
    assert e.value.status == ERROR


def test_the_graph_of_a_convolution():
    lib, backend = library()
    lib.graph(CALL)
    assert backend.set == [
        (1, 100, 1, 0, INT),  # it computes in float32
        (1, 101, 7, 1, INT),
        (1, 102, 3, 1, 4, INT64),
        (1, 103, 3, 2, 3, INT64),
        (1, 104, 3, 1, 2, INT64),
        (1, 105, 3, 1, 2, INT64),
        (1, 106, 3, 2, INT64),
        *((17, 900, 3, 32, INT64), (17, 901, 1, 0, INT), (17, 902, 3, 4, 3, 3, 2, INT64)),
        *((17, 903, 3, 18, 6, 2, 1, INT64), (17, 906, 3, ord("w"), INT64)),
        *((17, 900, 3, 32, INT64), (17, 901, 1, 0, INT), (17, 902, 3, 2, 3, 8, 9, INT64)),
        *((17, 903, 3, 216, 72, 9, 1, INT64), (17, 906, 3, ord("x"), INT64)),
        *((17, 900, 3, 32, INT64), (17, 901, 1, 0, INT), (17, 902, 3, 2, 4, 4, 3, INT64)),
        *((17, 903, 3, 48, 12, 3, 1, INT64), (17, 906, 3, ord("y"), INT64)),
        (10, 700, 4, 1.0, FLOAT),
        (10, 701, 4, 0.0, FLOAT),
        *((10, 702, 15, 1, POINTER), (10, 703, 15, 2, POINTER), (10, 704, 15, 3, POINTER), (10, 705, 15, 4, POINTER)),
        (15, 801, 15, 5, POINTER),
    ]
    assert backend.ended == [1, 17, 17, 17, 10, 15]


@pytest.mark.parametrize(
    "dtype, number, computes, alpha",
    [("float64", 1, 1, (5, 1.0, DOUBLE)), ("float16", 2, 0, (4, 1.0, FLOAT)), ("bfloat16", 9, 0, (4, 1.0, FLOAT))],
)
def test_the_types_of_tensors_and_of_sums(dtype, number, computes, alpha):
    lib, backend = library()
    lib.graph(CALL | {"dtype": dtype})
    by = {s[:2]: s[2:] for s in backend.set}
    assert (by[17, 901][1], by[1, 100][1], by[10, 700]) == (number, computes, alpha)


@pytest.mark.parametrize("direction, descriptor, alpha", [("wgrad", 11, 712), ("dgrad", 12, 706)])
def test_gradients_have_their_own_operation(direction, descriptor, alpha):
    lib, backend = library()
    lib.graph(CALL | {"direction": direction})
    assert [s[1] for s in backend.set if s[0] == descriptor] == [alpha + i for i in range(6)]


@pytest.mark.parametrize("name", ["input", "weight"])
def test_the_output_lies_as_the_input_or_the_weight(name):
    lib, backend = library()
    lib.graph(CALL | {name + "_strides": cudnn.strides(CALL[name], True)})
    assert [s[3:-1] for s in backend.set if s[1] == 903][-1] == (48, 1, 12, 4)


PLANS = {0: [(7, {1}, 50), (5, {0}, 30), (6, {4}, 20)], 2: [(8, (), 90), (9, (), 60)]}
# As the library counts: the third of a list of three is not made.


@pytest.mark.parametrize(
    "call, want",
    [
        ({}, [(5, 30), (8, 90), (9, 60)]),
        ({"allow_tf32": False}, [(8, 90), (9, 60)]),  # tensor cores
        ({"allow_tf32": False, "dtype": "float16"}, [(5, 30), (8, 90), (9, 60)]),
    ],
)
def test_configurations_that_pytorch_drops(call, want):
    lib, backend = library(PLANS)
    device = lib.device({})
    assert list(lib.plans(CALL | call, device)) == want
    heuristics = [s[1:-1] for s in backend.set if s[0] == 4]
    assert heuristics == [(201, 15, 7), (200, 8, 0), (204, 15, 1), (201, 15, 7), (200, 8, 2), (204, 15, 1)]
    assert [s[1:3] + s[4:] for s in backend.set if s[0] == 5][:2] == [(401, 15, POINTER), (407, 15, POINTER)]


@pytest.mark.parametrize("deterministic, want", [(False, [6]), (True, [])])
def test_what_is_not_deterministic_is_dropped_where_that_is_asked_for(deterministic, want):
    lib, _ = library({0: [(6, {4}, 20)], 2: [(7, {1}, 50)]})
    plans = lib.plans(CALL | {"deterministic": deterministic}, lib.device({}))
    if want:
        assert [engine for engine, _ in plans] == want
    else:
        with pytest.raises(cudnn.Refused, match=r"^asking for configurations \(there are none\): cudnnStatus_t 3000$"):
            list(plans)


@pytest.mark.parametrize(
    "engines, want",
    [
        ({0: None, 2: [(8, (), 90)]}, [(8, 90)]),  # a list that is refused
        ({0: [(5, (), None), (6, (), 1)]}, [(6, 1)]),  # a plan that is refused
    ],
)
def test_what_is_refused_is_passed_over(engines, want):
    lib, _ = library(engines)
    assert list(lib.plans(CALL, lib.device({}))) == want


@pytest.mark.parametrize(
    "engines, refused, why",
    [
        ({0: None, 2: None}, (), "finalising the heuristics"),
        ({0: [(5, (), None)]}, (), "finalising the plan"),
        (PLANS, (202,), "counting configurations"),
        (PLANS, (None,), "getting configurations"),
    ],
)
def test_the_last_refusal_is_reported_where_no_plan_builds(engines, refused, why):
    lib, _ = library(engines, refused=refused)
    with pytest.raises(cudnn.Refused, match=f"^{why}: cudnnStatus_t 2000$"):
        list(lib.plans(CALL, lib.device({})))


@pytest.mark.parametrize("attribute, why", [(300, "getting the engine"), (1301, "getting attribute 1301")])
def test_an_engine_that_cannot_be_read_ends_it(attribute, why):
    lib, _ = library(PLANS, refused=(attribute,))
    with pytest.raises(cudnn.Refused, match=f"^{why}: cudnnStatus_t 2000$"):
        list(lib.plans(CALL, lib.device({})))


@pytest.mark.parametrize(
    "refused, why",
    [(1, "creating descriptor 1"), (102, "setting attribute 102"), (801, "setting attribute 801")],
)
def test_a_graph_that_is_refused(refused, why):
    lib, _ = library(refused=(refused,))
    with pytest.raises(cudnn.Refused, match=f"^{why}: cudnnStatus_t 2000$"):
        lib.graph(CALL)


@pytest.mark.parametrize(
    "benchmark, want", [(False, {"bytes": 30, "engine": 5}), (True, {"bytes": 30, "engine": 5, "most": 90})]
)
def test_an_answer_is_the_first_plan_and_its_descriptors_are_destroyed(benchmark, want):
    lib, backend = library(PLANS)
    device = lib.device({})
    assert lib.answer(CALL | {"benchmark": benchmark}, device) == want
    assert lib.mark() == 1, "the device is kept"
    assert sorted(backend.destroyed) == list(range(2, len(backend.kinds) + 1))


def test_the_largest_plan_may_be_the_first():
    lib, _ = library({0: [(5, (), 99), (6, (), 1)]})
    assert lib.answer(CALL | {"benchmark": True}, lib.device({}))["most"] == 99


def test_what_a_library_needs_is_loaded_before_it(monkeypatch):
    loaded = []

    def load(path, mode):
        loaded.append((path, mode))
        return Backend().library

    for name in ("cudnnGetVersion", "cudnnGetCudartVersion"):
        assert callable(getattr(Backend().library, name))
    monkeypatch.setattr(cudnn.ctypes, "CDLL", load)
    assert cudnn.Library("/lib", ["a", "b"]).cuda == 12
    assert loaded == [(p, ctypes.RTLD_GLOBAL) for p in ("a", "b", "/lib/libcudnn.so.9")]


def test_strides_are_as_pytorch_fixes_them():
    assert cudnn.strides([2, 3, 4, 5], False) == [60, 20, 5, 1]
    assert cudnn.strides([2, 3, 4, 5], True) == [60, 1, 15, 3]
    assert cudnn.strides([8, 64, 1, 1], False) == [64, 1, 1, 1]
    assert cudnn.strides([8, 64, 1, 1], True) == [64, 1, 64, 64]
    assert cudnn.strides([2, 3, 4, 5, 6], True) == [360, 1, 90, 18, 3]


@pytest.mark.parametrize(
    "x, w, stride, padding, dilation, want",
    [
        ([1, 3, 224, 224], [64, 3, 7, 7], 2, 3, 1, [1, 64, 112, 112]),
        ([8, 32, 65, 64], [64, 32, 4, 4], 2, 1, 1, [8, 64, 32, 32]),
        ([1, 4, 9], [2, 4, 3], 1, 0, 2, [1, 2, 5]),
    ],
)
def test_the_sizes_of_what_a_convolution_gives(x, w, stride, padding, dilation, want):
    each = {"stride": stride, "padding": padding, "dilation": dilation}
    call = {"input": x, "weight": w} | {name: [value] * (len(x) - 2) for name, value in each.items()}
    assert cudnn.output(call) == want
