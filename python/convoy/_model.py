"""Models, reports and findings as values."""
from __future__ import annotations

import html
import importlib.util
import json
import operator
import os
import sys
import tempfile
import uuid
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Sequence

import numpy as np

from . import _convoy, _live
from .errors import Error, NotProven, Unsupported, UsageError

Shape = Sequence["int | None"]


@dataclass(frozen=True)
class Value:
    """An input or output: its name, element type ("float32") and shape, None where a size is free."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True)
class Layer:
    """One operator, in order of computation. `padding` is per axis, before and after, then the file's own word."""

    name: str
    operation: str
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
    fix: dict[str, str]


class Text(str):
    """Text that a notebook shows with its columns."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


@dataclass(frozen=True)
class Report:
    """What a port was shown to be: `holds` is the proof, None where it was declined; `files` what was written."""

    holds: bool | None
    files: tuple[Path, ...]
    text: str = field(repr=False)
    data: dict = field(repr=False)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return Text(self.text)._repr_html_()


@dataclass(frozen=True)
class Difference:
    """Where two models part. True where they are the same; `findings` are in the order in which a computes its layers."""

    same: bool
    findings: tuple[Finding, ...]
    text: str = field(repr=False)
    data: dict = field(repr=False)
    page: str = field(repr=False, default="")

    def __bool__(self) -> bool:
        return self.same

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        frame = html.escape(self.page, quote=True)
        return f'<iframe srcdoc="{frame}" style="width:100%;height:640px;border:0"></iframe>' if self.page else Text(self.text)._repr_html_()


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


def _as_declared(y: Any, dtype: str, narrows: bool) -> Any:
    """Whole numbers, truths and, unless float64 was asked for, float32 and float16 as the model says them; numpy has no bfloat16."""
    if str(y.dtype) == dtype or dtype == "bfloat16" or (y.dtype.kind == "f" and not narrows):
        return y
    with np.errstate(over="ignore"):  # infinite in float16, as there
        return y.astype(dtype)


class Model:
    """A model that was read. Call it with arrays; see `inputs`, `outputs`, `layers` and `summary()`."""

    def __init__(self, native: Any, source: str, made_of: Any = None, options: dict | None = None) -> None:
        self._native = native
        self._options = options or {}
        self.made_of = made_of  # what can be read again: a path, bytes or a live object
        self.source = source  # the file, or what kind of object it was
        self.remarks = tuple(native.remarks)  # what to know of how it was read, in sentences
        for remark in self.remarks:
            warnings.warn(f"{source}: {remark}", _live.Warning, stacklevel=3)
        halves = [dtype for dtype in ("float16", "bfloat16") if dtype in native.dtypes]
        if halves:
            warnings.warn(f"{source}: it computes in {halves[0]}, and is computed in float32 here: between its layers nothing is rounded to 16 bits "
                          "or overflows there", _live.Warning, stacklevel=3)

    @property
    def name(self) -> str:
        return self._native.name

    @property
    def format(self) -> str:
        """The framework that wrote it, such as "Keras 3.15.1"."""
        return self._native.format

    @property
    def inputs(self) -> tuple[Value, ...]:
        return tuple(Value(name, dtype, tuple(shape)) for name, dtype, shape in self._native.inputs)

    @property
    def outputs(self) -> tuple[Value, ...]:
        return tuple(Value(name, dtype, tuple(shape)) for name, dtype, shape in self._native.outputs)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return tuple(Layer(name, operation, tuple(output), padding, parameters, products)
                     for name, operation, output, padding, parameters, products in self._native.layers)

    @property
    def parameters(self) -> int:
        return self._native.parameters

    def summary(self) -> Text:
        return Text(self._native.summary_text())

    def __call__(self, *inputs: Any, float64: bool | None = None, threads: int = 0) -> Any:
        """The outputs as numpy arrays: one, a tuple of several, or a dict by name where the inputs are one dict.

        Parameters
        ----------
        inputs
            One array for each input, or one dict of arrays by name; numpy, torch, tensorflow or jax.
        float64
            Compute in float64; None: where the model itself has float64 anywhere.
        threads
            0: as many as the machine has.

        Raises
        ------
        UsageError
            Another number of inputs, a name that there is not, or a shape that the model does not take.
        """
        by_name = len(inputs) == 1 and isinstance(inputs[0], Mapping)
        names = [value.name for value in self.inputs]
        if by_name:
            inputs = self._in_order(inputs[0])
        elif len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) and len(names) > 1:
            inputs = tuple(inputs[0])
        arrays = [_array(x) for x in inputs]
        for value, array in zip(self.inputs, arrays):
            if "int" in value.dtype and "float" in str(array.dtype):
                raise UsageError(f"input {value.name!r} takes {value.dtype}, not {array.dtype}: convert it first")
        doubles = "float64" in self._native.dtypes if float64 is None else _truth(float64, "float64")
        results = self._native.run(arrays, doubles, _whole(threads, "threads", 0, 256))
        declared = [value.dtype for value in self.outputs]
        results = [_as_declared(y, name, float64 is None) for y, name in zip(results, declared)]
        if by_name:
            return dict(zip((value.name for value in self.outputs), results))
        return results[0] if len(results) == 1 else tuple(results)

    def _in_order(self, given: Mapping) -> tuple:
        names = [value.name for value in self.inputs]
        for name in given:
            if name not in names:
                raise UsageError(f"the model has no input {name!r}; it has {', '.join(names)}")
        missing = [name for name in names if name not in given]
        if missing:
            raise UsageError(f"input {missing[0]!r} is not given")
        return tuple(given[name] for name in names)

    def __deepcopy__(self, _: dict) -> Model:
        return self  # nothing of it changes

    def __reduce__(self) -> tuple:
        """Another process reads it again."""
        if not isinstance(self.made_of, (str, os.PathLike, bytes)):
            raise TypeError(f"{self!r} cannot be pickled: only models that were read from a path or bytes can be read again")
        return _load_again, (self.made_of, self._options)

    def __repr__(self) -> str:
        return f"<convoy.Model {self.name!r} from {self.source}: {len(self.layers)} layers, {self.parameters} parameters>"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def _check_example_says_shapes(source: Any, options: Mapping) -> None:
    """What torch.export made of the example's sizes stays as it is at others: they are never freed afterwards."""
    if _live.kind_of(source) == "module" and (options.get("shapes") is not None or options.get("size") is not None):
        raise UsageError("shapes and size are for files: a live torch.nn.Module takes the shapes of its example input, with the batch free where "
                         "the module lets it be; for other free sizes give a torch.export.export(..., dynamic_shapes=...)")


