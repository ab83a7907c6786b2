"""A live torch.nn.Module that torch.export refuses, as source: the classes' own text, and each of its modules made with the settings,
weights and attributes that the live one has now, since nothing keeps what a constructor was called with. What it computes is held
against the module's own answer to the example."""
from __future__ import annotations

import ast
import contextlib
import enum
import functools
import hashlib
import inspect
import math
import re
import sys
import textwrap
import types
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from . import _convoy, _live_state, _text_of, _weights
from ._arguments import _array, _reading
from .errors import Error, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy as np
else:
    from . import _numpy as np

_KNOWN_PACKAGES = ("torch", "numpy", "einops", *sys.stdlib_module_names)  # by their names; the text of others is copied


class _HasNoWords(Exception):
    """A value that no expression says."""


def _words(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


class _Text:
    """The program. Definitions come behind what they name, and keep their names; instances are variables."""

    def __init__(self) -> None:
        self.lines = ["import torch"]
        self.places: list[tuple[int, int, int, str, int]] = []  # first line here, how many, how far in it stood, its file, its line there
        self.names: dict[str, Any] = {"torch": sys.modules["torch"]}
        self.known: dict[int, str] = {}  # objects by the expressions for them
        self.kept: list[Any] = []  # an id is one object's as long as it is there
        self.begun: set[int] = set()
        self.roots: set[str] = set()
        self.count = 0
        self.registered: set[int] = set()  # modules and tensors whose numbers are written beside the program

    def add(self, text: str) -> None:
        self.lines += text.rstrip("\n").split("\n")

    def new_name(self, stem: str) -> str:
        while True:
            self.count += 1
            name = f"{stem}_{self.count}"
            if name not in self.names:
                self.names[name] = None
                return name

    def instance(self, thing: Any, made: str) -> str:
        name = self.new_name("_live")
        self.add(f"{name} = {made}")
        return self.keep(thing, name)

    def keep(self, thing: Any, expression: str) -> str:
        self.kept.append(thing)
        self.known[id(thing)] = expression
        return expression

    @contextlib.contextmanager
    def once(self, thing: Any) -> Iterator[None]:
        """What holds itself, however deep, has no words."""
        if id(thing) in self.begun:
            raise _HasNoWords
        self.begun.add(id(thing))
        try:
            yield
        finally:
            self.begun.discard(id(thing))

    # What the text of a class or function names.

    def define(self, name: str, thing: Any) -> None:
        """What a name stands for in a class's own file."""
        if name in self.names:
            if self.names[name] is not thing and not _is_alike(self.names[name], thing):
                raise Unsupported(f"'{name}' is one thing in one of its files and another in the next")
            return
        self.names[name] = thing
        if isinstance(thing, types.ModuleType):
            self.add(f"import {thing.__name__} as {name}")
            self._find(thing)
            return
        own = inspect.unwrap(thing) if callable(thing) else thing
        if (isinstance(own, type) or inspect.isfunction(own)) and not _is_known(own):
            self._copy(name, own)
            return
        try:
            self.add(f"{name} = {self.expression(thing)}")
        except _HasNoWords:
            return  # missed where it is used

    def _find(self, module: types.ModuleType) -> None:
        """Where the imports of a module that is not copied begin."""
        if module.__name__.partition(".")[0] in _KNOWN_PACKAGES or not getattr(module, "__file__", None):
            return
        from pathlib import Path

        above = module.__name__.count(".") + (Path(str(module.__file__)).stem == "__init__")
        self.roots.add(str(Path(str(module.__file__)).resolve().parents[above]))

    def _copy(self, name: str, thing: Any) -> None:
        try:
            lines, first = inspect.getsourcelines(thing)
            file = inspect.getsourcefile(thing) or ""
            text = textwrap.dedent("".join(lines))
            tree = ast.parse(text).body[0]
        except (OSError, TypeError, SyntaxError, IndexError):
            raise Unsupported(f"the source of {_words(thing)} is not at hand") from None
        _text_of.check(thing, tree, first)
        look_up = _looked_up(thing)
        at_once, later = _named(tree)
        for one in at_once:
            self._define_if_there(one, look_up)
        self.places.append((len(self.lines) + 1, len(lines), len(lines[0]) - len(lines[0].lstrip()), file, first))
        self.add(text)
        if thing.__name__ != name and not isinstance(tree, ast.Assign):
            self.names.setdefault(thing.__name__, thing)
            self.add(f"{name} = {thing.__name__}")
        for one in later:
            self._define_if_there(one, look_up)

    def _define_if_there(self, name: str, look_up: dict[str, Any]) -> None:
        if name in look_up:
            self.define(name, look_up[name])

    # Values.

    def expression(self, value: Any, depth: int = 8) -> str:
        import torch

        if id(value) in self.known:
            return self.known[id(value)]
        if depth == 0:
            raise _HasNoWords
        deeper = functools.partial(self.expression, depth=depth - 1)
        kind: Any = type(value)
        if kind in (bool, int, float, str, bytes, type(None)):
            return f"float({str(value)!r})" if kind is float and not math.isfinite(value) else repr(value)
        if value is Ellipsis:
            return "..."
        if isinstance(value, np.generic):
            return deeper(value.item())
        if isinstance(value, torch.dtype):
            return str(value)
        if kind in (tuple, torch.Size):
            return f"({''.join(deeper(one) + ', ' for one in value)})"
        if kind is list:
            return f"[{', '.join(map(deeper, value))}]"
        if kind in (dict, OrderedDict):
            return "{" + ", ".join(f"{deeper(key)}: {deeper(one)}" for key, one in value.items()) + "}"
        if isinstance(value, torch.nn.Module):
            return self.module(value)
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, functools.partial):
            said = [deeper(value.func), *map(deeper, value.args), *(f"{name}={deeper(one)}" for name, one in value.keywords.items())]
            self.define("functools", functools)
            return f"functools.partial({', '.join(said)})"
        if isinstance(value, type) or callable(value):
            return self.callable(value)
        if isinstance(value, enum.Enum):
            return f"{self.callable(type(value))}.{value.name}"
        return self.object(value)

    def object(self, value: Any) -> str:
        """Settings that a program keeps in an object of its own."""
        kind = type(value)
        is_bare = _words(kind) in ("types.SimpleNamespace", "argparse.Namespace")
        if not hasattr(value, "__dict__") or (_is_known(kind) and not is_bare):
            raise _HasNoWords
        base = "" if is_bare else f"({self.callable(kind)})"
        with self.once(value):
            body = [f"self.{name} = {self.expression(one)}" for name, one in vars(value).items() if name.isidentifier()]
        name = self.new_name(kind.__name__)
        self.add("\n".join([f"class {name}{base}:", "    def __init__(self):", *(f"        {line}" for line in body or ["pass"])]))
        return self.instance(value, f"{name}()")

    def callable(self, thing: Any) -> str:
        if _is_known(thing):
            return self.keep(thing, self._path_of(thing))
        own = inspect.unwrap(thing)
        if not (isinstance(own, type) or inspect.isfunction(own)) or "<" in own.__qualname__ or "." in own.__qualname__:
            raise _HasNoWords
        self.define(own.__name__, own)
        return self.keep(thing, own.__name__)

    def _path_of(self, thing: Any) -> str:
        name = getattr(thing, "__name__", "")
        package = (getattr(thing, "__module__", None) or "").partition(".")[0]
        for path in ("torch.nn.functional", "torch.nn", "torch", "torch.nn.init", "torch.linalg", package, getattr(thing, "__module__", None), "numpy"):
            module = sys.modules.get(path or "")
            if name and module and getattr(module, name, None) is thing:
                assert path
                if path == "builtins":
                    return name
                if not path.startswith("torch"):
                    alias = path.partition(".")[0]
                    self.define(alias, sys.modules[alias])
                return f"{path}.{name}"
        raise _HasNoWords

    def tensor(self, value: Any) -> str:
        import torch

        kind = "" if value.dtype == torch.float32 else f", dtype={value.dtype}"
        if id(value) not in self.registered:
            if value.numel() > 1000 or isinstance(value, torch.nn.Parameter) or value.dtype in (torch.float16, torch.bfloat16):
                raise Unsupported(f"a tensor of shape {tuple(value.shape)} is kept where PyTorch does not look for it, so that its numbers "
                                  "would be lost: register it as a parameter or buffer")
            return self.instance(value, f"torch.tensor({self.expression(value.tolist(), depth=value.ndim + 2)}{kind})")
        made = f"torch.zeros({self.expression(tuple(value.shape))}{kind})"
        return self.instance(value, f"torch.nn.Parameter({made})" if isinstance(value, torch.nn.Parameter) else made)

    # Modules.

    def module(self, thing: Any) -> str:
        import torch

        if id(thing) in self.known:
            return self.known[id(thing)]
        kind = type(thing)
        for hooks in ("_forward_hooks", "_forward_pre_hooks"):
            for hook in getattr(thing, hooks).values():
                raise Unsupported(f"{_words(kind)} has a hook, {getattr(hook, '__qualname__', type(hook).__qualname__)}, which its source does not say")
        for name in vars(thing):
            if callable(getattr(kind, name, None)) and name not in thing._modules:
                raise Unsupported(f"{_words(kind)} was given another {name}, which its source does not say")
        if id(thing) not in self.registered and (any(True for _ in thing.parameters()) or any(True for _ in thing.buffers())):
            raise Unsupported(f"a {_words(kind)} is kept where PyTorch does not look for layers, so that its weights would be lost: "
                              "add_module() or a ModuleList registers it")
        if _is_known(kind):
            return self.tied(thing, self.instance(thing, f"torch.nn.{kind.__name__}({self.settings(thing, kind)})"))
        with self.once(thing):
            made = f"{self.remade(thing, kind)}()"
        return self.tied(thing, self.instance(thing, made))

    def tied(self, thing: Any, name: str) -> str:
        """A layer of PyTorch's makes its own parameters: those that another part has already are the same ones."""
        import torch

        if isinstance(thing, (torch.nn.ParameterList, torch.nn.ParameterDict)):
            return name  # made of them
        if isinstance(thing, torch.nn.MultiheadAttention) or not thing._modules:
            for parameter, value in thing.named_parameters():
                if id(value) not in self.known:
                    self.keep(value, f"{name}.{parameter}")
                elif _is_known(type(thing)) or _layer_of(type(thing)) is not torch.nn.Module:
                    self.add(f"{name}.{parameter} = {self.known[id(value)]}")
        return name

    def settings(self, thing: Any, kind: Any) -> str:
        """What a constructor of PyTorch's is called with to give this layer."""
        import torch

        if getattr(torch.nn, kind.__name__, None) is not kind:
            raise Unsupported(f"{_words(kind)} is no layer of torch.nn")
        if isinstance(thing, (torch.nn.Sequential, torch.nn.ModuleDict)):
            parts = "{" + ", ".join(f"{name!r}: {self.expression(part)}" for name, part in thing._modules.items()) + "}"
            if not thing._modules:
                return ""
            if isinstance(thing, torch.nn.ModuleDict):
                return parts
            self.define("collections", sys.modules["collections"])
            return f"collections.OrderedDict({parts})"
        if isinstance(thing, torch.nn.ModuleList):
            return f"[{', '.join(map(self.expression, thing._modules.values()))}]"
        if isinstance(thing, torch.nn.ParameterList):
            return f"[{', '.join(map(self.expression, thing))}]"
        if isinstance(thing, torch.nn.ParameterDict):
            return "{" + ", ".join(f"{name!r}: {self.expression(one)}" for name, one in thing.items()) + "}"
        said = []
        for name, default in _asked_by(kind):
            value = _transformer_setting(thing, name) if isinstance(thing, _transformers()) else _setting(thing, name)
            if value is _setting:
                if default is inspect.Parameter.empty:
                    raise Unsupported(f"{_words(kind)} does not keep the {name!r} that it was made with")
                continue
            if isinstance(value, torch.Tensor):
                value = True
            if type(value) is not type(default) or value != default:
                said.append(f"{name}={self._required(value, thing, name)}")
        for name, value in _fixed_by(kind).items():
            if getattr(thing, name) != value:
                raise Unsupported(f"{name!r} of {_words(kind)} is {getattr(thing, name)!r}, which no call of it gives")
        types_of = {one.dtype for one in thing.parameters(recurse=False)} - {torch.float32}
        return ", ".join(said + [f"dtype={one}" for one in types_of])

    def _required(self, value: Any, thing: Any, name: str) -> str:
        try:
            return self.expression(value)
        except _HasNoWords:
            raise Unsupported(f"{name!r} of {_words(type(thing))} is {type(value).__qualname__}, which no program says in words") from None

    def remade(self, thing: Any, kind: Any, rest: str = "") -> str:
        """A class that begins as this instance is."""
        import torch

        base = _layer_of(kind)
        if "<locals>" in kind.__qualname__ or kind.__name__ not in self.names or self.names[kind.__name__] is not kind:
            self.define(kind.__name__, kind)
        made = "" if base is torch.nn.Module else self.settings(thing, base)
        body = [f"torch.nn.{base.__name__}.__init__(self{', ' if made else ''}{made})"]
        own = set(vars(torch.nn.Module())) | set(getattr(base, "__constants__", ())) | {name for name, _ in _asked_by(base)}
        if base is not torch.nn.Module:
            own |= {name for name in vars(thing) if name.startswith("_")} | {"transposed", "output_padding"}
        for name, value in vars(thing).items():
            if name in own or not name.isidentifier():
                continue
            try:
                said = self.expression(value)
            except _HasNoWords:
                continue  # missed where it is used
            body.append(f"self.register_buffer({name!r}, {said})" if isinstance(value, torch.Tensor) else f"self.{name} = {said}")
        if base is torch.nn.Module:
            body += [f"self.register_parameter({name!r}, {self.expression(one)})" for name, one in thing._parameters.items()]
            body += [f"self.register_buffer({name!r}, {self.expression(one)})" for name, one in thing._buffers.items()]
            body += [f"self.add_module({name!r}, {self.expression(part)})" if part is not None else f"self.{name} = None" for name, part in thing._modules.items()]
        name = self.new_name(kind.__name__)
        self.add("\n".join([f"class {name}({kind.__name__}):", "    def __init__(self):", *(f"        {line}" for line in body)]) + rest)
        return name

    def place(self, words: str, file: str) -> str:
        """What is said of this program, by the lines of the files that it was copied from."""

        def original(found: re.Match) -> str:
            line, column = int(found[1]), int(found[2])
            for begins, count, indented, path, first in self.places:
                if begins <= line < begins + count:
                    return f"{path.rpartition('/')[2]}:{first + line - begins}:{column + indented}"
            return found[0]

        return re.sub(re.escape(file) + r":(\d+):(\d+)", original, words)


