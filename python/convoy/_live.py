"""Live objects of the frameworks as files. No framework is imported here unless an object of it was handed over: whoever has
such an object has imported it."""
from __future__ import annotations

import contextlib
import functools
import os
import sys
import warnings
from _thread import allocate_lock  # threading itself takes as long to import as all else here
from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, Callable, Iterator, TypeVar

from . import _remote
from ._arguments import _array, shown
from .errors import BrokenFile, Error, FileError, Unsupported, UsageError

if TYPE_CHECKING:
    from pathlib import Path  # it takes as long to import as all else here

    import numpy as np

    from ._live_state import Held
else:
    from . import _numpy as np

T = TypeVar("T")


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="convoy-") as folder:
        yield Path(folder)


class Warning(UserWarning):  # noqa: A001  as `convoy.Warning` it reads well
    """Something that the caller should know of how a live model was read."""


def warn(what: str) -> None:
    """Points at the line that called the package, however deep in it this is said."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("convoy", "contextlib"):
        level, frame = level + 1, frame.f_back
    warnings.warn(what, Warning, stacklevel=level)


def _is_a(thing: Any, module: str, *names: str) -> bool:
    """Whether `thing` is an instance of one of these classes of a framework that is imported already."""
    for name in names:
        owner = sys.modules.get(module)
        for part in name.split("."):
            owner = getattr(owner, part, None)
        if isinstance(owner, type) and isinstance(thing, owner):
            return True
    return False


def kind_of(thing: Any) -> str | None:
    """Which kind of live model this is; None: none of those that are known."""
    if _is_a(thing, "torch", "jit.ScriptModule"):
        return "script"
    if _is_a(thing, "torch.export", "ExportedProgram"):
        return "program"
    if _is_a(thing, "keras", "Model") or _is_a(thing, "tf_keras", "Model") or _is_a(thing, "tensorflow", "keras.Model"):
        return "keras"  # a torch.nn.Module as well where Keras computes with PyTorch
    if _is_a(thing, "torch", "nn.Module"):
        return "module"
    if _is_a(thing, "onnx", "ModelProto"):
        return "onnx"
    if _is_a(thing, "keras", "layers.Layer") or _is_a(thing, "tf_keras", "layers.Layer"):
        return "layer"
    if isinstance(thing, FunctionType) and "torch" in sys.modules:
        return "function"
    return None


@contextlib.contextmanager
def _in_eval_mode(module: Any) -> Iterator[None]:
    """Every module as for inference while this lasts, each as it was behind it."""
    training = [part for part in module.modules() if part.training]
    if training:
        warn(f"the module is in training mode; it is read as after .eval() ({len(training)} of its modules)")
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


_exporting = allocate_lock()  # torch.export is for one thread at a time


@contextlib.contextmanager
def _attributes_kept(module: Any) -> Iterator[None]:
    """Tensors that forward() keeps for later calls: while it is exported they hold no numbers, and would break the module."""
    import torch

    def without_numbers(value: Any) -> bool:
        return isinstance(value, torch._subclasses.FakeTensor) or type(value).__name__ == "FunctionalTensor"

    before = [(part, dict(vars(part)), dict(part._buffers)) for part in module.modules()]
    try:
        yield
    finally:
        for part, attributes, buffers in before:
            for now, then in ((vars(part), attributes), (part._buffers, buffers)):
                for name in [name for name, value in now.items() if without_numbers(value)]:
                    if name in then:
                        now[name] = then[name]
                    else:
                        del now[name]


def _suffix_of(data: bytes) -> str:
    if data[:8] == b"\x89HDF\r\n\x1a\n":
        return ".h5"
    if data[:4] == b"PK\x03\x04":
        return ".keras" if b"config.json" in data[:4096] or b"metadata.json" in data[:4096] else ".pt2"
    return ".json" if data[:1] == b"{" else ".onnx"


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).strip() or 'no message').splitlines()[0]}"


def packed(x: Any, of: Callable[[Any], Any]) -> Any:
    """What `of` makes of each leaf, packed as the leaves are."""
    if isinstance(x, dict):
        return {name: packed(one, of) for name, one in x.items()}
    if isinstance(x, (list, tuple)) and not _is_numbers(x):
        leaves = [packed(one, of) for one in x]
        return type(x)(*leaves) if hasattr(x, "_fields") else type(x)(leaves)
    return of(x)


def _is_numbers(x: Any) -> bool:
    """Whether lists hold nothing but numbers, which are an array then."""
    return all(map(_is_numbers, x)) if isinstance(x, (list, tuple)) else isinstance(x, (int, float, np.generic))


def _real_types(module: Any) -> set:
    """Those of its parameters."""
    return {one.dtype for one in module.parameters() if one.is_floating_point()}


def _example(module: Any) -> Callable[[Any], Any]:
    """Arrays and numbers as tensors. numpy and lists say float64 of what nobody chose a type for: real numbers have that of the
    parameters, if it is one."""
    import torch

    types = _real_types(module)

    def example(x: Any) -> Any:
        if isinstance(x, (torch.Tensor, bool, str)) or x is None:  # what is neither array nor number is no input of a graph
            return x
        made = torch.as_tensor(x) if _is_numbers(x) else torch.as_tensor(_array(x))
        return made.to(next(iter(types))) if made.is_floating_point() and len(types) == 1 else made

    return example


def _check_taken(module: Any, examples: tuple) -> None:
    """torch.export looks at no types: it lets through what the module itself refuses at each call."""
    import torch

    from . import _live_state

    own, given = _real_types(module), set()

    def note(x: Any) -> None:
        if isinstance(x, torch.Tensor) and x.is_floating_point():
            given.add(x.dtype)

    packed(examples, note)
    if not own or given <= own:
        return
    with contextlib.ExitStack() as undone:
        undone.enter_context(torch.no_grad())
        undone.enter_context(torch.random.fork_rng(devices=[]))
        try:
            twin = _live_state.twin(module)
        except Exception:
            return  # what cannot be copied is left alone
        try:
            twin(*examples)
        except Exception as error:
            said = ", ".join(sorted(str(one).removeprefix("torch.") for one in given - own))
            raise UsageError(f"the module does not take the example input, which is {said} ({_first_line(error)})", type(module).__name__) from error


def _free_batch(x: Any) -> Any:
    """The first axis of every tensor is free where the module lets it be."""
    import torch

    return packed(x, lambda one: {0: torch.export.Dim.AUTO} if isinstance(one, torch.Tensor) and one.ndim > 1 else None)


def _plain(output: Any) -> Any:
    """Tuples with names, such as that of torch.topk, as plain ones: no exported program can be saved with others."""
    if isinstance(output, dict):
        return type(output)((name, _plain(one)) for name, one in output.items())
    if isinstance(output, tuple):
        return tuple(_plain(one) for one in output)
    return [_plain(one) for one in output] if type(output) is list else output


@contextlib.contextmanager
def _plain_outputs(module: Any) -> Iterator[None]:
    """The module gives plain tuples while this lasts."""
    forward, is_own = module.forward, "forward" in vars(module)

    @functools.wraps(forward)
    def plain(*args: Any, **named: Any) -> Any:
        return _plain(forward(*args, **named))

    module.forward = plain
    try:
        yield
    finally:
        if is_own:
            module.forward = forward
        else:
            del module.forward


def _two_of(x: Any) -> Any:
    """Twice the example, since torch.export takes a batch of one for a size that never changes; a copy, since it leaves notes on tensors of
    what is free, which the next export would heed."""
    import torch

    def two(one: Any) -> Any:
        if not isinstance(one, torch.Tensor):
            return one
        return torch.cat([one, one]) if one.ndim > 1 and one.shape[0] == 1 else one.clone()

    return packed(x, two)


def _exported(module: Any, examples: tuple, frees_batch: bool) -> Any:
    import torch

    from . import _live_sizes

    if frees_batch:
        with contextlib.suppress(Exception):
            freed = _two_of(examples)
            program = torch.export.export(module, freed, dynamic_shapes=_free_batch(freed))
            is_free = bool(program.range_constraints)
            if not (_live_sizes.fixes_others(program, examples) or _live_sizes.are_asked_for(program) or is_free and not _live_sizes.is_right_elsewhere(module, program, freed)):
                return program
    return torch.export.export(module, examples)


@contextlib.contextmanager
def _masks_are_used() -> Iterator[None]:
    """nn.Transformer looks at the numbers of a mask for whether it is causal, which would only be faster: the mask is used all the same."""
    import torch

    transformer: Any = torch.nn.modules.transformer
    usual = getattr(transformer, "_detect_is_causal_mask", None)
    transformer._detect_is_causal_mask = lambda mask, is_causal=None, size=None: is_causal is True
    try:
        yield
    finally:
        if usual is not None:
            transformer._detect_is_causal_mask = usual


@contextlib.contextmanager
def _export_is_quiet() -> Iterator[None]:
    """PyTorch prints a page of frames for what it raises as well, and warns of what forward() keeps in lines of its own."""
    import logging
    import threading

    here = threading.get_ident()

    def is_heard(record: logging.LogRecord) -> bool:
        return record.thread != here or record.levelno < logging.ERROR

    loggers = [one for name, one in list(logging.root.manager.loggerDict.items()) if name.partition(".")[0] == "torch" and isinstance(one, logging.Logger)]
    handlers = [one for logger in loggers for one in logger.handlers]
    for one in handlers:
        one.addFilter(is_heard)
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The tensor attribute", UserWarning)  # said of every nn.LSTM; what matters is said otherwise
            yield
    finally:
        for one in handlers:
            one.removeFilter(is_heard)


def _check_has_numbers(module: Any, place: str) -> None:
    import itertools

    for name, one in itertools.chain(module.named_parameters(), module.named_buffers()):
        if one.is_meta:
            raise UsageError(f"'{name}' lies on the device 'meta', which keeps no numbers: load its weights first, "
                             "module.load_state_dict(state, assign=True), or give it some, module.to_empty(device='cpu')", place)


def _save_module(module: Any, inputs: tuple, path: Path, frees_batch: bool) -> tuple[Path, dict]:
    """What was written, an exported program or source, and what to read it with."""
    place = type(module).__name__
    if not inputs:
        raise UsageError("a live torch.nn.Module or function is read by torch.export, which needs an example input: give x", place)
    _check_has_numbers(module, place)
    examples = _examples_of(module, inputs)
    if len(examples) == 1 and type(examples[0]) in (tuple, list) and _takes_apart(module, examples[0]):
        examples = tuple(examples[0])  # all arguments in one, as torch.onnx.export takes them
    return _save_called_with(module, examples, path, frees_batch)


def _takes_apart(module: Any, examples: tuple | list) -> bool:
    """Whether these are its arguments, and not one of them that is packed: asked of copies, which costs two calls instead of an export.
    Raises UsageError where it takes both and answers otherwise."""
    import inspect

    import torch

    from . import _live_state

    def answer(*given: Any) -> list[Any] | None:
        with _exporting, torch.no_grad(), torch.random.fork_rng(devices=[]):
            try:
                return torch.utils._pytree.tree_leaves(_live_state.twin(module).eval()(*given))
            except Exception:
                return None

    try:
        inspect.signature(module.forward).bind(*examples)
    except (TypeError, ValueError):
        return False
    packed_up = answer(examples)
    if packed_up is None:
        return True
    apart = answer(*examples) if type(examples) is tuple or len(examples) == 1 else None  # several in a list are what is said
    if apart is None or (len(apart) == len(packed_up) and all(map(_is_same_answer, apart, packed_up))):
        return False
    raise UsageError("takes the example input as one argument and as all of them, and answers otherwise: give its tensors one by one, "
                     "or ([x],) where the argument is a list", type(module).__name__)


def _is_same_answer(one: Any, other: Any) -> bool:
    import torch

    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and bool(torch.equal(one.nan_to_num(), other.nan_to_num()))
    return type(one) is type(other) and bool(one == other)


def _examples_of(module: Any, inputs: tuple) -> tuple:
    place = type(module).__name__
    try:
        return tuple(packed(x, _example(module)) for x in inputs)
    except UsageError as error:
        raise UsageError(f"an example input: {error.what}", place) from error
    except Exception as error:
        raise UsageError(f"an example input is no tensor ({_first_line(error)})", place) from error


def _save_called_with(module: Any, examples: tuple, path: Path, frees_batch: bool) -> tuple[Path, dict]:
    from . import _live_hooks, _live_source, _live_state

    place = type(module).__name__
    kept = _live_state.Kept(module)
    source = path.with_suffix(".py")
    said: dict | None = None
    refusal = ""
    with _exporting, _in_eval_mode(module):
        with _attributes_kept(module), _export_is_quiet(), kept.watched():
            _check_taken(module, examples)
            try:
                _export(module, examples, path, frees_batch)
            except Unsupported as error:
                refusal = error.what
        padding, watching = _live_state.remark_on_padding(module, examples), ""
        if refusal:
            held = _live_state.Held(module)
            with _live_hooks.left_out(module, examples) as watching:
                if watching and _is_exported_as(held, module, examples, path, frees_batch):
                    refusal = ""
                else:
                    try:
                        said = _live_source.save(module, examples, source, frees_batch, held)
                    except Error as error:
                        raise Unsupported(f"{refusal}; as source it is not read either ({error})", place) from error
    if padding:
        warn(f"{place}: {padding}")
    if watching:
        warn(f"{place}: it was read without its hooks that only watch ({watching})")
    if said is not None:
        warn(f"{place}: {refusal}; it was read as source, the text of its classes with the settings and weights that it has now")
        return source, said
    remark = kept.remark(examples)
    if remark:
        warn(f"{place}: {remark}")
    return path, {}


def _is_exported_as(held: Held, module: Any, examples: tuple, path: Path, frees_batch: bool) -> bool:
    """Whether torch.export takes the module as it is now, and it answers as `held` does."""
    from . import _live_source

    with _attributes_kept(module), _export_is_quiet():
        try:
            _export(module, examples, path, frees_batch)
        except Unsupported:
            return False
    try:
        _live_source.check_answers(held, examples, str(path), {})
    except Error:
        return False
    return True


def _export(module: Any, examples: tuple, path: Path, frees_batch: bool) -> None:
    with _masks_are_used():
        _export_as_it_is(module, examples, path, frees_batch)


def _export_as_it_is(module: Any, examples: tuple, path: Path, frees_batch: bool) -> None:
    import torch

    try:
        program = _exported(module, examples, frees_batch)
    except Exception as error:
        why = "it decides by numbers of tensors, which come only when it runs" if type(error).__name__ == "GuardOnDataDependentSymNode" else _first_line(error)
        raise Unsupported(f"torch.export does not take the module ({why})") from error
    try:
        torch.export.save(program, str(path))
    except Exception as error:
        try:
            with _plain_outputs(module):
                torch.export.save(_exported(module, examples, frees_batch), str(path))
        except Exception:
            raise Unsupported(f"torch.export does not save the module ({_first_line(error)})") from error


def _read_whole(thing: Any) -> bytes:
    """What an open file, or a member of an archive, holds from where it stands."""
    try:
        if hasattr(thing, "read"):
            data = thing.read()
        elif hasattr(thing, "read_bytes"):  # zipfile.Path, importlib.resources
            data = thing.read_bytes()
        else:  # fsspec.open(...)
            with thing as file:
                data = file.read()
    except OSError as error:
        raise FileError(f"the open file cannot be read ({_first_line(error)})", _name_of(thing)) from error
    except Exception as error:
        raise UsageError(f"the open file cannot be read ({_first_line(error)})", _name_of(thing)) from error
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise UsageError("an open file is read as bytes: open it with mode 'rb'", _name_of(thing))
    return bytes(data)


@contextlib.contextmanager
def read_from(thing: Any) -> Iterator[None]:
    """Failures of what is read meanwhile say where an open file stood, if that was not its beginning."""
    begun = _stands_at(thing) if is_open(thing) else 0
    try:
        yield
    except Error as error:
        if begun:
            error.say(f"{error.what} (the open file was read from byte {begun} on, where it stood: seek(0) goes to its beginning)")
        raise


def is_open(thing: Any) -> bool:
    if isinstance(thing, (str, os.PathLike)) or kind_of(thing):
        return False
    return hasattr(thing, "read") or hasattr(thing, "read_bytes") or _is_a(thing, "fsspec.core", "OpenFile")


def _name_of(thing: Any) -> str:
    name = getattr(thing, "name", None)
    return name if isinstance(name, str) else f"{type(thing).__module__}.{type(thing).__qualname__}"


def _stem_of(thing: Any) -> str:
    """Of the file that is written of it, by which failures and tables know it: an open file's and a Keras model's name, else its class."""
    kind, name = kind_of(thing), getattr(thing, "name", None)
    if kind in ("module", "program", "script"):
        name = getattr(thing, "original_name", type(thing).__name__)
    elif kind == "function":
        name = thing.__name__.strip("<>")  # a lambda's
    stem = os.path.basename(name) if isinstance(name, str) else ""
    stem = stem if kind else os.path.splitext(stem)[0]
    return stem if stem and "\0" not in stem and len(os.fsencode(stem)) < 200 else "model"


def _stands_at(thing: Any) -> int:
    """How far an open file was read before; 0 where it does not say."""
    try:
        return int(thing.tell())
    except Exception:
        return 0


def is_bytes(thing: Any) -> bool:
    return isinstance(thing, (bytes, bytearray, memoryview))


def _save_pieces(pieces: Mapping, folder: Path) -> Path:
    """Files that belong together, under the names that they have for each other; the path of the first."""
    paths = []
    if any(hasattr(piece, "shape") and hasattr(piece, "dtype") for piece in pieces.values()):
        raise UsageError(f"{shown(pieces)} is a dict of arrays, which says no layers: give the model, and this as weights=")
    for name, piece in pieces.items():
        parts = name.split("/") if isinstance(name, str) else []
        if not parts or any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise UsageError(f"{name!r} is no name of a piece: give a file's name, or a path below the first one's folder")
        path = folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(whole(piece))
        paths.append(path)
    if not paths:
        raise UsageError("no piece of a model is given")
    return paths[0]


def whole(piece: Any) -> bytes:
    """The bytes of a file that is given as such, as a path, or open."""
    if is_bytes(piece):
        return bytes(piece)
    if is_open(piece):
        return _read_whole(piece)
    if isinstance(piece, (str, os.PathLike)):
        try:
            with open(piece, "rb") as file:
                return file.read()
        except OSError as error:
            raise FileError(f"cannot be read ({_first_line(error)})", os.fspath(piece)) from error
    raise UsageError(f"a piece of a model is {type(piece).__module__}.{type(piece).__qualname__}: give bytes, a path or an open file")


def save(thing: Any, folder: Path, inputs: tuple = ()) -> Path:
    """Writes a live model but a torch.nn.Module, the bytes of a file or of several, or what a URL names into `folder`; the path of what was written."""
    if isinstance(thing, Mapping):
        return _save_pieces(thing, folder)
    if isinstance(thing, str):
        return _remote.fetched(thing, folder)
    if is_bytes(thing):
        path = folder / ("model" + _suffix_of(bytes(thing[:4096])))
        path.write_bytes(thing)
        return path
    if is_open(thing):
        path = save(_read_whole(thing), folder)
        return path.rename(folder / (_stem_of(thing) + path.suffix))
    kind = kind_of(thing)
    if kind == "script":
        path = folder / f"{_stem_of(thing)}.pt"
        thing.save(str(path))
    elif kind == "program":
        import torch

        path = folder / f"{_stem_of(thing)}.pt2"
        torch.export.save(thing, str(path))
    elif kind == "keras":
        from . import _live_keras

        path = folder / f"{_stem_of(thing)}.keras"
        _live_keras.save(thing, path, inputs)
    elif kind == "layer":
        from . import _live_keras

        path = folder / f"{_stem_of(thing)}.keras"
        _live_keras.save_layer(thing, path, inputs)
    elif kind == "onnx":
        path = folder / "model.onnx"
        path.write_bytes(thing.SerializeToString())
    else:
        _check_is_no_class(thing)
        raise UsageError(f"{type(thing).__module__}.{type(thing).__qualname__} is no model: give a path, a URL, the bytes of a file, an open file, a torch.nn.Module, "
                         "ExportedProgram or ScriptModule, a keras.Model or layer, an onnx.ModelProto, a function over torch's tensors, or the pieces of a model: a dict of files by name, "
                         "or [model, weights]")
    return path


def _check_is_no_class(thing: Any) -> None:
    if isinstance(thing, type):
        raise UsageError(f"{thing.__module__}.{thing.__qualname__} is a class: give a model that was made of it, {thing.__name__}(...)")


def check_takes_examples(thing: Any, inputs: tuple) -> None:
    _check_is_no_class(thing)
    if inputs and kind_of(thing) not in ("module", "script", "keras", "layer", "function"):
        raise UsageError(f"an example input is given ({shown(inputs[0])}), which only a live torch.nn.Module, ScriptModule, keras.Model or layer takes: "
                         "the model itself says what its inputs are", _name_of(thing) if is_open(thing) else "")


def check_is_built(other: Any) -> None:
    """A model beside another one, whose example it is: axes that lie otherwise would build it for good with wrong sizes."""
    if kind_of(other) == "keras" and not other.built:
        raise UsageError("is not built, and has neither shapes nor weights yet: call it once, or begin it with a keras.Input",
                         f"{type(other).__name__} '{other.name}'")


def written(thing: Any, folder: Path, inputs: tuple, frees_batch: bool = True) -> tuple[Path, dict]:
    """The path of what was written of a live model, and what an example says of its inputs, as arguments of reading."""
    if kind_of(thing) == "function":
        return written(_as_module(thing), folder, inputs, frees_batch)
    if kind_of(thing) == "module":
        return _save_module(thing, inputs, folder / f"{_stem_of(thing)}.pt2", frees_batch)
    return save(thing, folder, inputs), _said_by(thing, inputs, frees_batch)


def _as_module(function: Any) -> Any:
    """A function over PyTorch's tensors as a module."""
    import torch

    return type(function.__name__.strip("<>"), (torch.nn.Module,), {"forward": staticmethod(function)})().eval()


