"""The frameworks' functions on arrays, by their own names, arguments, defaults and refusals: no framework is needed.

    convoy.torch.conv_transpose1d(x, w, stride=2, output_padding=1)
    convoy.keras.conv2d(x, kernel, strides=2, padding="same")
    convoy.tf.nn.conv2d(x, filters, strides=2, padding="SAME")
    convoy.onnx.Conv(x, w, strides=[2, 2], auto_pad="SAME_UPPER", opset=17)
"""
from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from . import _convoy
from ._arguments import _array, _whole, shown
from .errors import BrokenFile, UsageError

if TYPE_CHECKING:
    import numpy as np
else:
    from . import _numpy as np


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (hasattr(value, "__dlpack__") and not isinstance(value, np.generic))


class Function:
    """One function. Arrays are numpy's, or anything that comes by DLPack; what else it takes are numbers, truths, words and lists of
    them. Gives one array, or a tuple of several."""

    def __init__(self, framework: str, name: str, parameters: list[str]) -> None:
        self._framework, self.__name__ = framework, name
        self.parameters = tuple(parameters)  # in the order of the framework's own signature
        whose = "as the layer of Keras computes it; arguments and defaults are those of its constructor" if framework == "keras" else f"as {framework} computes it"
        self.__doc__ = f"{name}({', '.join(parameters)}), {whose}."

    def __repr__(self) -> str:
        return f"<convoy.{self._framework}.{self.__name__}({', '.join(self.parameters)})>"

    def __call__(self, *placed: Any, opset: int | None = None, results: int = 1, **named: Any) -> Any:
        given = self._by_name(placed, named)
        order = {name: place for place, name in enumerate(self.parameters)}
        arrays: list[tuple[str, Any]] = []
        arguments: dict[str, Any] = {}
        for name, value in sorted(given.items(), key=lambda one: order.get(one[0], len(order))):
            if value is None:
                continue  # left out
            if _is_array(value):
                arrays.append((name, _array(value)))
            elif isinstance(value, (list, tuple)) and value and all(map(_is_array, value)):
                arrays += [(f"{name}.{place}", _array(one)) for place, one in enumerate(value)]
            else:
                arguments[name] = self._plain(name, value)
        if self._framework == "torch" and arguments.get("return_indices") is True:
            results = 2
        import json

        opset, results = 0 if opset is None else _whole(opset, "opset", 1), _whole(results, "results", 1, 16)
        try:
            made = _convoy.call(self._framework, self.__name__, arrays, json.dumps(arguments), opset, results)
        except BrokenFile as error:  # there is no file
            missing = next((name for name in arguments if f"argument '{name}' is missing" in error.what), None)
            what = error.what if missing is None else f"{missing}={shown(given[missing])} is no array: give one of numpy's, or another that comes by DLPack"
            raise UsageError(what, error.where) from None
        return made[0] if len(made) == 1 else tuple(made)

    def _by_name(self, placed: tuple, named: dict) -> dict[str, Any]:
        given: dict[str, Any] = {}
        names = list(self.parameters)
        for place, value in enumerate(placed):
            if place < len(names) and names[place].endswith("..."):
                given[names[place][:-3]] = list(placed[place:])
                break
            if place >= len(names):
                raise UsageError(f"{self.__name__}() takes {len(names)} arguments by their places: {', '.join(names)}")
            given[names[place]] = value
        for name, value in named.items():
            if name in given:
                raise UsageError(f"{self.__name__}() is given {name!r} twice")
            given[name] = value
        return given

    def _plain(self, name: str, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [None if one is None else self._plain(name, one) for one in value]  # output_size=(None, 7)
        if isinstance(value, (bool, str)):
            return value
        if isinstance(value, np.bool_):
            return bool(value)
        try:
            return operator.index(value)
        except TypeError:
            pass
        if isinstance(value, (float, np.floating)) and math.isfinite(value):
            return float(value)
        raise UsageError(f"{name}={shown(value)} is not taken: give an array, finite numbers, truths or words")


class Functions:
    """Those of one framework, by name; `dir()` lists them."""

    def __init__(self, framework: str, prefix: str = "") -> None:
        self._framework, self._prefix = framework, prefix
        self._table: dict[str, Function] | None = None

    def _functions(self) -> dict[str, Function]:
        if self._table is None:
            self._table = {name: Function(self._framework, name, parameters)
                           for name, parameters in _convoy.functions_of(self._framework)
                           if name.startswith(self._prefix) and not (self._framework == "torch" and name[0].isupper())}  # torch.nn's layers
        return self._table

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        known, full = self._functions(), self._prefix + name
        if full in known:
            return known[full]
        if any(one.startswith(full + ".") for one in known):
            return Functions(self._framework, full + ".")
        raise AttributeError(f"{self!r} has no function {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({name[len(self._prefix):].partition(".")[0] for name in self._functions()})

    def __repr__(self) -> str:
        return f"<convoy.{self._framework}{'.' + self._prefix[:-1] if self._prefix else ''}: {self._framework}'s functions>"


torch = Functions("torch")
keras = Functions("keras")
tf = Functions("tf")
onnx = Functions("onnx")
