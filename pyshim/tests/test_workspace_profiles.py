"""The file of a library's answers: what it holds, and how it is replaced."""

import stat

import pytest

from memshim.workspace import profiles

BY = ("cudnn", "9.10.2", "sm89")
CALL = {"op": "conv", "direction": "forward", "dtype": "float32", "groups": 2} | {n: [1] for n in profiles._DIMS}


def of(*entries):
    made = profiles.Profile()
    for by, call, answer in entries:
        made.add(by, call, answer)
    return made


def test_a_written_profile_is_for_all_to_read_and_lies_alone(tmp_path):
    made = of((BY, CALL, {"bytes": 5, "engine": 1}))
    made.write(tmp_path / "p.json")
    assert [(p.name, stat.S_IMODE(p.stat().st_mode)) for p in tmp_path.iterdir()] == [("p.json", 0o644)]
    assert (tmp_path / "p.json").read_text() == made.text()


@pytest.mark.parametrize(
    "flags, words",
    [
        ({}, ""),
        ({"deterministic": True, "allow_tf32": True, "benchmark": True}, " deterministic tf32 benchmark"),
        ({"deterministic": False, "allow_tf32": False, "benchmark": True}, " benchmark"),
    ],
)
def test_a_call_is_one_line(flags, words):
    assert profiles.key(CALL | flags) == "conv forward float32 1 1 1 1 1 1 1 2" + words


def test_an_entry_has_no_flag_that_is_not_set(tmp_path):
    call = CALL | {"allow_tf32": False, "benchmark": True, "device": "t4"}
    of((BY, call, {"bytes": 5, "engine": 1, "most": 0})).write(tmp_path / "p.json")
    assert profiles.load(tmp_path / "p.json").entries(BY) == [CALL | {"benchmark": True, "bytes": 5, "engine": 1}]


def test_the_most_that_timing_takes_is_kept():
    answer = {"bytes": 5, "engine": 1, "most": 9}
    assert of((BY, CALL, answer)).get(BY, CALL) == CALL | answer


def test_profiles_of_two_libraries_are_merged():
    other = ("cudnn", "9.10.2", "sm80")
    one, two = of((BY, CALL, {"bytes": 5, "engine": 1})), of((other, CALL, {"bytes": 6, "engine": 2}))
    one.merge(two)
    one.merge(two)
    assert (len(one), one.answerers(), one.get(other, CALL)["bytes"]) == (2, [other, BY], 6)
    assert one.entries(("cudnn", "9.26.0", "sm80")) == []


def test_the_text_of_a_profile():
    one = CALL | {"weight": [8, 1], "groups": 1}
    made = of((BY, one, {"bytes": 5, "engine": 1}), (("cudnn", "9.8.0", 'a"b'), CALL, {"bytes": 6, "engine": 2}))
    assert made.text().splitlines() == [
        '{"schema": 1, "groups": [',
        '{"library": "cudnn", "version": "9.10.2", "class": "sm89", "entries": [',
        '{"op":"conv","direction":"forward","dtype":"float32","input":[1],"input_strides":[1],"weight":[8,1],'
        '"weight_strides":[1],"padding":[1],"stride":[1],"dilation":[1],"groups":1,"bytes":5,"engine":1}',
        "]},",
        '{"library": "cudnn", "version": "9.8.0", "class": "a\\"b", "entries": [',
        '{"op":"conv","direction":"forward","dtype":"float32","input":[1],"input_strides":[1],"weight":[1],'
        '"weight_strides":[1],"padding":[1],"stride":[1],"dilation":[1],"groups":2,"bytes":6,"engine":2}',
        "]}",
        "]}",
    ]