def _said_by(thing: Any, inputs: tuple, frees_batch: bool) -> dict:
    """Shapes and types of a ScriptModule's inputs, as arguments of reading: its file declares none. The first axis is free where the
    module lets it be."""
    if kind_of(thing) != "script" or not inputs:
        return {}
    if len(inputs) == 1 and type(inputs[0]) in (tuple, list) and not _is_numbers(inputs[0]):
        inputs = tuple(inputs[0])
    names = [one.name for one in thing.forward.schema.arguments[1:]]
    if len(inputs) > len(names):
        raise UsageError(f"{len(inputs)} example inputs, and its forward takes {len(names)}: {', '.join(names)}", _stem_of(thing))
    shapes, types = {}, {}
    for name, x in zip(names, inputs):
        try:
            seen = _array(x)
        except UsageError as error:
            raise UsageError(f"the example input '{name}': {error.what}", _stem_of(thing)) from None
        sizes = [int(n) for n in seen.shape]
        shapes[name] = [None, *sizes[1:]] if frees_batch and len(sizes) > 1 else sizes
        kind = str(seen.dtype).removeprefix("torch.")
        if not kind.startswith(("float", "bfloat")):
            types[name] = kind
    return {"shapes": shapes, "types": types} if types else {"shapes": shapes}