def _is_alike(one: Any, other: Any) -> bool:
    """Of classes and functions that are copied, two of one name may have been made by different texts or closures."""
    if hasattr(one, "__qualname__") and hasattr(other, "__qualname__"):
        return _is_known(one) and _is_known(other) and _words(one) == _words(other)
    return type(one) is type(other) and bool(one == other)


def _layer_of(kind: Any) -> Any:
    """The class of PyTorch's that a class derives from."""
    return next(one for one in kind.__mro__ if _is_known(one))


def _is_known(thing: Any) -> bool:
    module = getattr(thing, "__module__", None)
    return (module or "torch").partition(".")[0] in _KNOWN_PACKAGES and module != "__main__"


def _asked_by(kind: Any) -> list[tuple[str, Any]]:
    """Names and defaults of what a layer of PyTorch's is made with."""
    import torch

    if issubclass(kind, torch.nn.RNNBase):
        given = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False, "proj_size": 0}
        empty = inspect.Parameter.empty
        return [("input_size", empty), ("hidden_size", empty), *given.items(), *([("nonlinearity", "tanh")] if kind is torch.nn.RNN else [])]
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    return [(one.name, one.default) for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
            and one.name not in ("device", "dtype") and not one.name.startswith("_")]


def _fixed_by(kind: Any) -> dict[str, Any]:
    """Settings of the layer that a layer of PyTorch's derives from, which its own constructor does not ask for: the bounds of ReLU6."""
    import torch

    asked = dict(_asked_by(kind))
    if inspect.Parameter.empty in asked.values():
        return {}
    plain = kind()
    bases = [one for one in kind.__mro__[1:] if issubclass(one, torch.nn.Module) and one is not torch.nn.Module]
    return {name: getattr(plain, name) for base in bases for name, _ in _asked_by(base) if name not in asked and name in vars(plain)}


