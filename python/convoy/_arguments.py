"""Arguments as the native part takes them; what is none is refused by its name."""
from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _convoy
from .errors import Error, UsageError

if TYPE_CHECKING:
    import numpy as np
else:
    from . import _numpy as np

_SHOWN, _LETTERS = 3, 120  # how many of many, and of how long a text


def shown(value: Any) -> str:
    """A value as a message shows it: what is long by its beginning, arrays by their type and shape."""
    if type(value) in (list, tuple):
        several: list[Any] | tuple[Any, ...] = value
        text = ", ".join([shown(one) for one in several[:_SHOWN]] + ["..."] * (len(several) > _SHOWN))
        return f"[{text}]" if isinstance(several, list) else f"({text}{',' * (len(several) == 1)})"
    if isinstance(value, Mapping):
        items = [f"{shown(key)}: {shown(one)}" for key, one in list(value.items())[:_SHOWN]]
        return "{" + ", ".join(items + ["..."] * (len(value) > _SHOWN)) + "}"
    if hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, np.generic):
        return f"<{type(value).__module__}.{type(value).__qualname__} of {value.dtype}, shape {tuple(value.shape)}>"
    text = repr(value)
    return text if len(text) <= _LETTERS else f"{text[:_LETTERS]}..."


def _of_tensorflow(x: Any) -> Any:
    """A tensor or variable of TensorFlow's where it lies, as its buffer; what has none (bfloat16) as TensorFlow's own copy."""
    x = x.read_value() if hasattr(x, "read_value") else x
    try:
        return np.asarray(memoryview(x))
    except (BufferError, TypeError, ValueError):
        return x.numpy()


def _of_torch(x: Any) -> Any:
    """A tensor that may be one of a subclass's, without its gradients and dense."""
    if getattr(x, "is_meta", False):
        raise UsageError("a tensor on the device 'meta' has a shape and no numbers: give one that has")
    layout = str(getattr(x, "layout", "torch.strided"))
    if layout != "torch.strided" or getattr(x, "is_nested", False):
        raise UsageError(f"a tensor of layout {'nested' if getattr(x, 'is_nested', False) else layout.removeprefix('torch.')} is not taken: "
                         "give a dense one, x.to_dense() or x.to_padded_tensor(0)")
    x = x.detach().cpu().resolve_neg().contiguous()
    if x.is_complex() or x.is_quantized:
        raise UsageError(f"a tensor of {x.dtype} is not taken: give float, integer or bool of at most 64 bits")
    return x


def _array(x: Any) -> Any:
    """What the native part looks at without a copy where it can: dense numbers in this machine's memory."""
    kind = f"{type(x).__module__}.{type(x).__qualname__}"
    refusal = ""
    try:
        if kind.startswith("torch.") or hasattr(x, "detach"):  # gradients stay where they are
            return _of_torch(x)
        if kind.startswith("tensorflow."):  # DLPack of its strings ends the process
            x = _of_tensorflow(x)
        elif hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray):
            try:
                x = np.from_dlpack(x)
            except (BufferError, RuntimeError, TypeError, AttributeError) as error:
                refusal = str(error)
        if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
            raise UsageError("a masked array is not taken: fill what is hidden first")
        x = np.asarray(x)
    except Error:
        raise
    except Exception as error:
        raise UsageError(f"{kind} is no array of numbers: {str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__}") from error
    if x.dtype.hasobject and refusal:
        raise UsageError(f"{kind} does not hand over its numbers ({refusal}): give them in this machine's memory")
    if x.dtype.hasobject or x.dtype.kind not in "fiub" or x.dtype.itemsize > 8:
        raise UsageError(f"an array of dtype {x.dtype} is not taken: give float, integer or bool of at most 64 bits")
    return np.asarray(x, dtype=x.dtype.newbyteorder("="), order="C")


def _sizes(numbers: Any, name: str) -> list[int | None]:
    """One number or several, numpy's as well; None among them is a free size."""
    if numbers is None:
        return []
    if isinstance(numbers, (str, bytes)):
        raise UsageError(f"{name}={shown(numbers)} is no size: give whole numbers, (224, 224), with None for a free one")
    try:
        if hasattr(numbers, "__index__"):
            return [_whole(numbers, name)]
        return [None if n is None else _whole(n, name) for n in numbers]
    except TypeError:
        raise UsageError(f"{name}={shown(numbers)} is no size: give whole numbers, or None for a free one") from None


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool) or (type(value).__module__ == "numpy" and isinstance(value, np.bool_))


def _whole(number: Any, name: str, least: int = 0, most: int = 2**62) -> int:
    try:
        value = operator.index(number)
    except TypeError:
        value = None
    if value is None or _is_truth(number) or not least <= value <= most:
        raise UsageError(f"{name}={shown(number)} is not taken: give a whole number from {least} to {most}") from None
    return value


def _truth(value: Any, name: str) -> bool:
    if not _is_truth(value):
        raise UsageError(f"{name}={shown(value)} is not taken: give True or False")
    return bool(value)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name}={shown(value)} is not taken: give a string")
    return value


def _path(value: Any, name: str) -> bytes:
    if not isinstance(value, (str, bytes, os.PathLike)) or not os.fspath(value):
        raise UsageError(f"{name}={shown(value)} is no path")
    return os.fsencode(value)


