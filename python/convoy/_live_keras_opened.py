"""Live Keras models with classes of the caller's own, whose code no file holds: each is opened, so that what its call does with layers
and operations of Keras's stands in the file instead. Where that cannot be followed, the model is left as it is, and refused by name."""
from __future__ import annotations

import contextlib
import sys
from _thread import allocate_lock, get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _live_keras_sizes
from .errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_opening = allocate_lock()  # of one model at a time: classes are patched meanwhile
_OF_KERAS = ("keras", "tf_keras", "tensorflow")


class Opened(NamedTuple):
    """A model built of Keras's classes, with the same layers and weights, and how many arguments the one that was opened takes."""

    model: Any
    arguments: int
    fixed_by: str = ""  # why the sizes of its inputs are the example's and none is free


@contextlib.contextmanager
def opened(model: Any, inputs: tuple, fixed_by: str = "") -> Iterator[Opened]:
    """For as long as this lasts; where there is nothing to open, or no way to, the model itself. Free sizes stay free unless its calls go
    by them, or `fixed_by` says why not."""
    keras = sys.modules.get("keras")
    layers = [model, *model._flatten_layers(include_self=False)]
    own = [layer for layer in layers if _is_own(layer)]
    if not own or keras is None or not isinstance(model, keras.Model) or not all(_can_be_opened(layer) for layer in own):
        yield Opened(model, 1)
        return
    with _opening, left_as_they_are(layers), _slices_followed(keras):
        through = _containing(layers, own)
        made, refusal = None, None
        if not fixed_by:
            try:
                made = _followed(keras, model, through, inputs)
                fixed_by = _live_keras_sizes.asked_for(keras, lambda sizes: _followed(keras, model, through, inputs, sizes))
            except Exception as error:
                fixed_by, refusal = "cannot be followed with sizes that are free " + f"({_line(error)})", error
        if fixed_by and inputs:
            try:
                made = _followed(keras, model, through, inputs, _AS_GIVEN)._replace(fixed_by=fixed_by)
            except Exception as error:
                made, refusal = None, refusal or error
        elif fixed_by and refusal is None:
            raise Unsupported(f"{fixed_by}: give an example input, whose sizes it is then read for", _place_of(model))
        if refusal is not None and made is None:
            if _structure_of(model) is None:  # else it may be cut in front of what cannot be followed
                wish = "" if inputs else "; give an example input, as it is called with"
                raise Unsupported(f"is a class of its own, and what its call does cannot be followed ({_line(refusal)}){wish}", _place_of(model)) from refusal
            made = Opened(model, 1)
        assert made is not None
        yield made


def _place_of(model: Any) -> str:
    return f"model '{model.name}' ({type(model).__name__})"


def _line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _is_own(layer: Any) -> bool:
    return type(layer).__module__.partition(".")[0] not in _OF_KERAS


def _can_be_opened(layer: Any) -> bool:
    """Weights of its own would stand in the file as constants, which cannot be trained."""
    return bool(layer.built) and not layer._trainable_variables and not layer._non_trainable_variables


def _containing(layers: list, own: list) -> list:
    """Those, and the models of Keras's that hold one of them somewhere."""
    ids = {id(one) for one in own}
    return own + [one for one in layers if id(one) not in ids and ids & {id(part) for part in one._flatten_layers(include_self=False)}]


@contextlib.contextmanager
def left_as_they_are(layers: list) -> Iterator[None]:
    """What is called with symbolic tensors remembers it, and its `output` is then no longer one."""
    before = [(one, one.name, list(one._inbound_nodes), list(one._outbound_nodes)) for one in layers]
    try:
        yield
    finally:
        for one, name, inbound, outbound in before:
            one.name = name
            one._inbound_nodes[:], one._outbound_nodes[:] = inbound, outbound


