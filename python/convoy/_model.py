"""Models that were read, and what is asked of files: a port, a difference, what a call pads."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _convoy, _html, _live, _log, _remote, _weights
from ._arguments import _array, _names, _padding, _path, _porting, _reading, _seed, _text, _threads, _truth, shown
from ._progress import Watcher, asked, in_notebook
from .errors import BrokenFile, Error, NotProven, UsageError

if TYPE_CHECKING:  # values else where they are made: these classes take as long as all else here
    import numpy as np

    from ._values import CallsDifference, Difference, Layer, Padding, Report, Text, Value
else:
    from . import _numpy as np


def _json(text: str) -> dict:
    import json  # as long to import as all else here

    return json.loads(text)


def _as_declared(y: Any, dtype: str, narrows: bool) -> Any:
    """Whole numbers, truths and, unless float64 was asked for, float32 and float16 as the model says them; numpy has no bfloat16."""
    if str(y.dtype) == dtype or dtype == "bfloat16" or (y.dtype.kind == "f" and not narrows):
        return y
    with np.errstate(over="ignore"):  # infinite in float16, as there
        return y.astype(dtype)


def _check_holds(name: str, dtype: str, array: Any) -> None:
    """Whole numbers that the input's type has not would wrap round into others."""
    if "int" not in dtype:
        return
    if "float" in str(array.dtype):
        raise UsageError(f"input {name!r} takes {dtype}, not {array.dtype}: convert it first")
    if array.dtype == dtype or not isinstance(array, np.ndarray) or array.dtype.kind not in "iu" or not array.size:
        return
    least, most = int(array.min()), int(array.max())
    range_of = np.iinfo(dtype)
    if least < range_of.min or most > range_of.max:
        raise UsageError(f"input {name!r} takes {dtype}, which has no {least if least < range_of.min else most}: give numbers from {range_of.min} to {range_of.max}")