def _names(value: Any, name: str) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, (list, tuple, set, frozenset)) or not all(isinstance(one, (str, os.PathLike)) for one in value):
        raise UsageError(f"{name}={shown(value)} is not taken: give a string, or several in a list")
    return [os.fspath(one) for one in value]


def _memory(budget: Any) -> int:
    """Bytes, or words such as "8G"."""
    if not isinstance(budget, str):
        return _whole(budget, "budget", 1, 2**55)
    try:
        return _convoy.memory_of(budget)
    except UsageError as error:
        raise UsageError(f"budget: {error.what}") from None


def _literal(value: Any, name: str) -> str:
    """A value in Python's own words."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (bool, int, float, str)) or value is None:
        return f"float({str(value)!r})" if isinstance(value, float) and not np.isfinite(value) else repr(value)
    if isinstance(value, (tuple, list)):
        items = "".join(f"{_literal(one, name)}, " for one in value)
        return f"({items})" if isinstance(value, tuple) else f"[{items}]"
    if isinstance(value, Mapping):
        return "{" + "".join(f"{_literal(key, name)}: {_literal(one, name)}, " for key, one in value.items()) + "}"
    raise UsageError(f"names: {name}={shown(value)} is not taken: give numbers, strings, None, or tuples, lists and dicts of them")


def _seed(seed: Any) -> int:
    """A negative one as its two's complement."""
    return _whole(seed, "seed", -2**63, 2**64 - 1) % 2**64


def _threads(threads: Any) -> int:
    return _whole(threads, "threads", 0, 256)


def _reading(size=None, shapes=None, types=None, weights=None, outputs=(), import_roots=(), seed=None, names=None, dequantize=False, signature="",
             **others: Any) -> _convoy.ReadOptions:
    if others:
        raise UsageError(f"there is no argument {next(iter(others))!r}")
    reading = _convoy.ReadOptions()
    if weights is not None:
        reading.weights = _path(weights, "weights")
    if size is not None:
        reading.size = _sizes(size, "size")
    if shapes is not None:
        named = shapes if isinstance(shapes, Mapping) else {"": shapes}
        reading.shapes = {name: _sizes(shape, "shapes") for name, shape in named.items()}
    if types is not None:
        named = types if isinstance(types, Mapping) else {"": types}
        try:
            reading.types = {name: str(np.dtype(type)) if not isinstance(type, str) else type for name, type in named.items()}
        except (TypeError, ValueError):
            raise UsageError(f"types={shown(types)} is not taken: give an element type such as 'int64', or a dict of them by input") from None
    reading.outputs = _names(outputs, "outputs")
    roots = _names([import_roots] if isinstance(import_roots, os.PathLike) else import_roots, "import_roots")
    reading.import_roots = [os.fsencode(root) for root in roots]
    if seed is not None:
        reading.seed = _seed(seed)
    if names is not None:
        if not isinstance(names, Mapping):
            raise UsageError(f"names={shown(names)} is not taken: give a dict of values by name")
        reading.names = [f"{_text(name, 'names')}={_literal(value, name)}" for name, value in names.items()]
    reading.dequantizes = _truth(dequantize, "dequantize")
    reading.signature = _text(signature, "signature")
    return reading


def _padding(size: Any, kernel: Any, channels: Any, layout: Any) -> _convoy.PadSettings:
    settings = _convoy.PadSettings()
    settings.size = _sizes(size, "size")
    kernels = _sizes(kernel, "kernel")
    settings.kernel = [one for one in kernels if one is not None]
    if len(settings.kernel) < len(kernels):
        raise UsageError(f"kernel={shown(kernel)} is not taken: give whole numbers")
    if channels is not None:
        settings.channels = _whole(channels, "channels", 1)
    settings.layout = _text(layout, "layout")
    return settings


def _porting(to="", force=False, proof=True, without=(), opset=None, interface="target", weights_format="safetensors", optimize=False,
             external_data=False, float16_weights=False, reals=None, quantized=None, seed=None, threads=0) -> _convoy.PortSettings:
    settings = _convoy.PortSettings()
    if interface not in ("target", "source"):
        raise UsageError(f"interface={shown(interface)}: write 'target' or 'source'")
    settings.source_axes = interface == "source"
    settings.to = _text(to, "to")
    settings.overwrites, settings.proves = _truth(force, "force"), _truth(proof, "proof")
    settings.without = _names(without, "without")
    settings.weights_format = _text(weights_format, "weights_format")
    if opset is not None:
        settings.opset = _whole(opset, "opset", 1)
    settings.optimizes, settings.external_data = _truth(optimize, "optimize"), _truth(external_data, "external_data")
    settings.rounds_to_halves = _truth(float16_weights, "float16_weights")
    if reals is not None and not settings.set_reals(_text(reals, "reals")):
        raise UsageError(f"reals={shown(reals)}: write 'float16', 'bfloat16' or 'float32'")
    if quantized is not None and not settings.set_quantized(_text(quantized, "quantized")):
        raise UsageError(f"quantized={shown(quantized)}: write 'keep', 'fake' or 'float'")
    if seed is not None:
        settings.seed = _seed(seed)
    settings.threads = _threads(threads)
    return settings


