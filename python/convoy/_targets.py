"""Models as live objects of another framework, and trained numbers into one that somebody else wrote."""
from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

from . import _convoy, _live, _log, _remote, _weights
from ._arguments import _array, _reading, _seed, _threads
from ._model import Model, _check_example_says_shapes, _check_unchanged, _module_inputs, _named, _read_again, _report, _with, examples_beside, port
from ._progress import Watcher, asked
from .errors import NotInstalled, NotProven, Unsupported, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import numpy as np

    from ._values import Report
else:
    from . import _numpy as np


def copy_weights(a: Any, b: Any, *inputs: Any, threads: int = 0, budget: int | str | None = None, progress: Watcher = None,
                 **reading: Any) -> Report:
    """Gives a live model that somebody else wrote the trained numbers of another, once both are shown to compute the same.

    Parameters
    ----------
    a
        Whose numbers: a path, bytes, a live model, or a state_dict by the names of the module `b`.
    b
        A live torch.nn.Module or keras.Model; its weights are replaced. Nothing of it changes where this fails.
    inputs
        Example inputs, which lie as `a` takes them; a live torch.nn.Module needs them beside a model that states no shapes either.
    threads
        Of the proof; 0: as many as the machine has.
    budget, progress, reading
        As for `load`; `seed` is that of the proof's numbers too.

    Returns
    -------
    Report
        Which tensor went where, and the proof.

    Raises
    ------
    NotProven
        With the numbers of `a`, `b` computes something else; `.report` says where.
    Unsupported, UsageError
        A tensor of `b` has no counterpart.
    """
    seed, threads = _seed(reading.get("seed") or 0), _threads(threads)
    kind = _live.kind_of(b)
    if kind not in ("module", "keras"):
        raise UsageError(f"{type(b).__module__}.{type(b).__qualname__} takes no weights here: give a live torch.nn.Module or keras.Model; "
                         "`convoy weights A B --copy` writes files")
    if _weights.are_arrays(a):
        a = _holding(a, b)
    was = a if isinstance(a, Model) else None
    a, inputs, of_a = _read_again(a, inputs, reading)
    a, of_a = _weights.apart(a, of_a)
    for one, options in ((a, of_a), (b, reading)):
        _check_example_says_shapes(one, options)
    with (_live.temporary_folder() as folder, _weights.at_hand(of_a) as of_a, _weights.at_hand(reading) as reading,
          _log.step("copying weights of %s into %s", _named(a), _named(b)) as done):
        with asked(budget, progress) as wish:
            sides, of_a, reading = _both_saved(a, b, inputs, folder, of_a, reading, wish)
        output = folder / ("weights.npz" if kind == "module" else "model.keras")
        with asked(budget, progress) as wish:
            if was is not None:
                _check_unchanged(_convoy.load(os.fsencode(sides[0]), _reading(**of_a), wish), was)
            holds, text, data = _convoy.copy_weights(os.fsencode(sides[0]), os.fsencode(sides[1]), os.fsencode(output),
                                                     _reading(**of_a), _reading(**reading), seed, threads, wish)
        report = _report((holds, [], text, data), True)
        if not holds:
            error = NotProven(f"{report.data['reason']}; nothing was changed", _named(b))
            error.report = report
            raise error
        if kind == "keras":
            from ._live_keras_opened import opened

            with opened(b, inputs) as written:  # in the order of what was saved
                written.model.set_weights(_weights_of(output))
        else:
            _load_state(b, output)
        done("copied weights of %s into %s: proved", _named(a), _named(b))
    return report


def _holding(state: Mapping, module: Any) -> Any:
    """A copy of the module with these numbers: names alone say where they belong."""
    import copy

    if _live.kind_of(module) != "module":
        raise UsageError("a state_dict says where its numbers belong by the names of a torch.nn.Module alone: give the model that it is of")
    import torch

    made = copy.deepcopy(module)
    given = {name: torch.as_tensor(np.array(_array(one))) if isinstance(one, np.ndarray) else torch.as_tensor(_array(one)) for name, one in state.items()}
    try:
        made.load_state_dict(given)
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise UsageError(f"the state_dict is none of this module's ({' '.join(lines[1:3])})", _named(module)) from error
    return made