class Model:
    """A model that was read. Call it with arrays; see `inputs`, `outputs`, `layers` and `summary()`."""

    def __init__(self, native: _convoy.Model, source: str, made_of: Any = None, options: dict | None = None) -> None:
        self._native = native
        self._options = options or {}
        self._examples: tuple = ()  # what a live object was read with
        self.made_of = made_of  # what can be read again: a path, bytes or a live object
        self.source = source  # the file, or what kind of object it was
        self.remarks = tuple(native.remarks)  # what to know of how it was read, in sentences
        for remark in self.remarks:
            _live.warn(f"{source}: {remark}")

    @property
    def name(self) -> str:
        return self._native.name

    @property
    def format(self) -> str:
        """The framework that wrote it, such as "Keras 3.15.1"."""
        return self._native.format

    @property
    def inputs(self) -> tuple[Value, ...]:
        from ._values import Value

        return tuple(Value(name, dtype, tuple(shape)) for name, dtype, shape in self._native.inputs)

    @property
    def outputs(self) -> tuple[Value, ...]:
        from ._values import Value

        return tuple(Value(name, dtype, tuple(shape)) for name, dtype, shape in self._native.outputs)

    @property
    def layers(self) -> tuple[Layer, ...]:
        from ._values import Layer

        return tuple(Layer(name, operation, tuple(map(tuple, inputs)), attributes, tuple(output), padding, parameters, products)
                     for name, operation, inputs, attributes, output, padding, parameters, products in self._native.layers)

    @property
    def parameters(self) -> int:
        return self._native.parameters

    def summary(self) -> Text:
        """The table of `convoy summary`: inputs, layers with their shapes, padding, parameters and work, and outputs.

        Returns
        -------
        Text
            A str that prints as the table; a notebook shows it.
        """
        from ._values import Text

        return Text(self._native.summary_text())

    def outputs_at(self, layers: str | Sequence[str]) -> Model:
        """The model up to these layers or values, by the names of `layers` and of tables: it gives what each of them does.

        Parameters
        ----------
        layers
            One name, or several.

        Returns
        -------
        Model

        Raises
        ------
        UsageError
            There is no layer of that name.
        """
        wanted = _names(layers, "layers")
        cut = Model(self._native.outputs_at(wanted), self.source, self.made_of, {**self._options, "outputs": wanted})
        cut._examples = self._examples
        return cut

    def __call__(self, *inputs: Any, float64: bool | None = None, threads: int = 0, plain: bool = False, direct: bool = False,
                 budget: int | str | None = None, progress: Watcher = None) -> Any:
        """The outputs as numpy arrays: one, a tuple of several, or a dict by name where the inputs are one dict.

        Parameters
        ----------
        inputs
            One array for each input, or one dict of arrays by name; numpy, torch, tensorflow or jax.
        float64
            Compute all in float64; None: each operator in its own type.
        threads
            0: as many as the machine has.
        plain
            Compute node by node with the kernels that define what is right.
        direct
            No Winograd: convolutions sum the products of their definition.
        budget, progress
            As for `load`.

        Returns
        -------
        numpy.ndarray, tuple or dict of them

        Raises
        ------
        UsageError
            Another number of inputs, a name that there is not, or a shape that the model does not take.
        """
        by_name = len(inputs) == 1 and isinstance(inputs[0], Mapping)
        arrays = [_array(x) for x in self._one_by_one(inputs)]
        for value, array in zip(self.inputs, arrays):
            _check_holds(value.name, value.dtype, array)
        settings = _convoy.RunSettings()
        settings.doubles = float64 is not None and _truth(float64, "float64")
        settings.threads = _threads(threads)
        settings.plain, settings.direct = _truth(plain, "plain"), _truth(direct, "direct")
        with asked(budget, progress) as wish:
            results = self._native.run(arrays, settings, wish)
        declared = [value.dtype for value in self.outputs]
        results = [_as_declared(y, name, float64 is None) for y, name in zip(results, declared)]
        if by_name:
            return dict(zip(self._native.result_names, results))
        return results[0] if len(results) == 1 else tuple(results)

    def _one_by_one(self, inputs: tuple) -> tuple:
        """Those that are given as one dict or list."""
        if len(inputs) == 1 and isinstance(inputs[0], Mapping):
            return self._in_order(inputs[0])
        if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
            given, ranks = inputs[0], [len(value.shape) for value in self.inputs]
            if len(ranks) > 1 or (len(given) == 1 and hasattr(given[0], "shape") and [len(given[0].shape)] == ranks):
                return tuple(given)
        return inputs

    def _in_order(self, given: Mapping) -> tuple:
        names = [value.name for value in self.inputs]
        for name in given:
            if name not in names:
                raise UsageError(f"the model has no input {name!r}; it has {', '.join(names)}")
        missing = [name for name in names if name not in given]
        if missing:
            raise UsageError(f"input {missing[0]!r} is not given")
        return tuple(given[name] for name in names)

    def __copy__(self) -> Model:
        return self  # nothing of it changes

    def __deepcopy__(self, _: dict) -> Model:
        return self

    def __reduce__(self) -> tuple:
        """Another process reads it again."""
        pieces = self.made_of.values() if isinstance(self.made_of, Mapping) else [self.made_of]
        if not all(isinstance(one, (str, os.PathLike, bytes)) for one in pieces):
            raise TypeError(f"{self!r} cannot be pickled: only models that were read from a path or bytes can be read again")
        return _load_again, (self.made_of, self._options, self._native.fingerprint())

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""  # an exported program has none
        return f"<convoy.Model{name} from {self.source}: {len(self.layers)} layers, {self.parameters} parameters>"

    def _repr_html_(self) -> str:
        return _html.summary(self)


def _check_examples(source: Any, inputs: tuple, options: Mapping) -> None:
    """Of what alone is read."""
    _live.check_takes_examples(source, inputs)
    if _live.kind_of(source) == "script" and inputs and _says_shapes(options):
        raise UsageError("shapes and size are given beside an example input, which says them as well: leave out one of the two")


def _says_shapes(options: Mapping) -> bool:
    return options.get("shapes") is not None or options.get("size") is not None


def _check_example_says_shapes(source: Any, options: Mapping) -> None:
    """What torch.export made of the example's sizes stays as it is at others: they are never freed afterwards."""
    if _live.kind_of(source) in ("module", "function") and _says_shapes(options):
        raise UsageError("shapes and size are for files: a live torch.nn.Module takes the shapes of its example input, with the batch free where "
                         "the module lets it be; for other free sizes give a torch.export.export(..., dynamic_shapes=...)")