def _setting(thing: Any, name: str) -> Any:
    """What a layer was made with; this function itself: it does not keep that."""
    import torch

    if isinstance(thing, torch.nn.MultiheadAttention):
        if name == "bias":
            return thing.in_proj_bias is not None
        if name == "add_bias_kv":
            return thing.bias_k is not None
    if name == "bias" and getattr(thing, name, True) is None:
        return False
    return getattr(thing, name, _setting)


def _transformers() -> tuple:
    import torch

    return (torch.nn.Transformer, torch.nn.TransformerEncoder, torch.nn.TransformerDecoder, torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer)


def _transformer_setting(thing: Any, name: str) -> Any:
    """Those of nn.Transformer and its parts lie in the layers that they were made with."""
    import torch

    stacks: dict[str, Any] = {"encoder": torch.nn.TransformerEncoder, "decoder": torch.nn.TransformerDecoder}
    if isinstance(thing, torch.nn.Transformer):
        inner = {"num_encoder_layers": "encoder", "num_decoder_layers": "decoder"}.get(name)
        if inner:
            return getattr(getattr(thing, inner), "num_layers", _setting)
        if name in ("custom_encoder", "custom_decoder"):
            part = getattr(thing, name.removeprefix("custom_"))
            return None if type(part) is stacks[name.removeprefix("custom_")] else part
        if name in ("d_model", "nhead", "batch_first") or type(thing.encoder) is not torch.nn.TransformerEncoder:
            return getattr(thing, name, _setting)
        return _transformer_setting(thing.encoder.layers[0], name)
    if isinstance(thing, (torch.nn.TransformerEncoder, torch.nn.TransformerDecoder)):
        if name in ("encoder_layer", "decoder_layer"):
            return thing.layers[0]
        return getattr(thing, name, _setting)
    inside = {"d_model": ("linear1", "in_features"), "dim_feedforward": ("linear1", "out_features"), "nhead": ("self_attn", "num_heads"), "batch_first": ("self_attn", "batch_first"),
              "layer_norm_eps": ("norm1", "eps"), "dropout": ("dropout", "p")}.get(name)  # fmt: skip
    if inside:
        return getattr(getattr(thing, inside[0]), inside[1])
    return thing.linear1.bias is not None if name == "bias" else getattr(thing, name, _setting)