def _load_again(source: Any, options: dict) -> Model:
    return load(source, **options)


def load(source: Any, *inputs: Any, size=None, shapes=None, weights=None, outputs=(), import_roots=(), seed=None) -> Model:
    """Reads a model; nothing that it holds is executed, and no framework is needed for a file.

    Parameters
    ----------
    source
        A path (.keras, .h5, .json, .onnx, .pt2, .pt), the bytes of such a file or an open one, source ("net.py:Net(3, 64)"), or a
        live object: torch.nn.Module, ExportedProgram, ScriptModule, keras.Model, onnx.ModelProto.
    inputs
        Example inputs, for a live torch.nn.Module alone.
    size
        Spatial sizes of the image inputs, (224, 224); None frees an axis.
    shapes
        The whole shape of the only input, or a dict of shapes by input.
    weights
        A file of weights for a source that has none.
    outputs
        Cut the model at these layers or values.

    Raises
    ------
    FileError, BrokenFile, Unsupported, UsageError
    """
    options = {"size": size, "shapes": shapes, "weights": weights, "outputs": outputs, "import_roots": import_roots, "seed": seed}
    _check_example_says_shapes(source, options)
    reading = _reading(**options)
    if isinstance(source, Model):
        return source
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        return Model(_convoy.load(os.fsencode(path), reading), path, path, options)
    with tempfile.TemporaryDirectory(prefix="convoy-") as folder:
        again = None if hasattr(source, "read") else source
        native = _live.read(source, folder, inputs, lambda path: _convoy.load(os.fsencode(path), reading))
        return Model(native, _named(source), again, options)


