"""What long work is at: a line on a terminal, a bar in a notebook, or a callable of the caller's. Elsewhere nothing is printed, and
nothing at all of what is done within half a second."""
from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Union

from . import _convoy
from ._arguments import _memory, shown
from ._html import escaped
from .errors import UsageError

Told = Callable[[str, int, int, str], object]


class Progress(NamedTuple):
    """What long work is at: `step` ("computing", "proving", "comparing", "looking for causes"), `done` of `of` layers, and the `layer`
    that is begun now."""

    step: str
    done: int
    of: int
    layer: str


Watcher = Union[Callable[[Progress], object], bool, None]

_BEFORE, _BETWEEN = 0.5, 0.1  # seconds: until something is shown, and from one to the next


class _Terminal:
    def show(self, at: Progress, seconds: float) -> None:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns if sys.stderr.isatty() else 80
        layer = "".join(letter if letter.isprintable() else "?" for letter in at.layer)
        line = f"{at.step}  {at.done} of {at.of}  {layer}"[: max(columns - 10, 10)]
        sys.stderr.write(f"\r\033[K{line}  {seconds:.1f} s")
        sys.stderr.flush()

    def clear(self) -> None:
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()


class _Notebook:
    def __init__(self, display: Any) -> None:
        self._display, self._handle = display, None

    def _put(self, text: str) -> None:
        page = self._display.HTML(text)
        if self._handle is None:
            self._handle = self._display.display(page, display_id=True)
        else:
            self._handle.update(page)

    def show(self, at: Progress, seconds: float) -> None:
        self._put(f'<progress max="{at.of}" value="{at.done}"></progress> {escaped(at.step)} {at.done} of {at.of} '
                  f"<code>{escaped(at.layer)}</code> {seconds:.1f} s")

    def clear(self) -> None:
        self._put("")


def _place() -> _Terminal | _Notebook | None:
    """Where somebody looks: a notebook, a terminal, or nobody does."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive else None
    if shell is not None and hasattr(shell, "kernel"):
        return _Notebook(interactive.display)  # type: ignore[union-attr]
    try:
        return _Terminal() if sys.stderr.isatty() else None
    except (AttributeError, ValueError):  # there is none, or it is closed
        return None


def in_notebook() -> bool:
    return isinstance(_place(), _Notebook)


@contextlib.contextmanager
def watched(progress: Watcher) -> Iterator[Told | None]:
    """Whom the native part tells; None: nobody."""
    if callable(progress):
        watcher = progress
        yield lambda *at: watcher(Progress(*at))
        return
    if progress is not None and not isinstance(progress, bool):
        raise UsageError(f"progress={shown(progress)} is not taken: give a callable, False for none, or None for a bar where somebody looks")
    place = None if progress is False else _place()
    if place is None:
        yield None
        return
    begun = last = time.monotonic()
    is_shown = False

    def tell(*at: Any) -> None:
        nonlocal last, is_shown
        now = time.monotonic()
        if now - begun >= _BEFORE and (now - last >= _BETWEEN or not is_shown):
            last, is_shown = now, True
            place.show(Progress(*at), now - begun)

    try:
        yield tell
    finally:
        if is_shown:
            place.clear()


@contextlib.contextmanager
def asked(budget: int | str | None, progress: Watcher) -> Iterator[_convoy.Asked]:
    """What a call asks for beside its work, as the native part takes it."""
    granted = None if budget is None else _memory(budget)
    with watched(progress) as told:
        yield _convoy.Asked(granted, told)