def _with(said: Mapping, options: Mapping) -> dict:
    """Options, and what an example says of the shapes that they leave open."""
    return dict(options) if _says_shapes(options) else {**said, **{name: value for name, value in options.items() if value is not None}}


def _load_again(source: Any, options: dict, fingerprint: str) -> Model:
    model = load(source, **options)
    _check_fingerprint(model._native, fingerprint, model.source)
    return model


def _check_fingerprint(native: _convoy.Model, fingerprint: str, source: str) -> None:
    if native.fingerprint() != fingerprint:
        raise UsageError("what the model was read from has changed since, and is read once more for this: read it again with convoy.load", source)


def _check_unchanged(again: _convoy.Model, was: Model) -> None:
    """What is read once more has to be what was read."""
    _check_fingerprint(again, was._native.fingerprint(), was.source)


def load(source: Any, *inputs: Any, size=None, shapes=None, types=None, weights=None, outputs=(), import_roots=(), seed=None,
         names: Mapping[str, Any] | None = None, dequantize: bool = False, signature: str = "",
         budget: int | str | None = None, progress: Watcher = None) -> Model:
    """Reads a model; nothing that it holds is executed, and no framework is needed for a file.

    Parameters
    ----------
    source
        A path (.keras, .h5, .json, .onnx, .pt2, .pt, .pb, .tflite, a SavedModel), a URL that fsspec opens ("s3://zoo/net.keras"), the
        bytes of such a file, an open one (read from where it stands) or a member of an archive, source ("net.py:Net(3, 64)"), or a live
        object: torch.nn.Module, ExportedProgram, ScriptModule, a function over torch's tensors, keras.Model, a Keras layer,
        onnx.ModelProto. Or the pieces of a model, as bytes, paths or
        open files: [model, weights], or a dict of them by the names that they have for each other, the model first
        ({"net.onnx": graph, "net.onnx.data": numbers}).
    inputs
        Example inputs, for a live torch.nn.Module, function or ScriptModule, or a keras.Model or layer that is not built: tensors or
        arrays, one after the other, or all in one tuple or list.
    size
        Spatial sizes of the image inputs, (224, 224); None frees an axis.
    shapes
        The whole shape of the only input, or a dict of shapes by input.
    types
        Of source and scripted TorchScript, which declare none: the element type of the only input, "int64", or a dict of types by input.
    weights
        A file of weights for a source that has none (its path, its bytes or open), or a dict of arrays by name, such as a state_dict.
    outputs
        Cut the model at these layers or values.
    import_roots
        Of source: folders below which imports are found as well.
    seed
        Of source: what weights that no file gives are drawn with, as after the framework's own seed.
    names
        Of source: values of names that it does not define, or not to a known value, such as {"img_size": (32, 32, 3)}. Of ONNX:
        values of inputs, which are constants then, such as {"sr": 16000}.
    dequantize
        TFLite: quantised numbers as the real ones that they stand for.
    signature
        Which of a SavedModel's; "" is serving_default.
    budget
        Memory that may be held beside what the file's size grants, in bytes or as "8G"; work is granted in proportion.
    progress
        A callable that is given a `Progress` in front of each layer, at most every 0.05 s; False: nobody is told; None: a line on a
        terminal, or a bar in a notebook, for what takes longer than half a second.

    Returns
    -------
    Model
        `source` itself where it is one.

    Raises
    ------
    FileError, BrokenFile, Unsupported, UsageError
    """
    options = {"size": size, "shapes": shapes, "types": types, "weights": weights, "outputs": outputs, "import_roots": import_roots, "seed": seed,
               "names": names, "dequantize": dequantize, "signature": signature}
    source, options = _weights.apart(source, options)
    with asked(budget, progress) as wish, _weights.at_hand(options) as given, _log.step("reading %s", _named(source)) as done:
        _check_examples(source, inputs, options)
        model = _loaded(source, inputs, given, wish)
        done("loaded %s: %s, %d parameters", model.source, model.format, model.parameters)
    if model is not source:
        model._options = options if budget is None else {**options, "budget": budget}
    return model


