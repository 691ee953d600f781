"""Write testdata/workspace/attention.json: the workspace that cuDNN's attention takes, which
engine/workspace knows by formula.

    python -m truth attention [--cudnn DIR] [--every N]      once a version of cuDNN

Its kernels are compiled at run time, and without a driver library cuDNN answers nobody about them.
This makes one that has no device (it needs a C compiler) and builds the graph of
native/cudnn/MHA.cpp with nvidia-cudnn-frontend, NVRTC and the CUDA runtime, which are not otherwise
needed; so the shim itself does not ask for attention.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from memshim.workspace import deviceclass, torchwheel

OUT = Path(__file__).parents[3] / "testdata" / "workspace" / "attention.json"
CLASSES = ("sm90", "sm100")  # where PyTorch prefers cuDNN's attention

# What cuDNN and NVRTC look up in the driver. Without a device cuInit says so and the others are not
# reached.
DRIVER = """
cuCtxGetCurrent cuCtxGetDevice cuCtxGetLimit cuCtxPopCurrent cuCtxPushCurrent cuDeviceGet cuDeviceGetAttribute cuDevicePrimaryCtxRelease
cuDevicePrimaryCtxReset cuDevicePrimaryCtxRetain cuFuncGetAttribute cuFuncSetAttribute cuGetErrorName cuGetErrorString cuGetProcAddress_v2
cuKernelGetAttribute cuKernelGetFunction cuKernelSetAttribute cuLaunchCooperativeKernel cuLaunchKernel cuLaunchKernelEx cuLibraryGetKernel
cuLibraryLoadData cuLibraryLoadFromFile cuLibraryUnload cuLinkAddData cuLinkAddData_v2 cuLinkAddFile_v2 cuLinkComplete cuLinkCreate
cuLinkCreate_v2 cuLinkDestroy cuMemcpyDtoH_v2 cuModuleGetFunction cuModuleGetGlobal_v2 cuModuleLoadData cuModuleLoadDataEx
cuModuleLoadFatBinary cuModuleUnload cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxPotentialClusterSize cuStreamGetCtx
cuStreamGetGreenCtx cuStreamSynchronize cuTensorMapEncodeTiled cuThreadExchangeStreamCaptureMode
"""
NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE


def driver(folder: Path) -> str:
    """A libcuda.so.1 without a device."""
    text = (
        f"int cuInit(void) {{ return {NO_DEVICE}; }}\nint cuDeviceGetCount(int *n) {{ *n = 0; return {NO_DEVICE}; }}\n"
    )
    text += "int cuDriverGetVersion(int *v) { *v = 13020; return 0; }\n" + "".join(
        f"int {n}(void) {{ return {NO_DEVICE}; }}\n" for n in DRIVER.split()
    )
    (folder / "driver.c").write_text(text)
    out = folder / "libcuda.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", out, folder / "driver.c"], check=True)
    return str(out)


def calls() -> list[dict]:
    """Batch, heads of the query and of key and value, lengths, widths: prefill of many shapes, and
    one query against a cache."""
    out = []
    heads = ((12, 12), (16, 16), (32, 8))
    for b, (h, hk), n, d, causal in itertools.product(
        (1, 8), heads, (77, 197, 512, 1024), (64, 80, 128), (False, True)
    ):
        out.append({"b": b, "h": h, "hk": hk, "q": n, "k": n, "d": d, "dv": d, "causal": causal})
    for d, dv in ((8, 8), (40, 40), (96, 96), (128, 64), (64, 128), (192, 128), (256, 256)):
        out += [{"b": 2, "h": 8, "hk": 8, "q": 256, "k": 256, "d": d, "dv": dv, "mask": mask} for mask in (False, True)]
    for q in (2, 3, 63):
        out.append({"b": 1, "h": 32, "hk": 8, "q": q, "k": 2048, "d": 128, "dv": 128})
    decode = (
        (1, 1, 1, 64),
        (1, 4, 1, 64),
        (1, 8, 8, 64),
        (1, 12, 12, 64),
        (1, 32, 8, 128),
        (3, 16, 16, 64),
        (8, 32, 8, 128),
        (16, 32, 8, 64),
    )
    for (b, h, hk, d), k, sms in itertools.product(decode, (300, 512, 513, 1000, 1024, 4096, 16384), (132, 114)):
        out.append({"b": b, "h": h, "hk": hk, "q": 1, "k": k, "d": d, "dv": d, "sms": sms})
    return out


def ask(cudnn, name: str, call: dict) -> int:
    """The workspace of a call, in bfloat16, with the query's heads side by side as projections
    leave them."""
    properties = deviceclass.properties(name) | ({"multiProcessorCount": call["sms"]} if "sms" in call else {})
    types = cudnn.data_type
    g = cudnn.pygraph(
        io_data_type=types.BFLOAT16, intermediate_data_type=types.FLOAT, compute_data_type=types.FLOAT,
        device_property=cudnn.create_device_properties(json.dumps(properties)), sm_version=deviceclass.sm_version(name),
    )  # fmt: skip
    b, h, hk, q, k, d, dv = (call[n] for n in ("b", "h", "hk", "q", "k", "d", "dv"))

    def tensor(name: str, h: int, n: int, d: int):
        return g.tensor(name=name, dim=[b, h, n, d], stride=[h * n * d, d, h * d, 1], data_type=types.BFLOAT16)

    more = {}
    if call.get("mask"):
        more["bias"] = g.tensor(
            name="bias", dim=[b, h, q, k], stride=[h * q * k, q * k, k, 1], data_type=types.BFLOAT16
        )
    scale = g.tensor(name="scale", dim=[1, 1, 1, 1], stride=[1, 1, 1, 1], is_pass_by_value=True, data_type=types.FLOAT)
    o, _ = g.sdpa(
        q=tensor("q", h, q, d), k=tensor("k", hk, k, d), v=tensor("v", hk, k, dv), generate_stats=False, attn_scale=scale,
        use_causal_mask=call.get("causal", False), **more,
    )  # fmt: skip
    o.set_output(True).set_dim([b, h, q, dv]).set_stride([h * q * dv, dv, h * dv, 1])
    g.validate()
    g.build_operation_graph()
    g.create_execution_plans([cudnn.heur_mode.A])
    g.check_support()
    g.build_plans()
    return g.get_workspace_size()


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cudnn", action="append", default=[])
    p.add_argument("--every", type=int, default=1, metavar="N", help="one call of N only: a call takes a second")
    a = p.parse_args()
    cache = Path.home() / ".cache" / "memspec"
    folder, places = next(torchwheel.folders(a.cudnn, cache))
    version, cuda = torchwheel.probe(str(folder))
    needed = [torchwheel.cublaslt(cuda, places)]
    for name in ("libnvrtc.so", "libcudart.so"):
        needed += [str(hit) for place in torchwheel.site() for hit in sorted(place.rglob(f"{name}.{cuda}"))]
    with tempfile.TemporaryDirectory() as work:
        for library in [*needed, driver(Path(work)), str(folder / torchwheel.SONAME)]:
            ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
        import cudnn

        known = json.loads(OUT.read_text()) if OUT.exists() else []
        known = [row for row in known if row["version"] != torchwheel.dotted(version)]
        for name in CLASSES:
            for call in calls()[:: a.every]:
                known.append(
                    {"version": torchwheel.dotted(version), "class": name} | call | {"bytes": ask(cudnn, name, call)}
                )
    known.sort(key=lambda row: tuple(map(int, row["version"].split("."))))
    OUT.write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in known) + "\n]\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