def _named(thing: Any) -> str:
    return os.fspath(thing) if isinstance(thing, (str, os.PathLike)) else f"{type(thing).__module__}.{type(thing).__qualname__}"


def _file_of(model: Model) -> Any:
    """What a model was read from: what is ported is read again."""
    if model.made_of is None:
        raise UsageError(f"{model!r} was read from an object that is gone: give the object itself")
    return model.made_of


def port(source: Any, output: str | os.PathLike, *inputs: Any, to: str = "", force: bool = False, proof: bool = True,
         without: Sequence[str] = (), opset: int | None = None, interface: str = "target", **reading: Any) -> Report:
    """Carries a model over and proves the port; nothing stands at `output` unless it was shown to be equal.

    Parameters
    ----------
    source, inputs, reading
        As for `load`.
    output
        Where to: .py (PyTorch; with to="keras" Keras source), .keras, .h5 or .onnx.
    force
        Replace files that exist.
    interface
        "target": channels where the target's layers have them; "source": every axis where the source has it.

    Raises
    ------
    NotProven
        The port differs from its source; nothing was written, and `.report` holds the evidence.
    """
    if interface not in ("target", "source"):
        raise UsageError(f"interface={interface!r}: write 'target' or 'source'")
    place, to, left_out = _path(output, "output"), _text(to, "to"), _names(without, "without")
    force, proof = _truth(force, "force"), _truth(proof, "proof")
    opset = None if opset is None else _whole(opset, "opset", 1)
    with tempfile.TemporaryDirectory(prefix="convoy-") as folder:
        if isinstance(source, Model):
            source = _file_of(source)
        _check_example_says_shapes(source, reading)

        def carry(path: str | os.PathLike) -> tuple:
            return _convoy.port(os.fsencode(path), place, _reading(**reading), to, force, proof, left_out, opset, interface == "source")

        is_path = isinstance(source, (str, os.PathLike))
        holds, files, text, data = carry(source) if is_path else _live.read(source, folder, inputs, carry)
    report = Report(holds if proof else None, tuple(Path(file) for file, _, _ in files), Text(text), json.loads(data))
    if not holds:
        error = NotProven("the port differs from its source; nothing was written", _named(source))
        error.report = report
        raise error
    return report


def diff(a: Any, b: Any, *inputs: Any, seed: int = 0, page: bool = False, **reading: Any) -> Difference:
    """Where two models part, why, and the line that mends it.

    Parameters
    ----------
    a, b
        Paths, `Model`s or live objects, as for `load`.
    inputs
        Arrays for a's inputs, in a's layout; probing numbers where there are none. A live torch.nn.Module needs them.
    page
        Make the page that shows both models side by side too.
    """
    seed, page = _whole(seed, "seed", -2**63, 2**64 - 1) % 2**64, _truth(page, "page")
    models = _both(a, b, inputs, reading)
    if len(inputs) == 1 and isinstance(inputs[0], Mapping):
        inputs = models[0]._in_order(inputs[0])
    same, findings, text, data, made = _convoy.diff(models[0]._native, models[1]._native, [_array(x) for x in inputs], seed, False, page)
    return Difference(same, tuple(Finding(x, y, cause, certain, change, {"torch": torch, "keras": keras})
                                  for x, y, cause, certain, change, torch, keras in findings), Text(text), json.loads(data), made)