def _loaded(source: Any, inputs: tuple, options: dict, wish: _convoy.Asked) -> Model:
    if isinstance(source, Model):
        return source
    _check_example_says_shapes(source, options)
    reading = _reading(**options)
    if _remote.is_local(source):
        path = os.fspath(source)
        return Model(_convoy.load(os.fsencode(path), reading, wish), path, path, options)
    with _live.temporary_folder() as folder:
        again = None if _live.is_open(source) else source
        native = _live.read(source, folder, inputs, lambda path, said: _convoy.load(os.fsencode(path), _reading(**_with(said, options)), wish))
        model = Model(native, _named(source), again, options)
        model._examples = inputs
        return model


def _named(thing: Any) -> str:
    if isinstance(thing, (str, os.PathLike)):
        return os.fspath(thing)
    kind = thing if _live.kind_of(thing) == "function" else type(thing)
    return f"{kind.__module__}.{kind.__qualname__}"


def _read_again(source: Any, inputs: tuple, reading: dict) -> tuple[Any, tuple, dict]:
    """A model that is ported is read once more: from what it was read from, and in the same way where nothing else is said."""
    if not isinstance(source, Model):
        return source, inputs, reading
    if source.made_of is None:
        raise UsageError(f"{source!r} was read from an object that is gone: give the object itself")
    said = {key: value for key, value in source._options.items() if key != "budget" and not _is_unsaid(value)}
    return source.made_of, inputs or source._examples, said | reading


def _is_unsaid(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, (str, tuple, list)) and len(value) == 0)


def port(source: Any, output: str | os.PathLike, *inputs: Any, to: str = "", force: bool = False, proof: bool = True,
         without: Sequence[str] = (), opset: int | None = None, interface: str = "target", weights_format: str = "safetensors",
         optimize: bool = False, external_data: bool = False, float16_weights: bool = False, reals: str | None = None,
         quantized: str | None = None, threads: int = 0, budget: int | str | None = None, progress: Watcher = None,
         **reading: Any) -> Report:
    """Carries a model over and proves the port; nothing stands at `output` unless it was shown to be equal.

    Parameters
    ----------
    source, inputs, budget, progress, reading
        As for `load`; `seed` is that of the proof's numbers too.
    output
        Where to: .py (PyTorch; with to="keras" Keras source), .keras, .h5, .onnx or .tflite.
    to
        "torch", "keras", "onnx" or "tflite"; "": told by the output's name.
    force
        Replace files that exist.
    proof
        False: write without proving.
    without
        Passes to leave out, which `convoy ops` lists.
    interface
        "target": channels where the target's layers have them; "source": every axis where the source has it.
    reals
        "float16", "bfloat16" or "float32": carry the model with all real numbers of that type; the report says what that changes.
    quantized
        Of a model that rounds to whole numbers of a scale: "keep" them (ONNX), "fake": float32 rounded to the same steps, "float": leave
        the rounding out; None: as much as the target can say.
    weights_format
        PyTorch: "safetensors" or "pt".
    opset, optimize, external_data
        ONNX: the operator set to write; take normalisations into the layers before them; the larger tensors in a file beside the model.
    float16_weights
        TFLite: weights are rounded to float16 and stored so.
    threads
        Of the proof; 0: as many as the machine has.

    Returns
    -------
    Report
        What was written, and the proof; prints as the command does.

    Raises
    ------
    FileError, BrokenFile, Unsupported, UsageError
    NotProven
        The port differs from its source; nothing was written, and `.report` holds the evidence.
    """
    settings = _porting(to, force, proof, without, opset, interface, weights_format, optimize, external_data, float16_weights, reals,
                        quantized, reading.get("seed"), threads)
    place = _path(output, "output")
    was = source if isinstance(source, Model) and not reading else None
    source, inputs, reading = _read_again(source, inputs, reading)
    source, reading = _weights.apart(source, reading)
    with (_live.temporary_folder() as folder, asked(budget, progress) as wish, _weights.at_hand(reading) as reading,
          _log.step("porting %s to %s", _named(source), os.fsdecode(place)) as said):
        _check_examples(source, inputs, reading)
        _check_example_says_shapes(source, reading)

        unseen = was  # until it was read once more: what is not carried with a free batch comes again with that of the example

        def carry(path: str | os.PathLike, said: Mapping = {}) -> tuple:
            nonlocal unseen
            to_read = _reading(**_with(said, reading))
            if unseen is not None:
                _check_unchanged(_convoy.load(os.fsencode(path), to_read, wish), unseen)
                unseen = None
            return _convoy.port(os.fsencode(path), place, settings, to_read, wish)

        is_path = _remote.is_local(source)
        done = carry(source) if is_path else _live.read(source, folder, inputs, carry)
        outcome = ("proved" if done[0] else "not proven") if settings.proves else "not asked to be proved"
        said("ported %s to %s: %s", _named(source), os.fsdecode(place), outcome)
    report = _report(done, settings.proves)
    if not done[0]:
        error = NotProven("the port differs from its source; nothing was written", _named(source))
        error.report = report
        raise error
    return report


