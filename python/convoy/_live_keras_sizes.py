"""Whether a call of the caller's own decides by sizes that a port leaves free. Keras says None of these while a call is followed, whatever
it is compared with, so the call is followed once more with numbers that tell who compares them."""
from __future__ import annotations

import contextlib
import operator
import sys
from _thread import get_ident
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A batch, and any other size, which windows and halvings have to fit. Known sizes that are multiples of one prime are none of the other.
_TRIED = ((11, 32 * 17), (13, 32 * 19))
_PRIMES = tuple({batch, other // 32} for batch, other in _TRIED)
_OF_OTHERS = ("keras", "tf_keras", "tensorflow", "numpy", "convoy", "optree", "tree")


def asked_for(keras: Any, follow: Callable[[tuple[int, int]], Any]) -> str:
    """What decides, as words for a message; empty where nothing does, or where the call takes none of the sizes that are tried."""
    places: set[str] | None = None
    for sizes, primes in zip(_TRIED, _PRIMES):
        try:
            with _watched(keras, primes) as seen:
                follow(sizes)
        except Exception:
            return ""
        places = set(seen) if places is None else places & set(seen)
        if not places:
            return ""
    return f"its call decides by sizes of its input that are free ({', '.join(sorted(places or ()))})"


@contextlib.contextmanager
def _watched(keras: Any, primes: set[int]) -> Iterator[list[str]]:
    """The places where sizes are compared meanwhile."""
    kind, here = keras.KerasTensor, get_ident()
    usual, seen = kind.shape, []  # type: ignore[var-annotated]

    def shape(tensor: Any) -> tuple:
        if get_ident() != here:
            return tensor._shape
        return tuple(_Size(n, seen) if isinstance(n, int) and n and any(n % prime == 0 for prime in primes) else n for n in tensor._shape)

    kind.shape = usual.getter(shape)
    try:
        yield seen
    finally:
        kind.shape = usual


class _Size(int):
    """A number that notes where it is compared with another one, as its outcomes do."""

    _seen: list[str]
    _is_whole: bool  # a size itself: at least one

    def __new__(cls, number: int, seen: list[str], is_whole: bool = True) -> _Size:
        made = super().__new__(cls, number)
        made._seen, made._is_whole = seen, is_whole
        return made

    def _note(self) -> None:
        frame = sys._getframe(2)
        while frame.f_globals is globals() and frame.f_back is not None:
            frame = frame.f_back
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _OF_OTHERS:
            self._seen.append(f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}")

    def __bool__(self) -> bool:
        if not self._is_whole:
            self._note()
        return int.__bool__(self)

    def __hash__(self) -> int:
        self._note()
        return int.__hash__(self)


def _comparison(name: str) -> Any:
    usual, asked = getattr(int, name), getattr(operator, name)

    def compared(self: _Size, other: Any) -> Any:
        if isinstance(other, (int, float)) and not (isinstance(other, _Size) and int.__eq__(self, other)):
            least = 1
            varies = other >= least if name in ("__eq__", "__ne__") else asked(least, other) != asked(sys.maxsize, other)
            if varies or not self._is_whole or isinstance(other, _Size):
                self._note()
        return usual(self, other)

    return compared


def _arithmetic(name: str) -> Any:
    usual = getattr(int, name)

    def reckoned(self: _Size, *other: Any) -> Any:
        outcome = usual(self, *other)
        return _Size(outcome, self._seen, False) if type(outcome) is int else outcome

    return reckoned


for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(_Size, _name, _comparison(_name))
for _name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(_Size, f"__{_name}__", _arithmetic(f"__{_name}__"))
    setattr(_Size, f"__r{_name}__", _arithmetic(f"__r{_name}__"))
