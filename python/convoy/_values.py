"""What calls give: models' layers, reports and findings as values."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Union

from . import _html
from ._html import escaped

if TYPE_CHECKING:
    from pathlib import Path


Attribute = Union[bool, int, float, str, "tuple[int, ...]"]


@dataclass(frozen=True)
class Value:
    """An input or output: its name, element type ("float32") and shape, None where a size is free."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True)
class Layer:
    """One operator, in order of computation. `inputs` are the shapes of what it takes that is computed; `attributes` what it was told,
    such as kernel, stride, dilation, groups or axis, a number for each axis in a tuple. `padding` is per axis, before and after,
    then the file's own word."""

    name: str
    operation: str
    inputs: tuple[tuple[int | None, ...], ...]
    attributes: dict[str, Attribute] = field(hash=False)
    output: tuple[int | None, ...]
    padding: str
    parameters: int
    multiply_adds: int | None


@dataclass(frozen=True)
class Finding:
    """One reason why two models differ: the layers at fault, an identifier of the cause ("unknown": nothing explains it),
    whether any other explains the numbers equally well, what was changed, and the line to write by framework."""

    layer: str
    other: str
    cause: str
    certain: bool
    change: str
    fix: dict[str, str] = field(hash=False)


class Text(str):
    """Text that a notebook shows with its columns."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escaped(str(self))}</pre>"


class Told:
    """Shown by its text."""

    text: str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return Text(self.text)._repr_html_()


@dataclass(frozen=True)
class Report(Told):
    """What a port was shown to be: `holds` is the proof, None where it was declined; `files` what was written."""

    holds: bool | None
    files: tuple[Path, ...]
    text: str = field(repr=False)
    data: dict = field(repr=False, hash=False)


@dataclass(frozen=True)
class CallsDifference(Told):
    """Where two calls part. True where they do the same; `findings` are sentences."""

    same: bool
    findings: tuple[str, ...]
    text: str = field(repr=False)
    data: dict = field(repr=False, hash=False)

    def __bool__(self) -> bool:
        return self.same


@dataclass(frozen=True)
class Difference(Told):
    """Where two models part. True where they are the same; `findings` are in the order in which a computes its layers."""

    same: bool
    findings: tuple[Finding, ...]
    text: str = field(repr=False)
    data: dict = field(repr=False, hash=False)
    page: str = field(repr=False, default="")

    def __bool__(self) -> bool:
        return self.same

    def _repr_html_(self) -> str:
        frame = escaped(self.page)
        return f'<iframe srcdoc="{frame}" style="width:100%;height:640px;border:0"></iframe>' if self.page else super()._repr_html_()


@dataclass(frozen=True)
class PadAxis:
    """One axis: cells that are added before and after, of a transposed layer those that are cut. None: they change with the
    size, which is free. `formula` is that of the output size, in n."""

    name: str
    size: int | None
    before: int | None
    after: int | None
    out: int | None
    formula: str
    cuts: bool


@dataclass(frozen=True)
class PadLine:
    """The layer in a framework's words: statements in order, one that is an expression is applied to x. Where `equal` is false
    it is what is often written instead; `remark` says how it differs."""

    framework: str
    code: tuple[str, ...]
    equal: bool
    holds: str
    remark: str


@dataclass(frozen=True)
class Padding(Told):
    """What a layer's padding does, and how every framework says the same."""

    framework: str
    function: str
    axes: tuple[PadAxis, ...]
    lines: tuple[PadLine, ...]
    text: str = field(repr=False)
    data: dict = field(repr=False, hash=False)
    svg: str = field(repr=False, default="")

    @property
    def before(self) -> tuple[int | None, ...]:
        return tuple(axis.before for axis in self.axes)

    @property
    def after(self) -> tuple[int | None, ...]:
        return tuple(axis.after for axis in self.axes)

    @property
    def out(self) -> tuple[int | None, ...]:
        return tuple(axis.out for axis in self.axes)

    def said_in(self, framework: str) -> str | None:
        """The first lines of this framework that are equal, joined; None where it cannot say it."""
        wanted = framework.lower().replace(" ", "")
        return next(("; ".join(line.code) for line in self.lines
                     if line.framework.lower().replace(" ", "") == wanted and line.equal and line.code), None)

    torch = property(lambda self: self.said_in("PyTorch"))
    keras = property(lambda self: self.said_in("Keras"))
    tensorflow = property(lambda self: self.said_in("TensorFlow"))
    onnx = property(lambda self: self.said_in("ONNX"))
    tflite = property(lambda self: self.said_in("TFLite"))
    coreml = property(lambda self: self.said_in("Core ML"))

    def _repr_html_(self) -> str:
        return _html.padding(self)