@contextlib.contextmanager
def _called_through(layers: list) -> Iterator[None]:
    """On this thread their `call` is all that calling these layers does."""
    ids, here = {id(one) for one in layers}, get_ident()

    def through(usual: Any) -> Any:
        return lambda self, *given, **named: (self.call if id(self) in ids and get_ident() == here else usual.__get__(self))(*given, **named)

    before = [(kind, vars(kind).get("__call__"), kind.__call__) for kind in {type(one) for one in layers}]
    for kind, _, usual in before:
        kind.__call__ = through(usual)
    try:
        yield
    finally:
        for kind, its_own, _ in before:
            if its_own is not None:
                kind.__call__ = its_own
            else:
                del kind.__call__


@contextlib.contextmanager
def _slices_followed(keras: Any) -> Iterator[None]:
    """Keras follows x[:2,], and not x[:2], which is the same."""
    usual = keras.KerasTensor.__getitem__
    keras.KerasTensor.__getitem__ = lambda self, key: usual(self, (key,) if isinstance(key, slice) else key)
    try:
        yield
    finally:
        keras.KerasTensor.__getitem__ = usual


def _name_apart(layers: list) -> None:
    """Two blocks of one class may call their layers the same."""
    seen: set[str] = set()
    for one in layers:
        name, count = one.name, 1
        while one.name in seen:
            one.name, count = f"{name}_{count}", count + 1
        seen.add(one.name)


_AS_GIVEN = (0, 0)


def _followed(keras: Any, model: Any, through: list, inputs: tuple, sizes: tuple[int, int] | None = None) -> Opened:
    """`sizes`: what stands for a batch, and for any other size, that is free otherwise."""
    try:
        return _followed_once(keras, model, through, inputs, sizes)
    except ValueError as error:
        if "unique" not in str(error):
            raise
    _name_apart([model, *model._flatten_layers(include_self=False)])
    return _followed_once(keras, model, through, inputs, sizes)


def _followed_once(keras: Any, model: Any, through: list, inputs: tuple, sizes: tuple[int, int] | None) -> Opened:
    given = _symbols(keras, model, inputs, sizes)
    with _called_through(through):
        outputs = model(*given)
    return Opened(keras.Model(given[0] if len(given) == 1 else list(given), outputs, name=model.name), len(given))


def _structure_of(model: Any) -> Any:
    """Its inputs as Keras keeps them; None: only its call says what they are."""
    return getattr(getattr(model, "_functional", None) or model, "_inputs_struct", None)


def _symbols(keras: Any, model: Any, inputs: tuple, sizes: tuple[int, int] | None) -> tuple:
    """What stands for the arguments of the model's call."""
    known = _structure_of(model)
    if known is not None and sizes != _AS_GIVEN:
        return (keras.tree.map_structure(
            lambda one: keras.Input(batch_shape=_sized(one.shape, sizes), dtype=one.dtype, name=one._keras_history.operation.name), known),)  # fmt: skip
    if inputs:
        shape_of = (lambda array: array.shape) if sizes == _AS_GIVEN else (lambda array: _sized((None, *array.shape[1:]), sizes))
        return tuple(with_names(one, lambda array, name: keras.Input(batch_shape=shape_of(array), dtype=type_of(array), name=name)) for one in inputs)
    if any(isinstance(one, keras.layers.Embedding) for one in model._flatten_layers()):
        raise ValueError("an Embedding takes whole numbers, which only an example shows")
    return tuple(with_names(shape, lambda one, name: keras.Input(batch_shape=_sized((None, *one[1:]), sizes), name=name))
                 for shape in model._build_shapes_dict.values())  # fmt: skip


def _sized(shape: tuple, sizes: tuple[int, int] | None) -> tuple:
    return shape if sizes is None else tuple(sizes[i > 0] if n is None else n for i, n in enumerate(shape))


def with_names(x: Any, of: Callable[[Any, str | None], Any], name: str | None = None) -> Any:
    """What `of` makes of each array or shape and of its key, packed as these are."""
    if isinstance(x, dict):
        return {key: with_names(one, of, key) for key, one in x.items()}
    if isinstance(x, (list, tuple)) and any(hasattr(one, "__len__") for one in x):
        return [with_names(one, of) for one in x]
    return of(x, name)


def type_of(array: Any) -> str | None:
    """Real numbers become what the model computes in."""
    return None if array.dtype.kind == "f" else str(array.dtype)
