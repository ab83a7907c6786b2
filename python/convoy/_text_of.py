"""Whether the text that a file has for a class or function is what the live one was made of: a name may have been given to another
definition since, and a class other methods."""
from __future__ import annotations

import ast
import enum
import functools
import inspect
from types import CodeType
from typing import Any

from .errors import Unsupported

_USUAL = ("property", "staticmethod", "classmethod")


def check(thing: Any, tree: Any, first: int) -> None:
    """Fails (Unsupported): the live one does otherwise than its text says, whose syntax is `tree` and which begins in line `first`."""
    if not isinstance(tree, (ast.ClassDef, ast.FunctionDef)):
        return
    if isinstance(tree, ast.FunctionDef):
        if inspect.isfunction(thing) and not tree.decorator_list:
            _check_function(thing, tree, _code_at(thing, tree.name, first), tree.name)
        return
    names = _bound(tree)
    own = {name: _function_of(one) for name, one in vars(thing).items()}
    for name, one in vars(thing).items():
        if not name.startswith("_") and name not in names:
            raise Unsupported(f"{name!r} of {thing.__qualname__} was given to it outside its text")
        if name in names and isinstance(names[name], ast.expr):
            _check_value(one, names[name], f"{name!r} of {thing.__qualname__}")
    body = _code_at(thing, tree.name, first)
    for name, node in names.items():
        if isinstance(node, ast.FunctionDef) and all(getattr(one, "id", None) in _USUAL for one in node.decorator_list):
            function = own.get(name)
            if function is None:
                raise Unsupported(f"{name!r} of {thing.__qualname__} is not what its text says")
            _check_function(function, node, _code_in(body, name), f"{name!r} of {thing.__qualname__}")


def _bound(tree: ast.ClassDef) -> dict[str, Any]:
    """What the body of a class binds: to a function, to an expression, or to None, which is anything else."""
    names: dict[str, Any] = {}

    def bind(name: str, node: Any) -> None:
        names[name] = None if name in names else node

    def walk(node: Any, is_certain: bool) -> None:
        for one in ast.iter_child_nodes(node):
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                bind(one.name, one if is_certain and isinstance(one, ast.FunctionDef) else None)
            elif isinstance(one, ast.Assign) and is_certain and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
                bind(one.targets[0].id, one.value)
            elif isinstance(one, ast.AnnAssign) and is_certain and isinstance(one.target, ast.Name):
                bind(one.target.id, one.value)
            elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                bind(one.id, None)
            elif isinstance(one, ast.alias):
                bind(one.asname or one.name.partition(".")[0], None)
            else:
                walk(one, is_certain and not isinstance(one, ast.stmt))

    for one in tree.body:
        walk(ast.Module([one], []), True)
    return names


def _function_of(member: Any) -> Any:
    member = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
    member = inspect.unwrap(member) if callable(member) else member
    return member if inspect.isfunction(member) else None


@functools.lru_cache(maxsize=8)
def _compiled(source: str) -> Any:
    return compile(source, "source", "exec", dont_inherit=True)


def _code_at(thing: Any, name: str, first: int) -> Any:
    """The code of what begins in a line of the live one's file."""
    ahead = [_compiled("".join(inspect.findsource(thing)[0]))]
    while ahead:
        code = ahead.pop()
        if code.co_name == name and code.co_firstlineno == first:
            return code
        ahead += [one for one in code.co_consts if isinstance(one, CodeType)]
    return None


def _code_in(code: Any, name: str) -> Any:
    return next((one for one in reversed(code.co_consts) if isinstance(one, CodeType) and one.co_name == name), None) if code else None


def _check_function(function: Any, node: ast.FunctionDef, code: Any, words: str) -> None:
    if any(isinstance(one, ast.Assert) for one in ast.walk(node)):
        return  # test runners write these anew
    if code is None or not _is_same(function.__code__, code):
        raise Unsupported(f"{words} is not what its text says")
    for value, said in zip(reversed(function.__defaults__ or ()), reversed(node.args.defaults)):
        _check_value(value, said, f"a default of {words}")


def _check_value(value: Any, said: ast.expr, words: str) -> None:
    try:
        wanted = ast.literal_eval(said)
    except (ValueError, TypeError, SyntaxError):
        return  # made of other things, which the numbers show
    if isinstance(value, enum.Enum):
        value = value.value
    if type(value) is not type(wanted) or value != wanted:
        raise Unsupported(f"{words} is {value!r}, and its text says {wanted!r}")


def _is_same(one: CodeType, other: CodeType) -> bool:
    if (one.co_code, one.co_names, one.co_varnames) != (other.co_code, other.co_names, other.co_varnames):
        return False
    return len(one.co_consts) == len(other.co_consts) and all(map(_is_same_constant, one.co_consts, other.co_consts))


def _is_same_constant(one: Any, other: Any) -> bool:
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return _is_same(one, other)
    return type(one) is type(other) and (one == other or one != one)
