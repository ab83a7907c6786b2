"""Live Keras models against the files that Keras writes of them: a file keeps names where the object has code, and whoever reads the
file takes a name for what Keras means by it. So the object itself is asked."""
from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from . import _convoy
from ._arguments import _array
from ._live import packed, warn
from ._live_keras_opened import Opened, left_as_they_are, opened
from .errors import Error, Unsupported, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np
else:
    from . import _numpy as np

_ROUNDING = 1e-6  # of one function on both sides
_SHARE, _FAR = 0.01, {False: 1e-3, True: 5e-2}  # of how many numbers, how far relative to the largest; with half precision


def save(model: Any, path: Path, inputs: tuple) -> None:
    """Raises Unsupported where the file says something else than the object does, or Keras writes none."""
    inputs = tuple(packed(x, lambda one: np.asarray(_array(one))) for x in inputs)
    if not model.built:
        _build(model, inputs)
    for layer in model._flatten_layers():
        for key in ("activation", "recurrent_activation"):
            _check_activation(layer, key)
        if "call" in vars(layer) and any(one.__module__.startswith("keras.") for one in type(layer).__mro__):
            raise Unsupported(f"layer {layer.name!r} was given another call, which no file says", _place_of(model))
    with opened(model, inputs) as written:
        try:
            written.model.save(path)
        except Exception as error:
            line = (str(error).strip() or "no message").splitlines()[0]
            raise Unsupported(f"Keras does not save the model ({type(error).__name__}: {line})", _place_of(model)) from error
        _check_numbers(model, path, written)


def save_layer(layer: Any, path: Path, inputs: tuple) -> None:
    """As a model of this layer alone, which is left as it was."""
    keras = sys.modules["tf_keras" if any(one.__module__.startswith("tf_keras") for one in type(layer).__mro__) else "keras"]
    if inputs:
        arrays = [np.asarray(_array(x)) for x in inputs]
        said = [((None, *x.shape[1:]), None if x.dtype.kind == "f" else str(x.dtype)) for x in arrays]
    else:
        config: dict[str, Any] = getattr(layer, "get_build_config", dict)() or {}
        shape = config.get("input_shape")
        if not layer.built or not shape or not all(isinstance(n, (int, type(None))) for n in shape):
            raise UsageError("a layer alone does not say the shape of its input: give an example input", _place_of(layer))
        said = [((None, *shape[1:]), None)]
    with left_as_they_are([layer, *layer._flatten_layers(include_self=False)]):
        try:
            symbols = [keras.Input(shape[1:], dtype=kind) for shape, kind in said]
            model = keras.Model(symbols, layer(*symbols), name=layer.name)
        except Exception as error:
            line = (str(error).strip() or "no message").splitlines()[0]
            raise UsageError(f"is not called with its input ({type(error).__name__}: {line})", _place_of(layer)) from error
        save(model, path, ())


def _build(model: Any, inputs: tuple) -> None:
    """By one call in inference, as Keras itself builds what states no shapes; nothing else of the model changes."""
    if not inputs:
        raise UsageError("is not built, and has neither shapes nor weights yet: call it once, give an example input, or begin it with a keras.Input",
                         _place_of(model))
    try:
        model(*inputs)
    except Exception as error:
        line = (str(error).strip() or "no message").splitlines()[0]
        raise UsageError(f"is not built, and is not called with the example input ({type(error).__name__}: {line})", _place_of(model)) from error
    warn(f"{_place_of(model)}: was not built; it was called once with the example input, which builds it")


def _place_of(thing: Any) -> str:
    return f"{type(thing).__name__} '{thing.name}'"


def _activations_of(layer: Any) -> Any:
    """Those of the Keras that the layer is of: two may be imported."""
    older = any(one.__module__.startswith("tf_keras") for one in type(layer).__mro__)
    return getattr(sys.modules.get("tf_keras" if older else "keras"), "activations", None)


