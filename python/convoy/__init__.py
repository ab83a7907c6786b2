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
from ._values import CallsDifference, Difference, Finding, Layer, PadAxis, Padding, PadLine, Report, Value
from .errors import BrokenFile, Error, FileError, InternalError, NotProven, Unsupported, UsageError

if TYPE_CHECKING:
    from . import batch as batch

__all__ = ["BrokenFile", "CallsDifference", "Difference", "Error", "FileError", "Finding", "InternalError", "Layer", "Model", "NotProven",
           "PadAxis", "PadLine", "Padding", "Progress", "Report", "Unsupported", "UsageError", "Value", "Warning", "assert_same", "batch",
           "copy_weights", "diff", "diff_calls", "load", "mend", "pad", "port", "to_keras", "to_onnx", "to_tflite", "to_torch", "weights"]


def __getattr__(name: str):
    """`convoy.batch` is imported where it is asked for: what it needs takes as long as all the rest."""
    if name == "batch":
        import importlib

        return importlib.import_module(".batch", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