def _looked_up(thing: Any) -> dict[str, Any]:
    """What each name stands for in the text of a class or function."""
    names: dict[str, Any] = {}
    module = sys.modules.get(thing.__module__)
    names.update(vars(module) if module else {})
    members = [thing] if inspect.isfunction(thing) else list(vars(thing).values())
    for one in members:
        one = getattr(one, "__func__", None) or getattr(one, "fget", None) or one
        one = inspect.unwrap(one) if callable(one) else one
        if inspect.isfunction(one):
            names.update(one.__globals__)
    for one in members:
        one = getattr(one, "__func__", None) or getattr(one, "fget", None) or one
        if inspect.isfunction(one) and one.__closure__:
            for name, cell in zip(one.__code__.co_freevars, one.__closure__):
                if name != "__class__":
                    names[name] = cell.cell_contents
    return names


def _named(tree: ast.AST) -> tuple[list[str], list[str]]:
    """The names in a text: those that are looked up when it is read, and those of calls alone. Hints are never looked at."""
    at_once: dict[str, None] = {}
    later: dict[str, None] = {}

    def walk(node: Any, into: dict[str, None]) -> None:
        if isinstance(node, ast.Name):
            into[node.id] = None
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns"):
                continue
            is_body = name == "body" and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, ast.AST):
                    walk(one, later if is_body else into)

    walk(tree, at_once)
    return list(at_once), [name for name in later if name not in at_once]