def diff(a: Any, b: Any, *inputs: Any, seed: int = 0, threads: int = 0, page: bool | None = None, weights_a: Any = None,
         weights_b: Any = None, budget: int | str | None = None, progress: Watcher = None, **reading: Any) -> Difference:
    """Where two models part, why, and the line that mends it.

    Parameters
    ----------
    a, b
        Paths, `Model`s or live objects, as for `load`.
    inputs
        Arrays for a's inputs, in a's layout; probing numbers where there are none. A live torch.nn.Module needs them where the other
        model states no shapes either.
    seed, threads
        Of the probing numbers; 0: as many as the machine has.
    page
        Make the page that shows both models side by side too; None: in a notebook, which shows it.
    weights_a, weights_b
        `weights` of one of the two alone. Source without weights is compared as if it held the other's.
    budget, progress, reading
        As for `load`.

    Returns
    -------
    Difference
        `.same` and `.findings`; prints as the command does, and a notebook shows its page.

    Raises
    ------
    FileError, BrokenFile, Unsupported, UsageError
    """
    seed, threads = _seed(seed), _threads(threads)
    page = in_notebook() if page is None else _truth(page, "page")
    with (asked(budget, progress) as wish, _weights.of_two(reading, weights_a, weights_b) as (of_a, of_b),
          _log.step("comparing %s with %s", _named(a), _named(b)) as done):
        models = _both(a, b, inputs, of_a, of_b, wish)
        arrays = _inputs_of(models[0], inputs)
        same, findings, text, data, made = _convoy.diff(models[0]._native, models[1]._native, arrays, seed, threads, page, wish)
        done("compared %s with %s: %s", models[0].source, models[1].source, "the same" if same else f"they differ, {len(findings)} found")
    from ._values import Difference, Finding, Text

    return Difference(same, tuple(Finding(x, y, cause, certain, change, {"torch": torch, "keras": keras})
                                  for x, y, cause, certain, change, torch, keras in findings), Text(text), _json(data), made)


def mend(a: Any, b: str | os.PathLike, folder: str | os.PathLike, *inputs: Any, force: bool = False, seed: int = 0, threads: int = 0,
         weights_a: Any = None, weights_b: Any = None, budget: int | str | None = None, progress: Watcher = None, **reading: Any) -> Report:
    """Writes b into a folder, as what it is, with what differs from a put right, once it is shown to be the same.

    Parameters
    ----------
    a
        A path, a `Model` or a live object, as for `load`.
    b
        The file of the other model; the mended one has its name.
    folder
        Where to.
    force
        Replace files that exist.
    inputs, seed, threads, weights_a, weights_b, budget, progress, reading
        As for `diff`.

    Returns
    -------
    Report
        What was written.

    Raises
    ------
    NotProven
        What is known to be amiss was put right, and the models still differ; nothing was written.
    Unsupported, UsageError
        What differs cannot be put right, b is of a kind that is not written, or nothing differs.
    """
    seed, threads, force = _seed(seed), _threads(threads), _truth(force, "force")
    place = _path(folder, "folder")
    if not _remote.is_local(b):
        raise UsageError(f"b={shown(b)} is not taken: what is mended is written under its own name, so give the path of a file")
    with (asked(budget, progress) as wish, _weights.of_two(reading, weights_a, weights_b) as (of_a, of_b),
          _log.step("mending %s as %s", _named(b), _named(a)) as done):
        models = _both(a, b, inputs, of_a, of_b, wish)
        arrays = _inputs_of(models[0], inputs)
        report = _report(_convoy.mend(models[0]._native, models[1]._native, place, arrays, seed, threads, force, wish), True)
        done("mended %s as %s", models[1].source, models[0].source)
        return report


