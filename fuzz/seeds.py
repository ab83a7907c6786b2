#!/usr/bin/env python3
"""Puts small files of every format that is fuzzed into FOLDER/TARGET, named by their content, from tests/data, fuzz/seeds
and fuzz/corpus, where what earlier runs came across lies (`-merge=1` of the target, packed as TARGET.tar.xz).
seeds.py FOLDER [TARGET...]."""
import hashlib
import io
import json
import re
import struct
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
LARGEST = 16 << 10
MOST = 60


def safetensors(tensors: dict) -> bytes:
    """{name: (dtype, shape, bytes)}"""
    header, buffer = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(buffer), len(buffer) + len(content)]}
        buffer += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + buffer


def files(*patterns: str) -> list[bytes]:
    found = sorted(file for pattern in patterns for file in DATA.glob(pattern) if file.stat().st_size <= LARGEST)
    return [file.read_bytes() for file in found]


def programs() -> list[bytes]:
    """Exported programs without what no reader asks for, which is most of them. The shorter, the more of them in a
    second."""
    found = sorted(DATA.glob("pairs/*/*.pt2")) + sorted((ROOT / "fuzz" / "seeds" / "exported").glob("*"))
    found += sorted(ROOT.parent.glob("shared/corpus/torch/*/*.pt2"))
    shrunk = (shrunk_program(file.read_bytes()) for file in found)
    return [content for content in shrunk if len(content) <= LARGEST // 2]


UNREAD_MEMBERS = re.compile("sample_inputs|serialization_id|archive_version|[.]data/version")
# Where a node came from, how the program is called, and what the reader computes for itself.
UNREAD = {
    *("stack_trace", "torch_fn", "module_call_graph", "range_constraints", "guards_code", "verifiers", "opset_version"),
    *("is_single_tensor_return", "is_hop_single_tensor_return", "treespec_namedtuple_fields"),
    *("sym_bool_values", "sym_float_values", "custom_obj_values"),
}
UNREAD_OF_VALUES = {"requires_grad", "device", "storage_offset", "layout"}


def shrunk_program(archive: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            if UNREAD_MEMBERS.search(name):
                continue
            content = old.read(name)
            if name.endswith(".json"):
                content = json.dumps(without(UNREAD, json.loads(content)), separators=(",", ":")).encode()
            new.writestr(zipfile.ZipInfo(name), content)
    return made.getvalue()


def without(keys: set[str], value):
    if isinstance(value, list):
        return [without(keys, part) for part in value]
    if isinstance(value, dict):
        inner = {"tensor_values": keys | UNREAD_OF_VALUES}
        return {key: without(inner.get(key, keys), part) for key, part in value.items() if key not in keys}
    return value


def python_lines() -> list[bytes]:
    """Calls as people write them, from the tutorial."""
    text = (ROOT / "docs" / "padding.md").read_text() + (ROOT / "README.md").read_text()
    return [line.encode() for line in re.findall(r"'([^'\n]*\([^'\n]*\)[^'\n]*)'", text)]


def seeds() -> dict[str, list[bytes]]:
    checkpoints = files("checkpoints/*.pt")
    pickles = [archive_member(content) for content in checkpoints if content[:2] == b"PK"]
    numbers = struct.pack("<6f", *range(6))
    small = [
        safetensors({}),
        safetensors({"a": ("F32", [2, 3], numbers)}),
        safetensors({"a": ("I64", [], numbers[:8]), "b": ("BF16", [0, 5], b""), "c": ("BOOL", [2], b"\0\1")}),
    ]
    return {
        "pickle": pickles + [content for content in checkpoints if content[:2] != b"PK"],
        "checkpoint": checkpoints,
        "exported": programs(),
        "safetensors": small + files("checkpoints/*.safetensors"),
        "onnx": files("corpus/onnx/*/model.onnx"),
        "graphdef": files("corpus/tensorflow/*/frozen.pb", "corpus/tensorflow/*/saved_model/saved_model.pb"),
        "bundle": files("corpus/tensorflow/*/saved_model/variables/variables.index"),
        "tflite": files("corpus/tflite/*/model.tflite"),
        "hdf5": files("containers/*.h5", "corpus/keras/*/model.weights.h5"),
        "keras": files("corpus/keras/*/model.keras", "corpus/keras/*/model.h5"),
        "python": python_lines(),
        "source": [file.read_bytes() for file in sorted((ROOT / "fuzz" / "seeds" / "source").glob("*"))],
    }


def archive_member(archive: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return opened.read(next(name for name in opened.namelist() if name.endswith("data.pkl")))


def corpus(target: str) -> list[bytes]:
    packed = ROOT / "fuzz" / "corpus" / f"{target}.tar.xz"
    if not packed.exists():
        return []
    with tarfile.open(packed) as opened:
        return [opened.extractfile(member).read() for member in opened]


def main(folder: Path, wanted: list[str]):
    for target, contents in seeds().items():
        if wanted and target not in wanted:
            continue
        kept = sorted((ROOT / "fuzz" / "found" / target).glob("*"))
        contents = contents[:: max(1, len(contents) // MOST)] + [file.read_bytes() for file in kept] + corpus(target)
        (folder / target).mkdir(parents=True, exist_ok=True)
        for content in contents:
            (folder / target / hashlib.sha1(content).hexdigest()).write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
