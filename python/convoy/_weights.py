"""A state_dict, or another dict of arrays, where the library wants a file of weights: written once as safetensors, for as long as the
call lasts."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ._arguments import _array
from ._live import is_bytes, is_open, read_from, temporary_folder, whole
from .errors import Error, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
else:
    from . import _numpy as np

_NAMES = {"float16": "F16", "float32": "F32", "float64": "F64", "bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64",
          "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64"}  # fmt: skip


@contextlib.contextmanager
def at_hand(reading: dict) -> Iterator[dict]:
    """What to read, with a path for its weights."""
    weights = reading.get("weights")
    is_file = is_bytes(weights) or is_open(weights)
    if not is_file and not isinstance(weights, Mapping):
        yield reading
        return
    with read_from(weights), temporary_folder() as folder:
        path = folder / ("weights" if is_file else "weights.safetensors")
        if is_file:
            path.write_bytes(whole(weights))
        elif isinstance(weights, Mapping):
            write(weights, path)
        try:
            yield {**reading, "weights": path}
        except Error as error:  # that file is ours
            named = "weights" if is_file else "the dict of weights"
            error.say(error.what.replace(f"'{path}'", named).replace(str(path), named).replace(path.name, named))
            raise


def are_arrays(thing: Any) -> bool:
    """Whether this is a state_dict, or another dict of arrays by name."""
    return isinstance(thing, Mapping) and bool(thing) and all(hasattr(one, "shape") and hasattr(one, "dtype") for one in thing.values())


def apart(source: Any, reading: dict) -> tuple[Any, dict]:
    """Of the pieces of a model, [model, weights] or files by name, the model and what to read it with."""
    if isinstance(source, Mapping) and len(source) == 2 and str(next(iter(source))).endswith(".json") and reading.get("weights") is None:
        source = list(source.values())
    if not isinstance(source, (list, tuple)):
        return source, reading
    if not 1 <= len(source) <= 2:
        raise UsageError(f"{len(source)} pieces of a model in a list: give [model, weights], or a dict of files by the names that they have for each other")
    if len(source) == 2 and reading.get("weights") is not None:
        raise UsageError("weights are given twice: as a piece of the model, and as weights=")
    return source[0], {**reading, "weights": source[1]} if len(source) == 2 else reading


@contextlib.contextmanager
def of_two(reading: dict, weights_a: Any, weights_b: Any) -> Iterator[tuple[dict, dict]]:
    """What to read of two models, each with a path for its weights."""
    of_a, of_b = (reading if weights is None else {**reading, "weights": weights} for weights in (weights_a, weights_b))
    with at_hand(of_a) as a, at_hand(of_b) as b:
        yield a, b


def write(weights: Mapping, path: Path) -> None:
    import json

    header, parts, at = {}, [], 0
    for name, value in weights.items():
        if not isinstance(name, str):
            raise UsageError(f"weights: the name {name!r} is not taken: give a string")
        kind, shape, part = _numbers(name, value)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + part.nbytes]}
        parts.append(part)
        at += part.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for part in parts:
            file.write(part.data)


def _numbers(name: str, value: Any) -> tuple[str, list[int], np.ndarray]:
    """Element type, shape and bytes of a tensor; nothing is copied that lies dense in this machine's memory."""
    if isinstance(value, Mapping):
        raise UsageError(f"weights: {name!r} is a dict itself: give what it holds, weights[{name!r}]")
    try:
        seen = _array(value)
    except UsageError as error:
        raise UsageError(f"weights: {name!r}: {error.what}") from None
    shape = [int(n) for n in seen.shape]
    if not isinstance(seen, np.ndarray):  # torch's, whose bfloat16 numpy has not
        kind = str(seen.dtype).removeprefix("torch.")
        if kind == "bfloat16":
            import torch

            return "BF16", shape, seen.reshape(-1).view(torch.int16).numpy()
        seen = seen.numpy()
    return _NAMES[str(seen.dtype)], shape, seen.reshape(-1)
