"""Takes the weight bytes out of TorchScript archives and puts zeros back in.

A stripped archive has the same records in the same order. A record of weights (under data/,
constants/ or tensors/) that is larger than KEEP is there, but empty; its true size stands in one
more record, .memspec/stripped.json.
"""

import io
import json
import os
import re
import zipfile

KEEP = 4096
MARK = ".memspec/stripped.json"
_WEIGHTS = ("data/", "constants/", "tensors/")
_EPOCH = (1980, 1, 1, 0, 0, 0)


def _entry(name: str, deflate: bool = True) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED if deflate else zipfile.ZIP_STORED
    info.create_system = 0
    info.external_attr = 0
    return info


def strip(path: str) -> bytes:
    """Returns the archive without its weight bytes. The same archive gives the same bytes."""
    out = io.BytesIO()
    sizes: dict[str, int] = {}
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(out, "w") as stripped:
        root = archive.namelist()[0].split("/", 1)[0]
        for info in archive.infolist():
            name = info.filename.split("/", 1)[1]
            if name.startswith(_WEIGHTS) and info.file_size > KEEP:
                sizes[name] = info.file_size
                stripped.writestr(_entry(info.filename, deflate=False), b"")
                continue
            data = archive.read(info)
            stripped.writestr(_entry(info.filename, deflate=len(data) > 0), data, compresslevel=9)
        mark = json.dumps({"schema": 1, "records": sizes}, sort_keys=True, separators=(",", ":"))
        stripped.writestr(_entry(f"{root}/{MARK}"), mark.encode(), compresslevel=9)
    return out.getvalue()


def refill(stripped: str, path: str, device: str = "") -> int:
    """Writes an archive that PyTorch can load: zeros where the weights were.

    With a device, the one that tracing wrote into the code is replaced by it. Returns how many
    places that were.
    """
    remapped = 0
    with zipfile.ZipFile(stripped) as archive, zipfile.ZipFile(path, "w") as full:
        root = archive.namelist()[0].split("/", 1)[0]
        sizes = json.loads(archive.read(f"{root}/{MARK}"))["records"]
        for info in archive.infolist():
            name = info.filename.split("/", 1)[1]
            if name == MARK:
                continue
            if name in sizes:
                _write_zeros(full, info.filename, sizes[name])
                continue
            data = archive.read(info)
            if device and name.endswith(".py"):
                baked = b'torch.device("cpu")'
                remapped += data.count(baked)
                data = data.replace(baked, f'torch.device("{device}")'.encode())
            full.writestr(_entry(info.filename, deflate=False), data)
    return remapped


def _write_zeros(archive: zipfile.ZipFile, name: str, size: int) -> None:
    # Compressed: PyTorch reads it all the same, and no disk is filled with zeros.
    info = _entry(name)
    info._compresslevel = 1  # the level of a streamed entry has no public name
    chunk = bytes(1 << 20)
    with archive.open(info, "w", force_zip64=size >= 1 << 31) as record:
        for _ in range(size >> 20):
            record.write(chunk)
        record.write(chunk[: size & (1 << 20) - 1])


def differing(old: bytes, new: bytes, debug: bool) -> list[str]:
    """Names the records in which two stripped archives differ; without debug, source positions are
    not looked at."""

    def records(blob: bytes) -> dict[str, bytes]:
        with zipfile.ZipFile(io.BytesIO(blob)) as archive:
            return {
                n: archive.read(n)
                for n in archive.namelist()
                if debug or not n.endswith((".debug_pkl", "serialization_id"))
            }

    a, b = records(old), records(new)
    return sorted(n for n in a.keys() | b.keys() if a.get(n) != b.get(n))


def foreign_paths(blob: bytes, prefix: str) -> list[str]:
    """Lists absolute paths of Python files in the debug records that do not lie below the neutral
    prefix."""
    found = set()
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        for name in archive.namelist():
            for path in re.findall(rb"(?<![:/\w.-])/[\w./@+-]+/[\w.-]+\.pyc?\b", archive.read(name)):
                text = path.decode()
                if name.endswith(".debug_pkl") and not text.startswith(prefix + os.sep):
                    found.add(text)
    return sorted(found)
