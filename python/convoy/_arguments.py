"""Arguments as the native part takes them; what is none is refused by its name."""
from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _convoy
from .errors import Error, UsageError


def _array(x: Any) -> Any:
    """What the native part looks at without a copy where it can: dense numbers in this machine's memory."""
    kind = f"{type(x).__module__}.{type(x).__qualname__}"
    try:
        if kind.startswith("torch.") or hasattr(x, "detach"):  # gradients stay where they are
            x = x.detach().cpu().contiguous()
            if x.is_complex() or x.is_quantized:
                raise UsageError(f"a tensor of {x.dtype} is not taken: give float, integer or bool of at most 64 bits")
            return x
        if kind.startswith("tensorflow."):  # DLPack of its strings ends the process
            x = x.numpy()
        elif hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray):
            try:
                x = np.from_dlpack(x)
            except (BufferError, RuntimeError, TypeError, AttributeError):
                pass
        if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
            raise UsageError("a masked array is not taken: fill what is hidden first")
        x = np.asarray(x)
    except Error:
        raise
    except Exception as error:
        raise UsageError(f"{kind} is no array of numbers: {str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__}") from error
    if x.dtype.hasobject or x.dtype.kind not in "fiub" or x.dtype.itemsize > 8:
        raise UsageError(f"an array of dtype {x.dtype} is not taken: give float, integer or bool of at most 64 bits")
    x = np.asarray(x, dtype=x.dtype.newbyteorder("="), order="C")
    return x if x.flags.writeable else x.copy()


def _sizes(numbers: Any, name: str) -> list[int | None]:
    """One number or several, numpy's as well; None among them is a free size."""
    if numbers is None:
        return []
    try:
        if hasattr(numbers, "__index__"):
            return [_whole(numbers, name)]
        return [None if n is None else _whole(n, name) for n in numbers]
    except TypeError:
        raise UsageError(f"{name}={numbers!r} is no size: give whole numbers, or None for a free one") from None


def _whole(number: Any, name: str, least: int = 0, most: int = 2**62) -> int:
    try:
        value = operator.index(number)
    except TypeError:
        value = None
    if value is None or isinstance(number, (bool, np.bool_)) or not least <= value <= most:
        raise UsageError(f"{name}={number!r} is not taken: give a whole number from {least} to {most}") from None
    return value


def _truth(value: Any, name: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise UsageError(f"{name}={value!r} is not taken: give True or False")
    return bool(value)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name}={value!r} is not taken: give a string")
    return value


def _path(value: Any, name: str) -> bytes:
    if not isinstance(value, (str, bytes, os.PathLike)) or not os.fspath(value):
        raise UsageError(f"{name}={value!r} is no path")
    return os.fsencode(value)


def _names(value: Any, name: str) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, (list, tuple, set, frozenset)) or not all(isinstance(one, (str, os.PathLike)) for one in value):
        raise UsageError(f"{name}={value!r} is not taken: give a string, or several in a list")
    return [os.fspath(one) for one in value]


def _memory(budget: Any) -> int:
    """Bytes, or words such as "8G"."""
    if not isinstance(budget, str):
        return _whole(budget, "budget", 1, 2**55)
    try:
        return _convoy.memory_of(budget)
    except UsageError as error:
        raise UsageError(f"budget: {error.what}") from None


def _reading(size=None, shapes=None, weights=None, outputs=(), import_roots=(), seed=None, **others: Any) -> Any:
    if others:
        raise UsageError(f"there is no argument {next(iter(others))!r}")
    reading = _convoy.Reading()
    if weights is not None:
        reading.weights = os.fsdecode(_path(weights, "weights"))
    if size is not None:
        reading.size = _sizes(size, "size")
    if shapes is not None:
        named = shapes if isinstance(shapes, Mapping) else {"": shapes}
        reading.shapes = {name: _sizes(shape, "shapes") for name, shape in named.items()}
    reading.outputs = _names(outputs, "outputs")
    reading.import_roots = _names([import_roots] if isinstance(import_roots, os.PathLike) else import_roots, "import_roots")
    if seed is not None:
        reading.seed = _whole(seed, "seed", -2**63, 2**64 - 1) % 2**64
    return reading