def _tensors(module: Any) -> Iterator[tuple[str, Any]]:
    """All that the program asks for by name: parameters and buffers, and tensors that are plain attributes."""
    import torch

    usual = vars(torch.nn.Module())
    for path, part in module.named_modules(remove_duplicate=False):
        held = {**{name: one for name, one in vars(part).items() if name not in usual and not _is_known(type(part))}, **part._parameters, **part._buffers}
        for name, one in held.items():
            if isinstance(one, torch.Tensor):
                yield f"{path}.{name}" if path else name, one


def _arguments(module: Any, examples: tuple) -> list[str]:
    parameters = list(inspect.signature(type(module).forward).parameters.values())[1:]
    positional = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if len(examples) > len(positional):
        raise Unsupported(f"its forward is given {len(examples)} arguments and names {len(positional)}")
    return positional[: len(examples)]


def _program(module: Any, examples: tuple) -> _Text:
    import torch

    text = _Text()
    text.registered = {*map(id, module.modules()), *(id(one) for _, one in _tensors(module))}
    names = _arguments(module, examples)
    given = [name if isinstance(one, torch.Tensor) else text._required(one, module, name) for name, one in zip(names, examples)]
    taken = [name for name, one in zip(names, examples) if isinstance(one, torch.Tensor)]
    if any(not isinstance(one, (torch.Tensor, bool, str, type(None))) for one in examples):
        raise Unsupported("an example input is packed, and source takes tensors one by one")
    forward = ""
    if len(taken) < len(names):
        forward = f"\n    def forward({', '.join(['self', *taken])}):\n        return super().forward({', '.join(given)})"
    if _is_known(type(module)):
        text.add(f"model = {text.module(module)}")
    else:
        called = f"\n    __qualname__ = {type(module).__name__!r}"  # by which its ports know it
        text.add(f"model = {text.remade(module, type(module), called + forward)}()")
    return text


