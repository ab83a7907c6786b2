"""Carries convolutional networks between PyTorch, Keras, TensorFlow, TFLite and ONNX so that the numbers agree, and proves it.

    net = convoy.load("digits.keras")          # no framework is needed
    y = net(x)
    convoy.port("digits.keras", "digits.onnx")
    convoy.assert_same("digits.keras", "digits.onnx")
"""
from typing import TYPE_CHECKING

from ._convoy import version as __version__
from ._functions import keras as keras, onnx as onnx, tf as tf, torch as torch  # not for import *: they are the frameworks' names
from ._live import Warning
from ._model import Model, assert_same, diff, diff_calls, load, mend, pad, port, weights
from ._progress import Progress
from ._targets import copy_weights, to_keras, to_onnx, to_tflite, to_torch
from .errors import BrokenFile, Error, FileError, InternalError, NotInstalled, NotProven, Unsupported, UsageError

if TYPE_CHECKING:
    from . import batch as batch
    from ._values import CallsDifference, Difference, Finding, Layer, PadAxis, Padding, PadLine, Report, Value

__all__ = ["BrokenFile", "CallsDifference", "Difference", "Error", "FileError", "Finding", "InternalError", "Layer", "Model", "NotInstalled",
           "NotProven", "PadAxis", "PadLine", "Padding", "Progress", "Report", "Unsupported", "UsageError", "Value", "Warning", "assert_same", "batch",
           "copy_weights", "diff", "diff_calls", "load", "mend", "pad", "port", "to_keras", "to_onnx", "to_tflite", "to_torch", "weights"]


def __getattr__(name: str) -> object:
    """What takes as long to import as all the rest is imported where it is asked for: `convoy.batch`, and the classes of what calls give."""
    import importlib

    if name == "batch":
        return importlib.import_module(".batch", __name__)
    if name in __all__:
        return getattr(importlib.import_module("._values", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