def _both(a: Any, b: Any, inputs: tuple, reading: dict) -> tuple[Model, Model]:
    """Both models; source that says no shape takes that of the other."""
    is_path = [isinstance(one, (str, os.PathLike)) for one in (a, b)]
    try:
        first = load(a, *inputs, **reading)
    except UsageError:
        if not is_path[0]:
            raise
        try:
            second = load(b, *_module_inputs(b, a, inputs), **reading)
        except Error:
            second = None
        if second is None:
            raise
        return Model(_convoy.load_beside(second._native, os.fsencode(a), _reading(**reading)), os.fspath(a), a, reading), second
    if is_path[1]:
        return first, Model(_convoy.load_beside(first._native, os.fsencode(b), _reading(**reading)), os.fspath(b), b, reading)
    turned = _module_inputs(b, a, inputs)
    try:
        return first, load(b, *turned, **reading)
    except Error:
        if turned is inputs:
            raise
        return first, load(b, *inputs, **reading)  # a sequence, or a module that takes images channels last


def _module_inputs(one: Any, a: Any, inputs: tuple) -> tuple:
    """Example inputs for a live module. Those of `diff` lie as a takes them: beside a Keras model images turn channels first."""
    if _live.kind_of(one) != "module" or one is a or not inputs:
        return inputs
    if _live.kind_of(a) == "keras" or (isinstance(a, Model) and a.format.lower().startswith("keras")) or str(a).endswith((".keras", ".h5")):
        return tuple(np.ascontiguousarray(np.moveaxis(np.asarray(x), -1, 1)) if np.ndim(x) > 2 else x for x in inputs)
    return inputs


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
class Padding:
    """What a layer's padding does, and how every framework says the same."""

    framework: str
    function: str
    axes: tuple[PadAxis, ...]
    lines: tuple[PadLine, ...]
    text: str = field(repr=False)
    data: dict = field(repr=False)

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

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return Text(self.text)._repr_html_()


def pad(call: str, size=(), kernel=(), channels: int | None = None, layout: str = "") -> Padding:
    """What the padding of a call does, written as in a program of PyTorch, Keras, TensorFlow, ONNX, TFLite or Core ML.

    Parameters
    ----------
    call
        "Conv2D(8, (4, 1), padding='same')", "F.conv_transpose1d(x, w, stride=2, padding=1)"
    size
        Spatial size of the input, 224 or (100, 20); None for any size of an axis.
    kernel, channels, layout
        What the call does not say.

    Raises
    ------
    UsageError
        No such call, or no window fits.
    Unsupported
        The framework itself refuses the call.
    """
    sizes, kernels = _sizes(size, "size"), _sizes(kernel, "kernel")
    if None in kernels:
        raise UsageError(f"kernel={kernel!r} is not taken: give whole numbers")
    channels = None if channels is None else _whole(channels, "channels", 1)
    framework, function, axes, lines, text, data = _convoy.pad(_text(call, "call"), sizes, kernels, channels, _text(layout, "layout"))[0]
    return Padding(framework, function, tuple(PadAxis(*axis) for axis in axes),
                   tuple(PadLine(name, tuple(code), equal, holds, remark) for name, code, equal, holds, remark in lines), Text(text), json.loads(data))


def assert_same(a: Any, b: Any, *inputs: Any, **options: Any) -> None:
    """For tests: an AssertionError that names the layer, the cause and the line to write where two models differ."""
    found = diff(a, b, *inputs, **options)
    if not found.same:
        raise AssertionError("the models differ\n" + found.text)