def _check_activation(layer: Any, key: str) -> None:
    function = getattr(layer, key, None)
    if function is not None and not _has_a_word(function):
        raise Unsupported(f"{key} is {function!r}, which no file of Keras's holds: call it in the model, or give the layer a layer, such as "
                          "keras.layers.LeakyReLU(0.3)", f"layer '{layer.name}' ({type(layer).__name__})")
    name = getattr(function, "__name__", None)
    stock = getattr(_activations_of(layer), name, None) if isinstance(name, str) else None
    if stock is None or stock is function or _same_function(function, stock):
        return
    raise Unsupported(f"{key} is {function.__module__}.{name}, a function of its own, of which Keras's file keeps only the name '{name}', and keras.activations.{name} "
                      "is another: call it in the model instead of giving it to the layer", f"layer '{layer.name}' ({type(layer).__name__})")


def _has_a_word(function: Any) -> bool:
    """A file says a function by its name, and an object by its configuration."""
    return hasattr(function, "__name__") or hasattr(function, "get_config")


def _same_function(function: Any, stock: Any) -> bool:
    """Functions of TensorFlow and of keras.ops are given as activations too, most of them the same."""
    x = np.linspace(-9, 9, 256, dtype="float32").reshape(4, 64)
    try:
        ours, theirs = _numbers(function(x)), _numbers(stock(x))
    except Exception:
        return False
    return ours.shape == theirs.shape and bool(np.allclose(ours, theirs, rtol=_ROUNDING, atol=_ROUNDING, equal_nan=True))


def _numbers(y: Any) -> np.ndarray:
    """A tensor of whichever backend as an array."""
    return np.asarray(y.detach().cpu() if hasattr(y, "detach") else y)


def _leaves(y: Any) -> Iterator[Any]:
    """In the order in which Keras flattens: dictionaries by key."""
    if isinstance(y, dict):
        y = [y[key] for key in sorted(y)]
    if isinstance(y, (list, tuple)):
        for one in y:
            yield from _leaves(one)
    else:
        yield y


def _given(model: Any, arrays: list) -> Any:
    structure = getattr(model, "_inputs_struct", None)
    if isinstance(structure, dict) and len(structure) == len(arrays):
        return dict(zip(sorted(structure), arrays))
    return arrays[0] if len(arrays) == 1 else arrays


def _check_numbers(model: Any, path: Path, written: Opened) -> None:
    """Both on the same made-up numbers. Judged by most of them: what counts or chooses may turn over by a rounding. What was opened
    has to be asked."""
    asked = _convoy.Asked(None, None)
    try:
        native = _convoy.load(os.fsencode(path), _convoy.ReadOptions(), asked)
        arrays = native.probing_inputs()
        read = native.run(arrays, _convoy.RunSettings(), asked)
    except Error:
        return  # what cannot be read says so where it is read
    try:
        live = [_numbers(y) for y in _leaves(model(*(arrays if written.arguments > 1 else [_given(written.model, arrays)])))]
    except Exception as error:
        if written.model is not model:
            raise Unsupported(f"it has classes of its own, which are held against what their calls do, and cannot be asked ({type(error).__name__})",
                              _place_of(model)) from error
        return  # a model that takes its inputs in another way
    halves = any(name in ("float16", "bfloat16") for name in native.dtypes)
    for name, ours, theirs in zip(native.result_names, read, live):
        if ours.shape == theirs.shape and ours.dtype.kind == "f" and theirs.dtype.kind == "f" and theirs.size:
            ours, theirs = ours.astype("float64"), theirs.astype("float64")
            off = np.abs(ours - theirs)
            if np.mean(off > _FAR[halves] * np.abs(theirs).max()) > _SHARE:
                raise Unsupported(f"the object gives other numbers than the file that Keras writes of it (output '{name}' differs by up to {off.max():.3g}): a class, a "
                                  "function or a call of its own stands in it under a name of Keras's", _place_of(model))