def _both_saved(a: Any, b: Any, inputs: tuple, folder: Path, of_a: dict, of_b: dict, wish: _convoy.Asked) -> tuple[list[str], dict, dict]:
    """Paths of both, and what to read them with; a live torch.nn.Module without an example gets one beside the other model, where that states shapes."""
    _live.check_is_built(b)
    sides: dict[str, str] = {}
    reading = {"a": of_a, "b": of_b}
    waits = not inputs and _live.kind_of(a) == "module"
    for name, one in (("b", b), ("a", a)) if waits else (("a", a), ("b", b)):
        if _remote.is_local(one):
            sides[name] = os.fspath(one)
            continue
        (folder / name).mkdir()
        turned = _module_inputs(one, a, inputs)
        ways = [turned] if turned is inputs else [turned, inputs]  # a sequence, or images channels last
        if not inputs and sides and _live.kind_of(one) == "module":
            (file,) = sides.values()
            ways = examples_beside(_convoy.load(os.fsencode(file), _reading(**reading["b" if waits else "a"]), wish))
        for way in ways:
            try:
                path, said = _live.written(one, folder / name, way)
                sides[name], reading[name] = str(path), _with(said, reading[name])
                break
            except Unsupported:
                if way is ways[-1]:
                    raise
    return [sides["a"], sides["b"]], reading["a"], reading["b"]


def _weights_of(file: Path) -> list:
    """The weights of a Keras model that lies in a file, in the model's own order."""
    import keras

    return keras.models.load_model(file, compile=False).get_weights()


def _load_state(module: Any, file: Path) -> None:
    """All of the numbers, or none of them: the module's own are put back where one of its tensors does not hold what it is given."""
    import torch

    with np.load(file) as arrays:
        state = {name: torch.from_numpy(np.array(arrays[name])) for name in arrays.files}
    tensors = module.state_dict()
    before = {name: tensors[name].detach().clone() for name in state}
    with torch.no_grad():
        trouble = _written(tensors, state)
        if trouble:
            for name, value in before.items():
                with contextlib.suppress(RuntimeError):
                    tensors[name].copy_(value)
            raise Unsupported(f"{trouble}; nothing was changed", _named(module))


def _written(tensors: dict, state: dict) -> str:
    """Copies every tensor; which of them does not hold its numbers afterwards, and why."""
    import torch

    for name, value in state.items():
        try:
            tensors[name].copy_(value)
        except RuntimeError as error:
            return f"tensor '{name}' cannot be written to ({str(error).splitlines()[0]})"
    for name, value in state.items():
        if not torch.equal(tensors[name].nan_to_num(), value.to(tensors[name]).nan_to_num()):
            return f"tensor '{name}' shares its memory with another one, which is given other numbers: let each have its own"
    return ""


def _module_from(path: Path) -> Any:
    import importlib.util
    import linecache
    import uuid

    name, text = f"convoy_port_{uuid.uuid4().hex}", path.read_text()
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))  # the file goes: inspect and torch.jit.script read it here
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader  # of a file that ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _usual_torch() -> Iterator[None]:
    """Whatever the caller has set for tensors of its own: numbers as they were proved, in memory that can be trained."""
    import torch

    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.device("cpu"), torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        torch.set_default_dtype(default)


def _framework(name: str, gives: str, instead: str) -> Any:
    """Imported before anything is carried, which takes long."""
    import importlib

    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:  # Keras's own is that of the framework which it computes with
        missing = error.name or name
        packages = {"torch": "torch", "keras": "keras tensorflow"}.get(missing, f"{name} {missing}")
        raise NotInstalled(f"what comes back is a {gives}, and {missing} is not installed: pip install {packages}; "
                           f"convoy.port(..., '{instead}') needs no framework", name=missing) from error