def copy_weights(a: Any, b: Any, *inputs: Any, **reading: Any) -> Report:
    """Gives a live model that somebody else wrote the trained numbers of another, once both are shown to compute the same.

    Parameters
    ----------
    a
        Whose numbers: a path, bytes or a live model.
    b
        A live torch.nn.Module or keras.Model; its weights are replaced. Nothing of it changes where this fails.
    inputs
        Example inputs, which lie as `a` takes them; a live torch.nn.Module needs them.

    Raises
    ------
    NotProven
        With the numbers of `a`, `b` computes something else; `.report` says where.
    Unsupported, UsageError
        A tensor of `b` has no counterpart.
    """
    kind = _live.kind_of(b)
    if kind not in ("module", "keras"):
        raise UsageError(f"{type(b).__module__}.{type(b).__qualname__} takes no weights here: give a live torch.nn.Module or keras.Model; "
                         "`convoy weights A B --copy` writes files")
    with tempfile.TemporaryDirectory(prefix="convoy-") as folder:
        sides = []
        a = _file_of(a) if isinstance(a, Model) else a
        for name, one in (("a", a), ("b", b)):
            if isinstance(one, (str, os.PathLike)):
                sides.append(os.fspath(one))
                continue
            (Path(folder) / name).mkdir()
            turned = _module_inputs(one, a, inputs)
            try:
                sides.append(str(_live.save(one, Path(folder) / name, turned)))
            except Unsupported:
                if turned is inputs:
                    raise
                sides.append(str(_live.save(one, Path(folder) / name, inputs)))  # a sequence, or images channels last
        output = Path(folder) / ("weights.npz" if kind == "module" else "model.keras")
        holds, text, data = _convoy.copy_weights(os.fsencode(sides[0]), os.fsencode(sides[1]), os.fsencode(output), _reading(**reading))
        report = Report(holds, (), Text(text), json.loads(data))
        if not holds:
            error = NotProven("with these numbers the models do not compute the same; nothing was changed", _named(b))
            error.report = report
            raise error
        if kind == "keras":
            b.set_weights(_weights_of(output))
        else:
            _load_state(b, output)
    return report


def _weights_of(file: Path) -> list:
    """The weights of a Keras model that lies in a file, in the model's own order."""
    import keras

    return keras.models.load_model(file, compile=False).get_weights()


def _load_state(module: Any, file: Path) -> None:
    import torch

    with np.load(file) as arrays:
        state = {name: torch.from_numpy(np.array(arrays[name])) for name in arrays.files}
    wanted = module.state_dict()
    with torch.no_grad():
        for name, value in state.items():
            wanted[name].copy_(value)


def _module_from(path: Path) -> Any:
    name = f"convoy_port_{uuid.uuid4().hex}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def to_torch(source: Any, *inputs: Any, **options: Any) -> Any:
    """A live torch.nn.Module with the weights of `source`, its class written by us; `module.source` is that text."""
    with tempfile.TemporaryDirectory(prefix="convoy-") as folder:
        path = Path(folder) / "port.py"
        port(source, path, *inputs, to="torch", **options)
        import torch

        with torch.random.fork_rng(devices=[]):  # layers draw weights that are then replaced
            module = _module_from(path).load()
        if not hasattr(module, "source"):  # a layer may be called so
            object.__setattr__(module, "source", path.read_text())
    return module


def to_keras(source: Any, *inputs: Any, **options: Any) -> Any:
    """A live keras.Model with the weights of `source`."""
    import keras

    with tempfile.TemporaryDirectory(prefix="convoy-") as folder:
        path = Path(folder) / "port.keras"
        port(source, path, *inputs, to="keras", **options)
        return keras.models.load_model(path)


def to_tflite(source: Any, *inputs: Any, **options: Any) -> bytes:
    """The bytes of a TFLite file."""
    with tempfile.TemporaryDirectory(prefix="convoy-") as folder:
        path = Path(folder) / "port.tflite"
        port(source, path, *inputs, to="tflite", **options)
        return path.read_bytes()


def to_onnx(source: Any, *inputs: Any, **options: Any) -> Any:
    """The bytes of an ONNX file; an onnx.ModelProto where onnx is imported already."""
    with tempfile.TemporaryDirectory(prefix="convoy-") as folder:
        path = Path(folder) / "port.onnx"
        port(source, path, *inputs, to="onnx", **options)
        data = path.read_bytes()
    onnx = sys.modules.get("onnx")
    return onnx.load_from_string(data) if onnx else data