def _report(done: tuple, proof: bool) -> Report:
    from pathlib import Path

    from ._values import Report, Text

    holds, files, text, data = done
    return Report(holds if proof else None, tuple(Path(file) for file, _, _ in files), Text(text), _json(data))


def _inputs_of(model: Model, inputs: tuple) -> list:
    return [_array(x) for x in model._one_by_one(inputs)]


def _both(a: Any, b: Any, inputs: tuple, of_a: dict, of_b: dict, wish: _convoy.Asked) -> tuple[Model, Model]:
    """Both models; source that says no shape takes that of the other."""
    (a, of_a), (b, of_b) = _weights.apart(a, of_a), _weights.apart(b, of_b)
    if any(not isinstance(one.get("weights"), (str, os.PathLike, type(None))) for one in (of_a, of_b)):  # of pieces
        with _weights.at_hand(of_a) as a_at_hand, _weights.at_hand(of_b) as b_at_hand:
            return _both(a, b, inputs, a_at_hand, b_at_hand, wish)
    is_path = [_remote.is_local(one) for one in (a, b)]
    if b is not a:
        _live.check_is_built(b)
    if all(is_path):
        pair = _convoy.load_pair(os.fsencode(a), os.fsencode(b), _reading(**of_a), _reading(**of_b), wish)
        return Model(pair[0], os.fspath(a), a, of_a), Model(pair[1], os.fspath(b), b, of_b)
    try:
        first = _loaded(a, inputs, of_a, wish)
    except UsageError:
        wants_example = not inputs and _live.kind_of(a) in ("module", "function")
        if not is_path[0] and not wants_example:
            raise
        try:
            second = _loaded(b, _module_inputs(b, a, inputs), of_b, wish)
        except Error:
            second = None
        if second is None:
            raise
        if wants_example:
            return _first_that_loads(a, examples_beside(second._native), of_a, wish), second
        return Model(_convoy.load_beside(second._native, os.fsencode(a), _reading(**of_a), wish), os.fspath(a), a, of_a), second
    if is_path[1]:
        return first, Model(_convoy.load_beside(first._native, os.fsencode(b), _reading(**of_b), wish), os.fspath(b), b, of_b)
    if not inputs and _live.kind_of(b) in ("module", "function"):
        return first, _first_that_loads(b, examples_beside(first._native), of_b, wish)
    turned = _module_inputs(b, a, inputs)
    ways = [turned] if turned is inputs else [turned, inputs]  # a sequence, or a module that takes images channels last
    if first._one_by_one(inputs) is not inputs:  # in one to a, one after the other to b
        ways += [first._one_by_one(way) for way in ways]
    return first, _first_that_loads(b, ways, of_b, wish)


def _first_that_loads(source: Any, ways: list, options: dict, wish: _convoy.Asked) -> Model:
    refusal: Error | None = None
    for way in ways:
        try:
            return _loaded(source, way, options, wish)
        except Error as error:
            refusal = refusal or error
    assert refusal is not None
    raise refusal


def examples_beside(other: _convoy.Model) -> list:
    """Example inputs for a live torch.nn.Module, as the model beside it takes them: of channels last images turned first, and as they are."""
    made = tuple(other.probing_inputs())
    turned = tuple(map(_channels_first, made)) if other.format.startswith(_CHANNELS_LAST) else made
    return [turned] if turned is made else [turned, made]


_CHANNELS_LAST = ("Keras", "TFLite", "TensorFlow")


def _module_inputs(one: Any, a: Any, inputs: tuple) -> tuple:
    """Example inputs for a live module of PyTorch's. Those of `diff` lie as a takes them: beside a Keras model images turn channels first."""
    if _live.kind_of(one) not in ("module", "function", "script") or one is a or not inputs:
        return inputs
    if _live.kind_of(a) == "keras" or (isinstance(a, Model) and a.format.lower().startswith("keras")) or str(a).endswith((".keras", ".h5")):
        return tuple(map(_channels_first, inputs))
    return inputs


def _channels_first(x: Any) -> Any:
    return _live.packed(x, lambda one: np.ascontiguousarray(np.moveaxis(np.asarray(_array(one)), -1, 1)) if np.ndim(one) > 2 else one)