def _carried(call: str, source: Any, path: Path, to: str, inputs: tuple, options: dict) -> None:
    for name in ("to", "output"):
        if name in options:
            raise UsageError(f"{call}() takes no {name!r}: convoy.port writes files, and this gives the model itself")
    port(source, path, *inputs, to=to, **options)


def to_torch(source: Any, *inputs: Any, **options: Any) -> Any:
    """A live torch.nn.Module with the weights of `source`, its class written by us; `module.source` is that text.

    Parameters
    ----------
    source, inputs
        As for `load`: a path, bytes, a `Model` or a live object, and example inputs of a live module.
    options
        As for `port`, but `to` and `output`.

    Returns
    -------
    torch.nn.Module
        In evaluation mode, on the CPU; it can be trained.

    Raises
    ------
    NotInstalled
        There is no PyTorch here.
    NotProven
        What was made differs from `source`; `.report` holds the evidence.
    FileError, BrokenFile, Unsupported, UsageError
    """
    torch = _framework("torch", "torch.nn.Module", "net.py")
    with _live.temporary_folder() as folder:
        path = folder / "port.py"
        _carried("to_torch", source, path, "torch", inputs, options)
        with torch.random.fork_rng(devices=[]), _usual_torch():  # layers draw weights that are then replaced
            module = _module_from(path).load()
        if not hasattr(module, "source"):  # a layer may be called so
            object.__setattr__(module, "source", path.read_text())
    return module


def to_keras(source: Any, *inputs: Any, **options: Any) -> Any:
    """A live keras.Model with the weights of `source`.

    Parameters
    ----------
    source, inputs
        As for `load`: a path, bytes, a `Model` or a live object, and example inputs of a live module.
    options
        As for `port`, but `to` and `output`.

    Returns
    -------
    keras.Model

    Raises
    ------
    NotInstalled
        There is no Keras here, or not the framework that it computes with.
    NotProven
        What was made differs from `source`; `.report` holds the evidence.
    FileError, BrokenFile, Unsupported, UsageError
    """
    keras = _framework("keras", "keras.Model", "net.keras")
    with _live.temporary_folder() as folder:
        path = folder / "port.keras"
        _carried("to_keras", source, path, "keras", inputs, options)
        return keras.models.load_model(path)


def to_tflite(source: Any, *inputs: Any, **options: Any) -> bytes:
    """The bytes of a TFLite file.

    Parameters
    ----------
    source, inputs
        As for `load`: a path, bytes, a `Model` or a live object, and example inputs of a live module.
    options
        As for `port`, but `to` and `output`.

    Returns
    -------
    bytes

    Raises
    ------
    NotProven
        What was made differs from `source`; `.report` holds the evidence.
    FileError, BrokenFile, Unsupported, UsageError
    """
    with _live.temporary_folder() as folder:
        path = folder / "port.tflite"
        _carried("to_tflite", source, path, "tflite", inputs, options)
        return path.read_bytes()


def to_onnx(source: Any, *inputs: Any, **options: Any) -> Any:
    """The bytes of an ONNX file; an onnx.ModelProto where onnx is imported already.

    Parameters
    ----------
    source, inputs
        As for `load`: a path, bytes, a `Model` or a live object, and example inputs of a live module.
    options
        As for `port`, but `to` and `output`, and `external_data`, which needs a second file.

    Returns
    -------
    bytes or onnx.ModelProto

    Raises
    ------
    NotProven
        What was made differs from `source`; `.report` holds the evidence.
    FileError, BrokenFile, Unsupported, UsageError
    """
    if options.get("external_data"):
        raise UsageError("external_data=True leaves numbers in a second file, and these are the bytes of one: use convoy.port")
    with _live.temporary_folder() as folder:
        path = folder / "port.onnx"
        _carried("to_onnx", source, path, "onnx", inputs, options)
        data = path.read_bytes()
    onnx = sys.modules.get("onnx")
    return onnx.load_from_string(data) if onnx else data
