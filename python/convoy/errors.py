"""What calls fail with. Each says what is wrong, and where in the file."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._values import Report

# The command's options by the names of the arguments here.
_ARGUMENTS = {"--force": "force=True", "--shape": "shapes", "--size": "size", "--weights": "weights", "--outputs": "outputs",
              "--seed": "seed", "--to": "to", "--opset": "opset", "--allow-root": "import_roots", "--input": "an input", "--kernel": "kernel", "--channels": "channels", "--layout": "layout", "--budget": "budget",
              "--quantized": "quantized", "--optimize": "optimize", "--external-data": "external_data", "--float16-weights": "float16_weights",
              "--weights-format": "weights_format", "--set": "names", "--dequantize": "dequantize=True", "--signature": "signature",
              "--without": "without", "--interface": "interface"}


def _as_argument(sentence: str) -> str:
    sentence = re.sub(r"^-o (?=')", "output ", sentence)
    return re.sub(r"--[a-z-]+", lambda found: _ARGUMENTS.get(found[0], found[0]), sentence)


class Error(Exception):
    """The base of all failures: `what` names the thing and the value, `where` the place ("net.onnx: node 'conv1' (Conv)")."""

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(what)
        self.where = where
        self.say(_as_argument(what))

    def say(self, what: str) -> None:
        self.what = what
        self.args = (f"{self.where}: {what}" if self.where else what,)

    def __reduce__(self) -> tuple:
        return type(self), (self.what, self.where)


class UsageError(Error, ValueError):
    """The call itself is wrong: a name that there is not, a shape that no layer takes."""


class NotInstalled(UsageError, ModuleNotFoundError):
    """The call needs a package that is not installed here; `name` says which."""

    def __init__(self, what: str, where: str = "", name: str | None = None) -> None:
        super().__init__(what, where)
        self.name = name

    def __reduce__(self) -> tuple:
        return type(self), (self.what, self.where, self.name)


class FileError(Error, OSError):
    """A file cannot be read or written, or exists and may not be replaced."""


class BrokenFile(Error):
    """The file is no sound file of its format."""


class Unsupported(Error):
    """A sound file, with something that is not carried, or that takes more memory or work than is granted."""


class NotProven(Error):
    """The port was not shown to be equal; nothing was written. `report` holds the evidence where there is one."""

    report: Report | None = None


class InternalError(Error):
    """A fault of convoy's own; please report it with the file."""
