"""Live Keras models against the files that Keras writes of them: a file keeps names where the object has code, and whoever reads the
file takes a name for what Keras means by it. So the object itself is asked."""
from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from . import _convoy
from ._arguments import _array
from ._live import packed, warn
from ._live_keras_opened import Opened, left_as_they_are, opened, type_of, with_names
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
    difference, written = _save_opened(model, path, inputs)
    if difference and inputs and written.model is not model:
        difference, written = _save_opened(model, path, inputs, f"does otherwise where sizes are free ({difference})")
    if difference:
        wish = "" if inputs or written.model is model else ", or the call goes by sizes: give an example input, whose sizes it is then read for"
        raise Unsupported(f"the object gives other numbers than the file that Keras writes of it ({difference}): a class, a function or a call of its own "
                          f"stands in it under a name of Keras's{wish}", _place_of(model))
    if written.fixed_by:
        warn(f"{_place_of(model)}: {written.fixed_by}; it was read for the sizes of the example alone")


def _save_opened(model: Any, path: Path, inputs: tuple, fixed_by: str = "") -> tuple[str, Opened]:
    """How it differs from what was written, and that."""
    with opened(model, inputs, fixed_by) as written:
        try:
            written.model.save(path)
        except Exception as error:
            line = (str(error).strip() or "no message").splitlines()[0]
            raise Unsupported(f"Keras does not save the model ({type(error).__name__}: {line})", _place_of(model)) from error
        return _difference(model, path, written), written


def save_layer(layer: Any, path: Path, inputs: tuple) -> None:
    """As a model of this layer alone, which is left as it was."""
    keras = sys.modules["tf_keras" if any(one.__module__.startswith("tf_keras") for one in type(layer).__mro__) else "keras"]
    flat: list[Any] = []
    arrays: list[Any] = []

    def symbol(shape: tuple, kind: str | None, name: str | None = None) -> Any:
        flat.append(keras.Input(shape[1:], dtype=kind, name=name))
        return flat[-1]

    def symbol_of(array: np.ndarray, name: str | None) -> Any:
        arrays.append(array)
        return symbol(array.shape, type_of(array), name)

    if inputs:
        symbols = [with_names(packed(x, lambda one: np.asarray(_array(one))), symbol_of) for x in inputs]
    else:
        config: dict[str, Any] = getattr(layer, "get_build_config", dict)() or {}
        shape = config.get("input_shape")
        if not layer.built or not shape or not all(isinstance(n, (int, type(None))) for n in shape):
            raise UsageError("a layer alone does not say the shape of its input: give an example input", _place_of(layer))
        symbols = [symbol(tuple(shape), None)]
    with left_as_they_are([layer, *layer._flatten_layers(include_self=False)]):
        outputs = _called(layer, symbols, type(inputs[0]) is tuple if inputs else False)
        save(keras.Model(flat[0] if len(flat) == 1 else flat, outputs, name=layer.name), path, (arrays if len(arrays) > 1 else arrays[0],) if arrays else ())


def _called(layer: Any, symbols: list, are_arguments: bool) -> Any:
    """Its outputs. Several inputs are its arguments, or one list of them; a tuple of all of them is taken apart first, a list last."""
    ways = [symbols]
    if len(symbols) > 1:
        ways.append([symbols])
    elif isinstance(symbols[0], (list, tuple)):
        ways.insert(0 if are_arguments else 1, list(symbols[0]))
    refusal: Exception | None = None
    for way in ways:
        try:
            return layer(*way)
        except Exception as error:
            refusal = refusal or error
    assert refusal is not None
    line = (str(refusal).strip() or "no message").splitlines()[0]
    raise UsageError(f"is not called with its input ({type(refusal).__name__}: {line})", _place_of(layer)) from refusal


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


def _difference(model: Any, path: Path, written: Opened) -> str:
    """Both on the same made-up numbers. Judged by most of them: what counts or chooses may turn over by a rounding. What was opened
    has to be asked, and of other sizes too where they are free."""
    asked, settings = _convoy.Asked(None, None), _convoy.RunSettings()
    try:
        native = _convoy.load(os.fsencode(path), _convoy.ReadOptions(), asked)
        arrays = native.probing_inputs()
        read = native.run(arrays, settings, asked)
    except Error:
        return ""  # what cannot be read says so where it is read
    is_opened = written.model is not model
    try:
        live = _answers(model, written, arrays)
    except Exception as error:
        if is_opened:
            raise Unsupported(f"it has classes of its own, which are held against what their calls do, and cannot be asked ({type(error).__name__})",
                              _place_of(model)) from error
        return ""  # a model that takes its inputs in another way
    found = _compared(native, read, live)
    for other in _of_other_sizes(native, arrays) if is_opened and not found else ():
        try:
            read, live = native.run(other, settings, asked), _answers(model, written, other)
        except Exception:
            continue  # one of both takes no such sizes
        said = next((f"output '{name}' is {list(theirs.shape)} instead of {list(ours.shape)}"
                     for name, ours, theirs in zip(native.result_names, read, live) if ours.shape != theirs.shape), "") or _compared(native, read, live)  # fmt: skip
        found = found or said and f"{said}, of inputs {', '.join(str(list(one.shape)) for one in other)}"
    return found


def _compared(native: Any, read: list, live: list) -> str:
    halves = any(name in ("float16", "bfloat16") for name in native.dtypes)
    for name, ours, theirs in zip(native.result_names, read, live):
        if ours.shape == theirs.shape and ours.dtype.kind == "f" and theirs.dtype.kind == "f" and theirs.size:
            ours, theirs = ours.astype("float64"), theirs.astype("float64")
            off = np.abs(ours - theirs)
            if np.mean(off > _FAR[halves] * np.abs(theirs).max()) > _SHARE:
                return f"output '{name}' differs by up to {off.max():.3g}"
    return ""


def _answers(model: Any, written: Opened, arrays: list) -> list:
    return [_numbers(y) for y in _leaves(model(*(arrays if written.arguments > 1 else [_given(written.model, arrays)])))]


def _of_other_sizes(native: Any, arrays: list) -> Iterator[list]:
    """Numbers made up for a batch of one and of one more, and for what else is free one less, where these are free."""
    shapes = [shape for _, _, shape in native.inputs]
    if all(shape and shape[0] is None for shape in shapes):
        yield [one[:1] for one in arrays]
        yield [np.concatenate([one, one[:1][..., ::-1] if one.ndim > 1 else one[:1]]) for one in arrays]
    others = [[i for i, n in enumerate(shape) if i and n is None] for shape in shapes]
    if any(others):
        yield [one[tuple(slice(0, n - (i in free) or n) for i, n in enumerate(one.shape))] for one, free in zip(arrays, others)]
