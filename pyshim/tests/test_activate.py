"""How a process comes to pretended devices: its variables, when it is too late, and what is loaded first."""

import ctypes
import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from memshim.pretend import activate, build, convolutions, follow, support, toolkit

A = SimpleNamespace(name="a", sm=75, describe=lambda kernels: f"name=a;kernels={kernels}")
B = SimpleNamespace(name="b", sm=86, describe=lambda kernels: f"name=b;kernels={kernels}")
TORCH = SimpleNamespace(version="2.15.0", architectures=lambda: [75, 80, 90, 120])


def test_each_device_is_described_with_the_kernels_that_run_on_it():
    assert activate.description([A, B, A], TORCH) == "name=a;kernels=75\nname=b;kernels=80\nname=a;kernels=75"


def test_a_device_that_this_pytorch_has_no_kernels_for():
    with pytest.raises(support.Unsupported) as e:
        activate.description([A, SimpleNamespace(name="v100", sm=70)], TORCH)
    assert str(e.value).startswith(
        "got v100 of compute capability 7.0 with PyTorch 2.15.0, which has kernels for 7.5, 8.0, 9.0, 12.0, want "
    )


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine on which the library is built in tmp_path/lib; what is asked is listed."""
    w = SimpleNamespace(asked=[], cudnn=None, home="", lib=tmp_path / "lib", cache=tmp_path / "cache")
    monkeypatch.setattr(support, "check_machine", lambda: w.asked.append("machine"))
    monkeypatch.setattr(support, "torch_here", lambda: TORCH)
    monkeypatch.setattr(build, "library", lambda: w.lib)
    monkeypatch.setattr(build, "private_folder", lambda path: path)
    monkeypatch.setattr(convolutions, "stand_in", lambda torch, environ: w.cudnn if torch is TORCH else "")
    monkeypatch.setattr(toolkit, "home", lambda environ: w.home)
    w.preloads = [str(w.lib / build.LIBRARY), str(w.lib / build.NVML)]
    w.caches = {
        "TORCHINDUCTOR_CACHE_DIR": str(w.cache / "memshim" / "inductor-pretend"),
        "TRITON_CACHE_DIR": str(w.cache / "memshim" / "triton-pretend"),
    }
    return w


def found(machine, devices=(A, B), **environ):
    return activate.variables(list(devices), {"XDG_CACHE_HOME": str(machine.cache), **environ})


def test_the_variables_of_a_process(machine):
    assert found(machine) == {
        "MEMSPEC_PRETEND": "name=a;kernels=75\nname=b;kernels=80",
        "LD_PRELOAD": ":".join(machine.preloads),
        "PYTHONPATH": activate.STARTUP,
        "CUDA_VISIBLE_DEVICES": "0,1",
        "TRITON_LIBCUDA_PATH": str(machine.lib),
        "LIBRARY_PATH": str(machine.lib),
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
        **machine.caches,
    }
    assert machine.asked == ["machine"] and (Path(activate.STARTUP) / "sitecustomize.py").is_file()


def test_a_toolkit_and_another_cudnn_are_used_where_they_are(machine):
    machine.home, machine.cudnn = "/cuda", Path("/cudnn/libcudnn.so.9")
    variables = found(machine, LD_PRELOAD="/mine.so")
    assert variables["CUDA_HOME"] == "/cuda"
    assert variables["LD_PRELOAD"] == ":".join([*machine.preloads, "/cudnn/libcudnn.so.9", "/mine.so"])


@pytest.mark.parametrize("between", [" ", ":"])
def test_what_a_process_has_set_stays_behind_ours_and_once(machine, between):
    first = found(machine, LD_PRELOAD=between.join(["/a.so", "/b.so"]), PYTHONPATH="/x::/y", LIBRARY_PATH="/l",
                  TORCHINDUCTOR_FORCE_DISABLE_CACHES="0", CUDA_VISIBLE_DEVICES="5")  # fmt: skip
    want = {
        "LD_PRELOAD": ":".join([*machine.preloads, "/a.so", "/b.so"]),
        "PYTHONPATH": f"{activate.STARTUP}:/x:/y",
        "LIBRARY_PATH": f"{machine.lib}:/l",
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "0",
        "CUDA_VISIBLE_DEVICES": "0,1",
    }
    assert first | want == first
    again = found(machine, **first)
    assert again == first | {"LIBRARY_PATH": f"{machine.lib}:{first['LIBRARY_PATH']}"}


@pytest.mark.parametrize(
    "given, kept",
    [("/mine", "/mine-pretend"), ("/mine-pretend", "/mine-pretend")],
)
def test_caches_that_are_named_are_kept_apart(machine, given, kept):
    environ = {"XDG_CACHE_HOME": str(machine.cache)}
    assert activate.caches(environ | {"TRITON_CACHE_DIR": given}) == machine.caches | {"TRITON_CACHE_DIR": kept}
    assert activate.caches(environ | {"TORCHINDUCTOR_CACHE_DIR": given}) == machine.caches | {
        "TORCHINDUCTOR_CACHE_DIR": kept
    }


@pytest.mark.parametrize(
    "values, assume, want",
    [
        (True, None, {"MEMSPEC_PRETEND_VALUES": "1", "MEMSPEC_PRETEND_ASSUME": "{}"}),
        (False, {"a.py:3": 2}, {"MEMSPEC_PRETEND_VALUES": "0", "MEMSPEC_PRETEND_ASSUME": '{"a.py:3": 2}'}),
    ],
)
def test_the_environment_says_how_values_are_followed(values, assume, want):
    assert activate.options(values, assume) == want


@pytest.fixture
def stubs(monkeypatch):
    """A process without torch and without variables; what it loads is listed."""
    w = SimpleNamespace(loaded=[], given=[], library="", cudnn=None, started=[], environ={})
    devices = {"a": A, "b": B}

    def as_devices(wanted, count=1, memory=None):
        w.given.append((wanted, count, memory))
        return [devices[wanted]] * count

    def variables(devices, environ):
        assert environ is w.environ
        return {"LD_PRELOAD": "/1.so:/2.so:/3.so:/4.so", "OURS": ",".join(d.name for d in devices)}

    monkeypatch.setattr(activate, "as_devices", as_devices)
    monkeypatch.setattr(activate, "variables", variables)
    monkeypatch.setattr(activate, "loaded_already", lambda: w.library)
    monkeypatch.setattr(activate, "_active", [])
    monkeypatch.setattr(activate, "os", SimpleNamespace(environ=w.environ, path=os.path, pathsep=os.pathsep))
    monkeypatch.setattr(ctypes, "CDLL", lambda path, mode: w.loaded.append((path, mode)))
    monkeypatch.setattr(support, "torch_here", lambda: TORCH)
    monkeypatch.setattr(convolutions, "stand_in", lambda torch, environ: w.cudnn)
    monkeypatch.setattr(follow, "after_torch", lambda: w.started.append(1))
    monkeypatch.setattr(follow, "warns", False)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    return w


VALUES = {"MEMSPEC_PRETEND_VALUES": "1", "MEMSPEC_PRETEND_ASSUME": "{}"}


def test_a_fresh_processs_environment(stubs):
    assert activate.environment("a") == {"LD_PRELOAD": "/1.so:/2.so:/3.so:/4.so", "OURS": "a", **VALUES}
    found = activate.environment("b", count=2, memory="4GiB", values=False, assume={"a.py:3": 2})
    assert found == {
        "LD_PRELOAD": "/1.so:/2.so:/3.so:/4.so", "OURS": "b,b",
        "MEMSPEC_PRETEND_VALUES": "0", "MEMSPEC_PRETEND_ASSUME": json.dumps({"a.py:3": 2}),
    }  # fmt: skip
    assert stubs.given == [("a", 1, None), ("b", 2, "4GiB")]
    assert activate.active() == [] and stubs.environ == {} and stubs.loaded == []


@pytest.mark.parametrize("cudnn, loaded", [(None, ["/1.so", "/2.so"]), (Path("/3.so"), ["/1.so", "/2.so", "/3.so"])])
def test_a_process_loads_our_libraries_before_all_others(stubs, cudnn, loaded):
    stubs.cudnn = cudnn
    activate.pretend("a")
    assert stubs.loaded == [(path, ctypes.RTLD_GLOBAL) for path in loaded]
    assert activate.active() == [A] and stubs.started == [1] and stubs.given == [("a", 1, None)]
    assert stubs.environ == {"LD_PRELOAD": "/1.so:/2.so:/3.so:/4.so", "OURS": "a", **VALUES}


def test_a_process_is_given_its_devices_once(stubs):
    activate.pretend("b", count=2, memory=5, values=False, assume={"a.py:3": 2})
    activate.pretend("b", count=2)
    assert activate.active() == [B, B] and len(stubs.loaded) == 2 and stubs.started == [1]
    assert stubs.environ["MEMSPEC_PRETEND_VALUES"] == "0" and stubs.given == [("b", 2, 5), ("b", 2, None)]
    with pytest.raises(
        activate.TooLate,
        match="^got a second memshim.pretend, but this process has b, b already: start a fresh process$",
    ):
        activate.pretend("a")
    activate.active().clear()
    assert activate.active() == [B, B], "what is given is a copy"


@pytest.mark.parametrize(
    "module, library, want",
    [
        (True, "", "got torch imported already, want memshim.pretend before it: torch is bound to the machine's own "
         "CUDA by then"),
        (False, "libcuda.so.1", "got libcuda.so.1 loaded already, want memshim.pretend before whatever loaded it"),
    ],
)  # fmt: skip
def test_when_it_is_too_late(stubs, monkeypatch, module, library, want):
    stubs.library = library
    if module:
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    with pytest.raises(activate.TooLate) as e:
        activate.pretend("a")
    assert str(e.value) == want and (activate.active(), stubs.environ, stubs.loaded) == ([], {}, [])


@pytest.mark.parametrize("run, before, warns", [("", False, True), ("1", False, False), ("1", True, True)])
def test_who_says_that_a_value_was_read(stubs, monkeypatch, run, before, warns):
    """memshim run reports all reads at its end."""
    stubs.environ["MEMSPEC_RUN"] = run
    monkeypatch.setattr(follow, "warns", before)
    activate.pretend("a")
    assert follow.warns is warns


MAPS = "7f00-7f01 r--p 00000000 08:01 12   /usr/lib/libc.so.6\n7f02-7f03 rw-p 00000000 00:00 0 \n"


@pytest.mark.parametrize(
    "line, name",
    [
        ("", ""),
        ("7f04-7f05 r--p 00000000 08:01 3   /x/libcudart.so.13\n", "libcudart.so.13"),
        ("7f04-7f05 r--p 00000000 08:01 3   /x y/libcuda.so.1\n", "libcuda.so.1"),
        ("7f04-7f05 r--p 00000000 08:01 3   /x/libtorch_cuda.so\n", "libtorch_cuda.so"),
        ("7f04-7f05 r--p 00000000 08:01 3   /x/libcudnn.so.9\n", "libcudnn.so.9"),
        ("7f04-7f05 r--p 00000000 08:01 3   /x/libcublas.so.13\n", "libcublas.so.13"),
        ("7f04-7f05 r--p 00000000 08:01 3   /libcuda.so/other.so\n", ""),
        ("7f04-7f05 r--p 00000000 08:01 3   /x/libtorch_cpu.so\n", ""),
    ],
)
def test_a_library_of_cuda_that_is_loaded_is_named(monkeypatch, line, name):
    opened = []
    monkeypatch.setattr(
        activate, "open", lambda path: opened.append(path) or io.StringIO(MAPS + line + MAPS), raising=False
    )
    assert activate.loaded_already() == name and opened == ["/proc/self/maps"]