def read(thing: Any, folder: Path, inputs: tuple, use: Callable[[Path, dict], T]) -> T:
    """What `use` makes of the model's file, and of what an example says of its inputs. A module that is not carried with its batch free is carried with that of the example."""
    with read_from(thing):
        try:
            return _read(thing, folder, inputs, use)
        except Unsupported as error:
            plain = _with_plain_weights(thing, inputs) if kind_of(thing) == "module" else None
            if plain is None:
                raise
            try:
                return _read(plain, folder, inputs, functools.partial(_used_if_held, thing, inputs, use))
            except Unsupported:
                raise error from None


def _with_plain_weights(module: Any, inputs: tuple) -> Any:
    from . import _live_state

    try:
        plain = _live_state.without_computed_weights(module) if inputs else None
    except Exception:
        return None  # what cannot be copied, or computed by itself
    if plain is not None:
        warn(f"{type(module).__name__}: what computes its weights (parametrizations, normalizations, prunings) is not carried: it was read with the weights "
             "that they give now")
    return plain


def _used_if_held(module: Any, inputs: tuple, use: Callable[[Path, dict], T], path: Path, said: dict) -> T:
    """What `use` makes of a file that answers as the module does."""
    from . import _live_source, _live_state

    with _in_eval_mode(module):
        _live_source.check_answers(_live_state.Held(module), _examples_of(module, inputs), str(path), said)
    return use(path, said)


def _read(thing: Any, folder: Path, inputs: tuple, use: Callable[[Path, dict], T]) -> T:
    path, said = written(thing, folder, inputs)
    try:
        return use(path, said)
    except (Unsupported, UsageError, BrokenFile) as error:  # of its own file a ScriptModule says nothing is wrong but with what is free
        if not inputs or kind_of(thing) not in (("module", "script", "function") if isinstance(error, Unsupported) else ("script",)):
            raise
    if kind_of(thing) == "script":
        return use(path, _said_by(thing, inputs, frees_batch=False))
    return use(*written(thing, folder, inputs, frees_batch=False))