@contextlib.contextmanager
def _of_text() -> Iterator[None]:
    """What the caller has written is no file that could be broken."""
    try:
        yield
    except BrokenFile as error:
        raise UsageError(error.what, error.where) from None


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

    Returns
    -------
    Padding
        Cells before and after each axis, and every framework's words for them; a notebook shows it drawn.

    Raises
    ------
    UsageError
        No such call, or no window fits.
    Unsupported
        The framework itself refuses the call.
    """
    settings = _padding(size, kernel, channels, layout)
    with _of_text():
        framework, function, axes, lines, text, data, svg = _convoy.pad(_text(call, "call"), settings)[0]
    from ._values import PadAxis, Padding, PadLine, Text

    return Padding(framework, function, tuple(PadAxis(*axis) for axis in axes),
                   tuple(PadLine(name, tuple(code), equal, holds, remark) for name, code, equal, holds, remark in lines),
                   Text(text), _json(data), svg)


def diff_calls(a: str, b: str, size=(), kernel=(), channels: int | None = None, layout: str = "") -> CallsDifference:
    """Whether two calls, as they stand in programs, read the same cells, at which sizes, and what to write instead.

    Parameters
    ----------
    a, b
        "nn.Conv2d(3, 8, 3, 2, 1)", "Conv2D(8, 3, 2, 'same')"; what one leaves open the other says.
    size, kernel, channels, layout
        As for `pad`, of both.

    Returns
    -------
    CallsDifference
        `.same` and `.findings`.

    Raises
    ------
    UsageError
        One of them is no call, its framework refuses it, or they cannot be held against each other.
    """
    settings = _padding(size, kernel, channels, layout)
    with _of_text():
        same, findings, text, data = _convoy.diff_calls(_text(a, "a"), _text(b, "b"), settings)
    from ._values import CallsDifference, Text

    return CallsDifference(same, tuple(findings), Text(text), _json(data))


def weights(source: Any, *, budget: int | str | None = None) -> dict[str, np.ndarray]:
    """Every tensor of a model or weights file, or of a live model, by its name there and in its order.

    bfloat16, which numpy has not, comes as float32: the same numbers. Nothing that a file holds is executed.

    Parameters
    ----------
    source
        A model or weights file (.safetensors, .pt, .npz, .weights.h5 as well): its path, its bytes or open. Or a state_dict or another
        dict of arrays, a torch.nn.Module (what its state_dict holds), a keras.Model, an onnx.ModelProto, or a `Model`: what it was read from.
    budget
        As for `load`.

    Returns
    -------
    dict of str to numpy.ndarray
        Copies, which are the caller's.

    Raises
    ------
    FileError, BrokenFile, Unsupported, UsageError
    """
    if isinstance(source, Model):
        if source.made_of is None:
            raise UsageError(f"{source!r} was read from an object that is gone: give the object itself")
        given = source._options.get("weights")
        return weights(source.made_of if given is None else given, budget=budget)
    if _live.kind_of(source) in ("module", "script"):
        source = {name: one for name, one in source.state_dict().items() if hasattr(one, "shape")}
        if not source:
            return {}
    with asked(budget, False) as wish, _live.temporary_folder() as folder, _live.read_from(source):
        if _weights.are_arrays(source):
            path = folder / "weights.safetensors"
            _weights.write(source, path)
        elif _live.is_bytes(source) or _live.is_open(source):
            path = folder / "weights"
            path.write_bytes(_live.whole(source))
        elif _live.kind_of(source):
            path = _live.save(source, folder)
        else:
            return dict(_convoy.weights(_path(source, "source"), wish))
        return dict(_convoy.weights(os.fsencode(path), wish))


def assert_same(a: Any, b: Any, *inputs: Any, **options: Any) -> None:
    """For tests: an AssertionError that names the layer, the cause and the line to write where two models differ.

    Parameters
    ----------
    a, b, inputs, options
        As for `diff`.

    Returns
    -------
    None

    Raises
    ------
    AssertionError
        The models differ.
    FileError, BrokenFile, Unsupported, UsageError
    """
    found = diff(a, b, *inputs, **options)
    if not found.same:
        raise AssertionError("the models differ\n" + found.text)