def _said(module: Any, examples: tuple, frees_batch: bool, roots: set[str]) -> dict:
    """Shapes and types of the inputs, as arguments of reading."""
    import torch

    said: dict[str, Any] = {"shapes": {}, "types": {}}
    for name, x in zip(_arguments(module, examples), examples):
        if isinstance(x, torch.Tensor):
            said["shapes"][name] = [None if frees_batch and i == 0 and x.ndim > 1 else int(n) for i, n in enumerate(x.shape)]
            if x.dtype != torch.float32:
                said["types"][name] = str(x.dtype).removeprefix("torch.")
    if roots:
        said["import_roots"] = sorted(roots)
    return {name: one for name, one in said.items() if one}


def save(module: Any, examples: tuple, path: Path, frees_batch: bool, held: _live_state.Held) -> dict:
    """Writes the program and its weights beside it; what to read it with. Fails where it is not read, or computes something else."""
    import torch

    text = _program(module, examples)
    weights = path.with_suffix(".safetensors")
    _weights.write(dict(_tensors(module)), weights)
    text.lines.insert(1, f'WEIGHTS_SHA256 = "{hashlib.sha256(weights.read_bytes()).hexdigest()}"')
    text.places = [(begins + 1, *rest) for begins, *rest in text.places]  # type: ignore[misc]
    path.write_text("\n".join(text.lines) + "\n")
    refusal: Error | None = None
    for frees in (True, False) if frees_batch else (False,):
        said = _said(module, examples, frees, text.roots)
        try:
            check_answers(held, examples, str(path), said)
            return said
        except Error as error:
            refusal = refusal or error
    assert refusal is not None
    raise Unsupported(text.place(str(refusal), path.name))


def check_answers(held: _live_state.Held, examples: tuple, path: str, said: dict) -> None:
    """What the program computes of the example is what the module answers."""
    import torch

    asked = _convoy.Asked(None, None)
    native = _convoy.load(path.encode(), _reading(**said), asked)
    settings = _convoy.RunSettings()
    settings.doubles = True
    for given, words in _tried(examples):
        try:
            own, room = _own_answers(held.module, held.wide, given)
        except Exception:
            if given is examples:
                raise
            continue  # numbers that the module does not take
        _compare(native.run([_array(one) for one in given if isinstance(one, torch.Tensor)], settings, asked), own, room, words)


def _tried(examples: tuple) -> Iterator[tuple[tuple, str]]:
    """The example, and numbers that it may not reach: large and small ones of both signs; of whole numbers the example's own, turned."""
    import torch

    yield examples, "the example"
    generator = torch.Generator().manual_seed(1)
    for scale in (1.0, 64.0, 4096.0):
        made = []
        for one in examples:
            if isinstance(one, torch.Tensor) and one.is_floating_point():
                one = (torch.randn(one.shape, generator=generator) * scale).to(one.dtype)
            elif isinstance(one, torch.Tensor) and one.numel() > 1:
                one = one.flatten().roll(int(scale) % one.numel()).reshape(one.shape)
            made.append(one)
        yield tuple(made), f"numbers around {scale:.0f}"


def _compare(answers: list[Any], own: list[Any], room: float, words: str) -> None:
    if len(own) != len(answers):
        raise Unsupported(f"as source it gives {len(answers)} tensors, and the module itself {len(own)}")
    for i, (ours, theirs) in enumerate(zip(answers, own)):
        wanted = theirs.detach().cpu().double().numpy()
        tolerance = room * float(np.max(np.abs(wanted), initial=0, where=np.isfinite(wanted)))
        if ours.shape != wanted.shape or not np.allclose(ours, wanted, rtol=0, atol=tolerance, equal_nan=True):
            raise Unsupported(f"as source it gives other numbers for {words} than the module itself (output {i})")


def _own_answers(module: Any, wide: Callable[[], Any], examples: tuple) -> tuple[list[Any], float]:
    """What the module answers, and how far another order of sums may be from it, of the largest number: by its copy in
    float64 that `wide` makes, where a changed epsilon shows, unless the module computes in no other type than its own."""
    import torch

    def called(one: Any, given: tuple) -> list[Any]:
        twin = _live_state.twin(one)
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):  # as it is exported: without, nn.TransformerEncoder drops what is padded
            return [one for one in torch.utils._pytree.tree_leaves(twin(*given)) if isinstance(one, torch.Tensor)]

    own = called(module, examples)
    types = {one.dtype for one in (*module.parameters(), *module.buffers(), *examples) if isinstance(one, torch.Tensor)}
    reals = {one for one in types if one.is_floating_point}
    if reals <= {torch.float32}:
        given = tuple(one.double() if isinstance(one, torch.Tensor) and one.is_floating_point() else one for one in examples)
        with contextlib.suppress(Exception):  # a type that the program names itself
            wider = called(wide(), given)
            if all(one.dtype == torch.float64 for one, narrow in zip(wider, own) if narrow.is_floating_point()):
                return wider, 1e-6
    if all(one.dtype == torch.float64 for one in own if one.is_floating_point()):
        return own, 1e-6
    return own, 2**-6 if torch.float16 in reals or torch.bfloat16 in reals else 1e-4
